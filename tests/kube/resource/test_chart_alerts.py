"""The alerts and the dashboard of the chart: what they ask for, and when an alert fires."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import promql_parser
import pytest

from tests.helm import CHART, Values, render
from tests.kube.resource.test_deploy import ROOT, documents, of_kind

pytestmark = pytest.mark.heavy

METRIC = re.compile(r"\bkron_[a-z_]+")
MONITORED: Values = {"metrics": {"rules": {"create": True}, "podMonitor": {"create": True}}}
ANNOTATED: Values = {"metrics": {"rules": {"create": True}}}


def rules(values: Values, release: str = "kron") -> dict[str, Any]:
    """The groups of alerts of a release."""
    (made,) = of_kind("PrometheusRule", render(values, release=release))
    groups: dict[str, Any] = made["spec"]
    return groups


def alone() -> dict[str, Any]:
    """The same from the file, for a Prometheus without the chart."""
    return documents(CHART / "files/alerts.yaml")[0]


def expressions(groups: dict[str, Any]) -> list[str]:
    return [rule["expr"] for group in groups["groups"] for rule in group["rules"]]


def shown() -> list[str]:
    """The expressions of the dashboard."""
    dashboard = json.loads((CHART / "files/dashboard.json").read_text())
    return [each["expr"] for panel in dashboard["panels"] for each in panel["targets"]]


@pytest.mark.parametrize("expression", expressions(alone()) + shown())
def test_alerts_and_panels_ask_for_metrics_that_are_there(expression: str) -> None:
    promql_parser.parse(expression)
    served = (ROOT.parent.parent / "docs/operator.md").read_text()
    for name in METRIC.findall(expression):
        assert f"`{name.removesuffix('_bucket')}" in served


@pytest.mark.parametrize(
    ("values", "selector"),
    [
        pytest.param(MONITORED, 'job="kron-system/a.b"', id="PodMonitor"),
        pytest.param(
            ANNOTATED,
            'namespace="kron-system", pod=~"a[.]b-[a-z0-9]+-?[a-z0-9]+"',
            id="annotations",
        ),
        pytest.param(
            {"metrics": {"rules": {"create": True, "selector": 'job=~"kron$"'}}},
            'job=~"kron$"',
            id="chosen",
        ),
    ],
)
def test_an_alert_is_about_one_release(values: Values, selector: str) -> None:
    of_pods = selector.removeprefix('namespace="kron-system", ')
    for expression in expressions(rules(values, "a.b")):
        promql_parser.parse(expression)
        for name, within in re.findall(r"\b(kron_[a-z_]+)(\{[^}]*)?", expression):
            is_of_kronjobs = name.startswith(("kron_kronjob_", "kron_watch_failing"))
            assert within.startswith("{" + (of_pods if is_of_kronjobs else selector)), expression


def test_a_prometheus_finds_the_pods_once() -> None:
    def annotations(values: Values) -> dict[str, str]:
        (deployment,) = of_kind("Deployment", render(values))
        found: dict[str, str] = deployment["spec"]["template"]["metadata"].get("annotations", {})
        return found

    assert annotations(ANNOTATED)["prometheus.io/scrape"] == "true"
    assert annotations(MONITORED) == {}


# When they fire: promtool lives minutes of series

EVERY_MINUTE = "1m"
SCENARIOS: dict[str, tuple[dict[str, str], dict[str, set[str]]]] = {
    "one leads": (
        {"kron_leader{a}": "1x60", "kron_leader{b}": "0x60", "kron_leader{other}": "1x60"},
        {"30m": set()},
    ),
    "only another release leads": (
        {"kron_leader{a}": "0x60", "kron_leader{b}": "0x60", "kron_leader{other}": "1x60"},
        {"1m": set(), "5m": {"KronOperatorDoesNotLead"}},
    ),
    "only another release is there": (
        {"kron_leader{other}": "1x60"},
        {"5m": {"KronOperatorDoesNotLead"}},
    ),
    "two lead": (
        {"kron_leader{a}": "1x60", "kron_leader{b}": "1x60"},
        {"4m": set(), "10m": {"KronOperatorsLead"}},
    ),
    "another takes over": (
        {"kron_leader{a}": "1x30 0x30", "kron_leader{b}": "0x29 1x30"},
        {"30m": set(), "40m": set()},
    ),
    "one that leads is scraped twice": (
        {"kron_leader{a}": "1x60", "kron_leader{a,again}": "1x60"},
        {"30m": set()},
    ),
    "runs are missed": (
        {"kron_leader{a}": "1x200", "kron_runs_total{a,missed}": "5x99 6x100"},
        {"99m": set(), "102m": {"KronRunsMissed"}, "120m": set()},
    ),
    "a new replica has missed runs before it is scraped": (
        {"kron_leader{a}": "1x200", "kron_runs_total{a,missed}": "_x99 3x100"},
        {"98m": set(), "100m": {"KronRunsMissed"}, "112m": {"KronRunsMissed"}, "120m": set()},
    ),
    "a new replica has missed nothing": (
        {"kron_leader{a}": "1x200", "kron_runs_total{a,missed}": "_x99 0x100"},
        {"101m": set()},
    ),
    "Prometheus was away": (
        {"kron_leader{a}": "1x99 _x20 1x80", "kron_runs_total{a,missed}": "5x99 _x20 5x80"},
        {"121m": set(), "130m": set()},
    ),
    "runs of another release are missed": (
        {"kron_leader{a}": "1x200", "kron_runs_total{other,missed}": "5x99 6x100"},
        {"102m": set()},
    ),
    "a KronJob in a namespace of its own fails": (
        {
            "kron_leader{a}": "1x60",
            "kron_kronjob_last_failure_timestamp_seconds{a,kronjob}": "200x60",
            "kron_kronjob_last_success_timestamp_seconds{a,kronjob}": "100x60",
        },
        {"1m": {"KronJobFails"}},
    ),
    "a KronJob cannot run": (
        {"kron_leader{a}": "1x60", "kron_kronjobs_not_ready{a,invalid}": "0x9 2x20 0x30"},
        {"15m": set(), "25m": {"KronJobsNotReady"}, "35m": set()},
    ),
    "a namespace cannot be read": (
        {"kron_leader{a}": "1x60", "kron_watch_failing{a,watch}": "1x60"},
        {"10m": {"KronCannotRead"}},
    ),
}
"""Series, with words for their labels, and which alerts fire when."""

LABELS = {
    "a": {"pod": "kron-7c9d8-aaaaa", "instance": "10.0.0.1:8080"},
    "b": {"pod": "kron-7c9d8-bbbbb", "instance": "10.0.0.2:8080"},
    "other": {"pod": "kron-operator-7c9d8-aaaaa", "instance": "10.0.0.3:8080"},
    "again": {"job": "scraped-again"},
    "missed": {"outcome": "missed"},
    "invalid": {"reason": "InvalidSpec"},
    "kronjob": {"namespace": "team-a", "name": "backup"},
    "watch": {"namespace": "team-a", "resource": "kronjobs"},
}


def labelled(series: str, *, has_monitor: bool) -> str:
    """As Prometheus stores it, with honorLabels."""
    name, _, words = series.removesuffix("}").partition("{")
    labels = {"namespace": "kron-system", "job": "kubernetes-pods"}
    if has_monitor:
        release = "kron-operator" if words.startswith("other") else "kron"
        labels["job"] = f"kron-system/{release}"
    for word in words.split(","):
        labels |= LABELS[word]
    return name + "{" + ",".join(f"{key}={json.dumps(labels[key])}" for key in labels) + "}"


@pytest.mark.parametrize(
    ("groups", "has_monitor", "named"),
    [
        pytest.param(lambda: rules(MONITORED), True, "", id="PodMonitor"),
        pytest.param(lambda: rules(ANNOTATED), False, "", id="annotations"),
        # It cannot know which releases there should be.
        pytest.param(alone, True, "another release", id="without the chart"),
    ],
)
def test_alerts_fire_when_they_should(
    groups: Callable[[], dict[str, Any]], has_monitor: bool, named: str, tmp_path: Path
) -> None:
    """`named`: scenarios with these words are left out."""
    (tmp_path / "rules.yaml").write_text(json.dumps(groups()))
    promtool("check", "rules", str(tmp_path / "rules.yaml"))
    tests = {
        "rule_files": ["rules.yaml"],
        "evaluation_interval": EVERY_MINUTE,
        "tests": [
            lived(name, has_monitor=has_monitor)
            for name in SCENARIOS
            if not named or named not in name
        ],
    }
    (tmp_path / "tests.yaml").write_text(json.dumps(tests))
    promtool("test", "rules", str(tmp_path / "tests.yaml"))


def lived(scenario: str, *, has_monitor: bool) -> dict[str, Any]:
    """As promtool reads it."""
    series, firing = SCENARIOS[scenario]
    return {
        "name": scenario,
        "interval": EVERY_MINUTE,
        "input_series": [
            {"series": labelled(each, has_monitor=has_monitor), "values": values}
            for each, values in series.items()
        ],
        "promql_expr_test": [
            {
                "expr": 'count by (alertname) (ALERTS{alertstate="firing"})',
                "eval_time": at,
                "exp_samples": [
                    {"labels": f'{{alertname="{name}"}}', "value": 1} for name in sorted(names)
                ],
            }
            for at, names in firing.items()
        ],
    }


def promtool(*words: str) -> None:
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("promtool is not installed")
    done = subprocess.run(
        [program, *words], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
