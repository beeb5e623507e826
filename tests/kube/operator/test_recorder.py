"""How a run ended is recorded once, whatever becomes of its Job and of the leader."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from kron.core.instant import to_text
from kron.kube.client.errors import ApiError
from kron.kube.operator import status_writer
from kron.kube.resource.kronjob import read_kronjob
from kron.kube.resource.run import manual_manifest
from tests.kube.client.server import until
from tests.kube.operator.made import T0, finished, member, run
from tests.kube.operator.server import NOW, Object, Replica, Server, kronjob, play, seen

RARELY = "0 0 1 1 *"
REASON, MESSAGE = "BackoffLimitExceeded", "Job has reached the specified backoff limit"
OWED = {"deadline": "1h"}


def ended(job: Object, *, fails: bool = True, at: str = NOW) -> Object:
    """The Job, as the Job controller leaves it."""
    condition = {"type": "Complete", "status": "True", "lastTransitionTime": at}
    if fails:
        condition |= {"type": "Failed", "reason": REASON, "message": MESSAGE}
    return job | {"status": {"startTime": at, "conditions": [condition]}}


def manual(obj: Object, suffix: str = "x") -> Object:
    job = manual_manifest(read_kronjob(obj), suffix)
    job["metadata"] |= {"uid": f"uid-{suffix}", "creationTimestamp": "2026-11-16T12:00:00Z"}
    return job


def failures(server: Server) -> list[str]:
    """The messages of the Events about failed Jobs."""
    events = server.objects["events"].values()
    return [event["message"] for event in events if event["reason"] == "JobFailed"]


def counted(replica: Replica) -> tuple[int, int]:
    """How many Jobs succeeded and failed, by the metrics."""
    found = re.findall(r'kron_job_results_total{result="\w+"} (\d+)', replica.metrics.text())
    succeeded, failed = map(int, found)
    return succeeded, failed


async def settle() -> None:
    """Longer than anything is put off."""
    await asyncio.sleep(3 * status_writer.TIDY_DELAY_S)


def test_a_failed_run_is_in_the_status_the_log_the_metrics_and_an_event(tmp_path: Path) -> None:
    async def test(server: Server) -> None:
        server.put("kronjobs", seen(kronjob(policy=OWED, schedule="0 * * * *")))
        replica = Replica(server, log=str(tmp_path / "log"))
        await replica.start()
        await until(lambda: len(server.objects["jobs"]) == 1)
        [job] = server.objects["jobs"].values()
        await settle()
        asked = len(server.requests)
        assert server.status()["activeCount"] == 1
        server.put("jobs", ended(job))
        await until(lambda: "lastFailureTime" in server.status())
        status = server.status()
        assert status["recentRuns"] == [
            {
                "name": job["metadata"]["name"],
                "periodID": "2026-11-16T12:00:00Z",
                "result": "Failed",
                "startTime": NOW,
                "completionTime": NOW,
                "reason": REASON,
                "message": MESSAGE,
            }
        ]
        assert (status["lastFailureTime"], status["activeCount"], status["active"]) == (NOW, 0, [])
        assert "lastSuccessfulTime" not in status
        await settle()
        name = job["metadata"]["name"]
        said = f"Job {name} for 2026-11-16T12:00:00Z failed: {REASON}: {MESSAGE}"
        assert failures(server) == [said]
        writes = [each for each in server.requests[asked:] if each[1] in ("kronjobs", "jobs")]
        assert writes == [("patch", "kronjobs", "a")]  # the one that it takes anyway
        assert counted(replica) == (0, 1)
        [line] = [
            line for line in (tmp_path / "log").read_text().splitlines() if "job_finished" in line
        ]
        assert "level=WARN" in line
        assert f"job={name} result=Failed seconds=0 reason={REASON}" in line
        assert 'kron_kronjob_runs_total{namespace="ns",name="a",result="failed"} 1' in (
            replica.metrics.text()
        )
        await replica.stop()

    play(test)


def test_the_next_leader_knows_and_says_nothing_again(tmp_path: Path) -> None:
    async def test(server: Server) -> None:
        server.put("kronjobs", obj := kronjob(schedule=RARELY))
        first = Replica(server)
        await first.start()
        server.put("jobs", ended(manual(obj)))
        await until(lambda: len(failures(server)) == 1)
        await first.stop()
        status, asked = server.status(), len(server.requests)
        second = Replica(server, log=str(tmp_path / "log"))
        await second.start()
        await settle()
        assert server.status() == status
        assert [each for each in server.requests[asked:] if each[0] == "patch"] == []
        assert len(failures(server)) == 1
        assert counted(second) == (0, 0)
        assert "job_finished" not in (tmp_path / "log").read_text()
        # It is in the metrics of whoever leads.
        assert "kron_kronjob_last_failure_timestamp_seconds{" in second.metrics.text()
        await second.stop()

    play(test)


def test_what_ended_while_nobody_led_is_recorded_once_by_the_next_leader() -> None:
    async def test(server: Server) -> None:
        server.put("kronjobs", obj := kronjob(schedule=RARELY))
        server.put("jobs", manual(obj, "failed"))
        first = Replica(server)
        await first.start()
        await until(lambda: server.status().get("activeCount") == 1)
        await first.stop()
        server.put("jobs", ended(server.objects["jobs"]["a-failed"]))
        server.put("jobs", ended(manual(obj, "ok"), fails=False))
        second = Replica(server)
        await second.start()
        await until(lambda: len(server.status()["recentRuns"]) == 2)
        await settle()
        assert counted(second) == (1, 1)
        assert len(failures(server)) == 1
        assert "outside any period" in failures(server)[0]
        await second.stop()

    play(test)


def test_a_job_beyond_the_limits_is_kept_until_its_result_is_stored() -> None:
    is_away = True

    async def answer() -> None:
        if is_away:
            raise ApiError(500, "the status cannot be stored")

    async def test(server: Server) -> None:
        nonlocal is_away
        server.put("kronjobs", obj := kronjob(schedule=RARELY, failedJobsHistoryLimit=0))
        replica = Replica(server)
        await replica.start()
        await until(lambda: "conditions" in server.status())
        server.on_patch = answer
        server.put("jobs", ended(manual(obj)))
        await settle()
        assert list(server.objects["jobs"]) == ["a-x"]
        assert (counted(replica), failures(server)) == ((0, 0), [])
        is_away = False
        await until(lambda: server.objects["jobs"] == {})
        assert [each["name"] for each in server.status()["recentRuns"]] == ["a-x"]
        assert counted(replica) == (0, 1)
        await replica.stop()

    play(test)


@pytest.mark.parametrize(
    ("deleted", "recorded"),
    [
        pytest.param("2026-11-16T12:00:21Z", True, id="after it had finished"),
        pytest.param("2026-11-16T12:00:20Z", False, id="in the same second"),
        pytest.param("2026-11-16T12:00:10Z", False, id="before"),
    ],
)
def test_a_job_that_fails_because_it_is_deleted_has_no_result(
    deleted: str, *, recorded: bool
) -> None:
    """As one that is replaced does: its Pods are stopped, and that is no news."""

    async def test(server: Server) -> None:
        server.put("kronjobs", obj := kronjob(schedule=RARELY))
        server.put("jobs", job := manual(obj))
        replica = Replica(server)
        await replica.start()
        await until(lambda: server.status().get("activeCount") == 1)
        job["metadata"]["deletionTimestamp"] = deleted
        server.put("jobs", ended(job))
        await until(lambda: server.status().get("activeCount") == 0)
        server.remove("jobs", "a-x")
        await settle()
        assert len(server.status()["recentRuns"]) == len(failures(server)) == recorded
        await replica.stop()

    play(test)


def test_a_job_that_is_deleted_before_it_finished_has_no_result() -> None:
    async def test(server: Server) -> None:
        server.put("kronjobs", obj := kronjob(schedule=RARELY))
        server.put("jobs", manual(obj))
        replica = Replica(server)
        await replica.start()
        await until(lambda: server.status().get("activeCount") == 1)
        server.remove("jobs", "a-x")
        await until(lambda: server.status().get("activeCount") == 0)
        assert server.status()["recentRuns"] == []
        assert counted(replica) == (0, 0)
        await replica.stop()

    play(test)


def test_the_last_that_is_heard_of_a_job_may_be_its_result() -> None:
    async def test(server: Server) -> None:
        server.put("kronjobs", obj := kronjob(schedule=RARELY))
        server.put("jobs", manual(obj))
        replica = Replica(server)
        await replica.start()
        await until(lambda: server.status().get("activeCount") == 1)
        server.objects["jobs"]["a-x"] = ended(server.objects["jobs"]["a-x"])
        server.remove("jobs", "a-x")
        await until(lambda: len(server.status()["recentRuns"]) == 1)
        await settle()
        assert counted(replica) == (0, 1)
        await replica.stop()

    play(test)


def test_however_many_end_in_one_second_each_is_counted_once() -> None:
    async def test(server: Server) -> None:
        server.put("kronjobs", obj := kronjob(schedule=RARELY, failedJobsHistoryLimit=99))
        jobs = [manual(obj, f"{number:02}") for number in range(30)]
        for job in jobs:
            server.put("jobs", job)
        replica = Replica(server)
        await replica.start()
        await until(lambda: server.status().get("activeCount") == 30)
        for job in (*jobs[15:], *jobs[:15]):
            server.put("jobs", ended(job))
        await until(lambda: server.status().get("activeCount") == 0)
        await settle()
        server.cut_watches()  # everything is listed again
        await settle()
        assert counted(replica) == (0, 30)
        assert len(failures(server)) == 30
        kept = [each["name"] for each in server.status()["recentRuns"]]
        assert kept == [f"a-{number}" for number in range(29, 19, -1)]
        await replica.stop()

    play(test)


@pytest.mark.parametrize(("hours", "said"), [(0, 1), (2, 0)])
def test_a_failure_of_long_ago_is_recorded_without_an_event(hours: int, said: int) -> None:
    at = NOW.replace("T12", f"T{12 - hours}")

    async def test(server: Server) -> None:
        server.put("kronjobs", obj := kronjob(schedule=RARELY))
        server.put("jobs", ended(manual(obj), at=at))
        replica = Replica(server)
        await replica.start()
        await until(lambda: server.status().get("lastFailureTime") == at)
        await settle()
        assert len(failures(server)) == said
        await replica.stop()

    play(test)


@pytest.mark.parametrize(
    "change", [{"recentRuns": None, "lastFailureTime": None}, {"ledger": {"schema": "?"}}]
)
def test_a_damaged_status_loses_no_result(change: dict[str, Any]) -> None:
    async def test(server: Server) -> None:
        server.put("kronjobs", obj := kronjob(schedule=RARELY))
        server.put("jobs", ended(manual(obj)))
        replica = Replica(server)
        await replica.start()
        await until(lambda: len(server.status().get("recentRuns", ())) == 1)
        results = server.status()["recentRuns"]
        if "ledger" in change:
            await replica.stop()  # one that has a ledger in memory writes that one
        server.remove("jobs", "a-x")
        damaged = server.objects["kronjobs"]["a"]
        server.put("kronjobs", damaged | {"status": damaged["status"] | change})
        if "ledger" in change:
            replica = Replica(server)
            await replica.start()
        server.edit("a", schedule="0 0 2 1 *")
        await until(lambda: server.status().get("observedGeneration") == 2)
        assert server.status()["recentRuns"] == results
        assert server.status()["lastFailureTime"] == NOW
        await replica.stop()

    play(test)


def test_of_a_newer_operators_status_the_results_are_shown_and_not_written() -> None:
    async def test(server: Server) -> None:
        status = {"ledger": {"schema": 4}, "lastSuccessfulTime": "2026-11-16T11:00:00Z"}
        server.put("kronjobs", obj := kronjob(schedule=RARELY) | {"status": status})
        server.put("jobs", ended(manual(obj)))
        replica = Replica(server)
        await replica.start()
        await until(lambda: "conditions" in server.status())
        await settle()
        assert "recentRuns" not in server.status()
        assert counted(replica) == (0, 0)
        shown = 'kron_kronjob_last_success_timestamp_seconds{namespace="ns",name="a"} 1794826800'
        assert shown in replica.metrics.text()
        await replica.stop()

    play(test)


def test_new_are_the_results_of_its_own_jobs_that_are_not_recorded() -> None:
    known, new = finished("known", T0 + 5), finished("new", T0 + 4, T0)
    made = member(known, new, run("active"), finished("theirs", T0, owner_uid="u2"), recorded=False)
    assert known.result is not None
    made.results = made.results.including(known.result)
    assert made.new_results() == [new.result]
    assert new.result is not None
    assert new.result.period == to_text(T0)
