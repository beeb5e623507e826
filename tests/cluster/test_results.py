"""How runs ended, for people and monitors: on a real API server, with the real Job controller."""

from __future__ import annotations

import time
from pathlib import Path

from kron.core.instant import from_text
from tests.cluster.api import Object
from tests.cluster.controlplane import ControlPlane
from tests.cluster.kronjobs import NEVER, KronJobs, is_finished, job_template
from tests.cluster.operator import Operator, replicas
from tests.cluster.outcomes import wait_for_events, wait_for_outcome, wait_until_seen
from tests.cluster.slots import Slot, make_manual
from tests.logbook import wait_for
from tests.moment import soon, wait_until

FAR = "0 0 29 2 *"
FAILS = job_template(exit_code=1)


def ended(kronjobs: KronJobs, name: str, count: int = 1) -> list[Object]:
    """Wait until its status has so many results."""

    def look() -> list[Object] | None:
        found: list[Object] = kronjobs.status(name).get("recentRuns", [])
        return found if len(found) == count else None

    return wait_for(look, f"{count} results of {name}")


def columns(cluster: ControlPlane, namespace: str, *options: str) -> dict[str, dict[str, str]]:
    """What `kubectl get kj` shows, by name and column."""
    shown = cluster.kubectl("get", "kj", "-n", namespace, *options)
    head, *rows = shown.stdout.splitlines()
    names = [name.strip() for name in head.split("  ") if name.strip()]
    places = [head.index(name) for name in names]
    cells = [
        {
            name: row[begin:end].strip()
            for name, begin, end in zip(names, places, [*places[1:], None], strict=True)
        }
        for row in rows
    ]
    return {each["NAME"]: each for each in cells}


def test_a_failed_run_is_seen_by_everybody(
    cluster: ControlPlane, namespace: str, kronjobs: KronJobs, operator: Operator
) -> None:
    slot = Slot(namespace)
    operator.start()
    at_s = soon(4)
    kronjobs.make("fails", slot.aim("fails", at_s), template=FAILS, failedJobsHistoryLimit=0)
    kronjobs.make("works", slot.aim("works", at_s))
    lasting = job_template(runs_for=NEVER)
    kronjobs.make("lasts", slot.aim("lasts", at_s), template=lasting)
    kronjobs.make("later", FAR)
    [failed], [successful] = ended(kronjobs, "fails"), ended(kronjobs, "works")
    assert (failed["result"], failed["reason"]) == ("Failed", "BackoffLimitExceeded")
    assert "backoff limit" in failed["message"]
    assert failed["periodID"] == successful["periodID"] == slot.period
    assert at_s <= from_text(failed["startTime"]) <= from_text(failed["completionTime"])
    assert successful["result"] == "Succeeded"
    assert "reason" not in successful
    status = kronjobs.status("fails")
    assert status["lastFailureTime"] == failed["completionTime"]
    assert "lastSuccessfulTime" not in status
    assert kronjobs.status("works")["lastSuccessfulTime"] == successful["completionTime"]

    [event] = wait_for_events(kronjobs, "fails", "JobFailed")
    assert event["type"] == "Warning"
    assert failed["name"] in event["message"]
    assert "BackoffLimitExceeded" in event["message"]
    [line] = operator.events("job_finished", "fails")
    assert (line["result"], line["reason"]) == ("Failed", "BackoffLimitExceeded")

    kronjobs.wait_for_status("lasts", activeCount=1)
    shown = columns(cluster, namespace)
    assert list(shown["works"]) == [
        *("NAME", "SCHEDULE", "READY", "SUSPENDED", "ACTIVE", "NEXT", "LAST", "LAST RESULT", "AGE")
    ]
    cells = {name: (row["ACTIVE"], row["LAST RESULT"]) for name, row in shown.items()}
    assert cells == {
        "fails": ("0", "Failed"),
        "works": ("0", "Succeeded"),
        "lasts": ("1", ""),
        "later": ("0", ""),
    }
    assert shown["later"]["NEXT"] == kronjobs.status("later")["nextChosenTime"]
    wide = columns(cluster, namespace, "-o", "wide")
    assert wide["works"]["LAST SUCCESS"].endswith("s")  # an age
    assert wide["fails"]["LAST SUCCESS"] == ""

    # The Job is gone, its result stays: also for an operator that has just started.
    wait_for(lambda: not kronjobs.jobs("fails"), "its Job is deleted")
    operator.stop()
    operator.start()
    operator.wait_for_event("ready", count=2)
    wait_until(time.time() + 2)
    assert kronjobs.status("fails")["recentRuns"] == [failed]
    assert len(kronjobs.events("fails", "JobFailed")) == 1
    metrics = operator.metrics()
    of_it = f'{{namespace="{namespace}",name="fails"}}'
    assert metrics[f"kron_kronjob_last_failure_timestamp_seconds{of_it}"] == from_text(
        failed["completionTime"]
    )
    assert f"kron_kronjob_last_success_timestamp_seconds{of_it}" not in metrics
    assert metrics[f"kron_kronjob_created_timestamp_seconds{of_it}"] < time.time()
    assert metrics['kron_job_results_total{result="failed"}'] == 0  # it counted none itself
    operator.check_log()


def test_no_result_is_lost_while_nobody_leads_or_another_does(
    cluster: ControlPlane, namespace: str, kronjobs: KronJobs, tmp_path: Path
) -> None:
    made = kronjobs.make("backup", FAR, template=FAILS, failedJobsHistoryLimit=0)
    with replicas(cluster, namespace, tmp_path) as (first, second):
        first.start("--lease-duration", "3s").wait_until_leading()
        second.start("--lease-duration", "3s")
        wait_until_seen(kronjobs, "backup")
        make_manual(kronjobs, made, "one")
        ended(kronjobs, "backup", 1)
        wait_for_events(kronjobs, "backup", "JobFailed")
        first.pause()  # and what ends from now on, it does not see
        make_manual(kronjobs, made, "two")
        second.wait_until_leading(60)
        ended(kronjobs, "backup", 2)
        # Killed between the status and the Event, it would have sent none.
        wait_for(lambda: len(kronjobs.events("backup", "JobFailed")) == 2, "an Event of both")
        second.kill()
        first.kill()
        make_manual(kronjobs, made, "three")
        wait_for(
            lambda: is_finished(kronjobs.api.get("jobs", namespace, "backup-three")), "it ends"
        )
        first.start("--lease-duration", "3s").wait_until_leading(60)
        results = ended(kronjobs, "backup", 3)
        assert [each["name"] for each in results] == [
            f"backup-{name}" for name in ("three", "two", "one")
        ]
        wait_for(lambda: len(kronjobs.events("backup", "JobFailed")) == 3, "an Event of each")
        wait_for(lambda: not kronjobs.jobs("backup"), "all are deleted")
        lines = [
            line["job"]
            for operator in (first, second)
            for line in operator.events("job_finished", "backup")
        ]
        assert sorted(lines) == ["backup-one", "backup-three", "backup-two"]


def test_a_run_that_is_replaced_or_deleted_has_no_result(
    cluster: ControlPlane, namespace: str, kronjobs: KronJobs, operator: Operator
) -> None:
    slot = Slot(namespace)
    lasting = job_template(runs_for=NEVER)
    operator.start()
    made = kronjobs.make(
        "mirror",
        slot.aim("mirror", soon(5)),
        template=lasting,
        policy={"concurrency": "replace"},
    )
    make_manual(kronjobs, made, "first")
    wait_for_outcome(kronjobs, "mirror", "executed")
    wait_for(lambda: len(kronjobs.jobs("mirror")) == 1, "the first is replaced")
    [job] = kronjobs.jobs("mirror")
    kronjobs.api.delete("jobs", namespace, job["metadata"]["name"], propagation="Foreground")
    kronjobs.wait_for_status("mirror", activeCount=0)
    wait_until(time.time() + 2)
    assert kronjobs.status("mirror")["recentRuns"] == []
    assert kronjobs.events("mirror", "JobFailed") == []
    operator.check_log()
