"""The metrics, read as Prometheus reads them."""

from __future__ import annotations

import re

import pytest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from kron.console.parser import Parser, UsageError
from kron.engine.actions import Outcome
from kron.kube.operator.commands import run
from kron.kube.operator.kronjob_metrics import KronJobMetrics
from kron.kube.operator.metrics import LATENESS_BOUNDS_S, Metrics
from kron.kube.operator.roster import ClusterRoster
from kron.kube.resource.results import RunResults
from tests.kube.operator.made import T0, Unwritten, kronjob, metadata
from tests.test_docs import page


def families(metrics: Metrics) -> dict[str, Metric]:
    return {family.name: family for family in text_string_to_metric_families(metrics.text())}


def values(metrics: Metrics) -> dict[tuple[str, ...], float]:
    """By the name of the sample and the values of its labels."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in families(metrics).values()
        for sample in family.samples
    }


def test_every_family_has_a_type_and_a_description_from_the_start() -> None:
    metrics = Metrics()
    metrics.gauges["kron_queue_length"] = ("How many wait.", lambda: 7)
    found = families(metrics)
    assert {name: family.type for name, family in found.items()} == {
        "kron_runs": "counter",
        "kron_job_results": "counter",
        "kron_lateness_seconds": "histogram",
        "kron_api_requests": "counter",
        "kron_watch_restarts": "counter",
        "kron_events_dropped": "counter",
        "kron_watch_failing": "gauge",
        "kron_kronjobs_not_ready": "gauge",
        "kron_leader": "gauge",
        "kron_queue_length": "gauge",
    }
    assert all(family.documentation for family in found.values())
    counted = values(metrics)
    assert [counted["kron_runs_total", outcome] for outcome in Outcome] == [0, 0, 0, 0]
    assert counted["kron_queue_length",] == 7


def test_what_is_counted_is_shown() -> None:
    metrics = Metrics()
    metrics.ended(Outcome.MISSED, 95_000)
    metrics.ended(Outcome.SKIPPED)
    metrics.started(0.02)
    metrics.requested("create", "jobs", 201)
    metrics.requested("create", "jobs", 201)
    metrics.requested("patch", "kronjobs", 0)
    metrics.watch_restarts["jobs"] += 1
    metrics.events_dropped += 1
    metrics.finished(is_failed=True)
    metrics.is_leader = True
    found = values(metrics)
    assert found["kron_runs_total", "missed"] == 95_000
    assert found["kron_runs_total", "skipped"] == 1
    assert found["kron_runs_total", "executed"] == 1
    assert found["kron_api_requests_total", "create", "jobs", "201"] == 2
    assert found["kron_api_requests_total", "patch", "kronjobs", "0"] == 1
    assert found["kron_watch_restarts_total", "jobs"] == 1
    assert found["kron_events_dropped_total",] == 1
    assert found["kron_job_results_total", "succeeded"] == 0
    assert found["kron_job_results_total", "failed"] == 1
    assert found["kron_leader",] == 1


def test_the_lateness_is_a_cumulative_histogram() -> None:
    metrics = Metrics()
    for late_s in (-0.5, 0.0, 0.01, 0.011, 0.3, 5.0, 601.0):
        metrics.started(late_s)
    found = values(metrics)
    buckets = [found["kron_lateness_seconds_bucket", str(bound)] for bound in LATENESS_BOUNDS_S]
    assert buckets == [3, 4, 4, 4, 4, 5, 5, 5, 6, 6, 6, 6]
    assert found["kron_lateness_seconds_bucket", "+Inf"] == 7
    assert found["kron_lateness_seconds_count",] == 7
    assert abs(found["kron_lateness_seconds_sum",] - 606.321) < 1e-9


def fleet(names: str, most: int) -> Metrics:
    """The metrics of a leader with these KronJobs."""
    roster = ClusterRoster()
    for name in names:
        member = roster.enrol(metadata(name, created_s=T0), Unwritten())
        member.results = RunResults(last_success_s=T0 + 5)
        member.runs_failed = 2
    metrics = Metrics()
    metrics.is_leader = True
    metrics.more = KronJobMetrics(roster, metrics, most).lines
    return metrics


def test_a_kronjob_has_metrics_of_its_own() -> None:
    found = values(fleet("a", 1))
    of_it = {key: value for key, value in found.items() if key[1:3] == ("ns", "a")}
    assert of_it == {
        ("kron_kronjob_created_timestamp_seconds", "ns", "a"): T0,
        ("kron_kronjob_last_success_timestamp_seconds", "ns", "a"): T0 + 5,
        ("kron_kronjob_runs_total", "ns", "a", "succeeded"): 0,
        ("kron_kronjob_runs_total", "ns", "a", "failed"): 2,
    }
    assert found["kron_kronjobs_without_metrics",] == 0


def test_only_a_suspended_kronjob_has_a_series_that_says_so() -> None:
    """An alert on old successes leaves these out."""
    roster = ClusterRoster()
    for name, suspend in (("asleep", True), ("awake", False), ("invalid", None)):
        member = roster.enrol(metadata(name), Unwritten())
        if suspend is not None:
            member.kronjob = kronjob(policy={"suspend": suspend})
    metrics = Metrics()
    metrics.is_leader = True
    metrics.more = KronJobMetrics(roster, metrics, 3).lines
    found = {key: value for key, value in values(metrics).items() if "suspended" in key[0]}
    assert found == {("kron_kronjob_suspended", "ns", "asleep"): 1}


def test_only_so_many_kronjobs_have_them_and_always_the_same() -> None:
    found = values(fleet("dbca", 2))
    shown = {key[2] for key in found if key[0].startswith("kron_kronjob_")}
    assert shown == {"a", "b"}
    assert found["kron_kronjobs_without_metrics",] == 2


def test_only_a_leader_has_them() -> None:
    metrics = fleet("ab", 1)
    metrics.is_leader = False
    assert not [key for key in values(metrics) if key[0].startswith("kron_kronjob_")]
    assert values(metrics)["kron_kronjobs_without_metrics",] == 0
    assert {family.type for family in families(metrics).values()} >= {"gauge", "counter"}


def test_none_has_them_if_nobody_wants_them() -> None:
    assert "kron_kronjob_" not in fleet("ab", 0).text()
    assert "without_metrics" not in fleet("ab", 0).text()


def test_the_documentation_names_every_metric_and_no_other() -> None:
    metrics = fleet("a", 1)
    of_the_operator = ("kronjobs", "queue_length", "statuses_waiting", "clock_ahead_seconds")
    metrics.gauges |= dict.fromkeys([f"kron_{name}" for name in of_the_operator], ("", lambda: 0))
    written = set(re.findall(r"# TYPE (\w+)", metrics.text()))
    documented = page("operator.md")
    assert set(re.findall(r"\bkron_\w+", documented)) == written


@pytest.mark.parametrize(
    ("written", "most"), [("0", 0), ("1", 1), ("100000", 100_000), ("100001", None), ("-1", None)]
)
def test_how_many_kronjobs_have_them_is_an_option(written: str, most: int | None) -> None:
    parser = Parser("kron-operator run", "", run)
    words = [f"--kronjob-metrics={written}"]
    if most is not None:
        assert parser.parse_args(words).kronjob_metrics == most
    else:
        with pytest.raises(UsageError, match="is not a number from 0 to 100,000"):
            parser.parse_args(words)
