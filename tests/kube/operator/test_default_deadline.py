"""The deadline of KronJobs that name none: what it lets run, and what a status says of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.kube.client.server import until
from tests.kube.operator.server import Replica, Server, kronjob, play, seen

HOURLY = "0 * * * *"


def test_a_run_that_is_late_starts_by_the_default_and_both_are_in_the_status(
    tmp_path: Path,
) -> None:
    """It is 20 s past the hour, and nobody was awake."""
    log = tmp_path / "log"

    async def test(server: Server) -> None:
        server.put("kronjobs", seen(kronjob("late", schedule=HOURLY)))
        server.put("kronjobs", seen(kronjob("strict", schedule=HOURLY, policy={"deadline": "0s"})))
        suspended = f"{HOURLY} @policy(suspend=true)"
        server.put("kronjobs", seen(kronjob("suspended", schedule=suspended)))
        replica = Replica(server, default_deadline_s=600, log=str(log))
        await replica.start()
        await until(lambda: server.status("late").get("lastOutcome") == "executed")
        await until(lambda: server.status("strict").get("lastOutcome") == "missed")
        await until(lambda: "suspended" in server.status("suspended"))
        shown = {
            name: (server.status(name)["deadline"], server.status(name)["suspended"])
            for name in ("late", "strict", "suspended")
        }
        assert shown == {
            "late": ("10m", False),
            "strict": ("0s", False),
            "suspended": ("10m", True),
        }
        await replica.stop()

    play(test)
    missed = re.findall(r"event=missed_deadline .* name=(\w+) .* deadline=(\w+)", log.read_text())
    assert set(missed) == {("late", "10m"), ("strict", "0s")}, "those of the months before as well"


def test_another_default_is_in_the_status_at_once_and_owes_what_was_owed() -> None:
    async def test(server: Server) -> None:
        server.put("kronjobs", kronjob(schedule="0 0 1 1 *"))
        first = Replica(server)
        await first.start()
        # There is nothing else to write by then.
        await until(lambda: "'Accepted'" in str(server.status()))
        assert server.status()["deadline"] == "0s"
        await first.stop()
        ledger = server.status()["ledger"]
        second = Replica(server, default_deadline_s=3600)
        await second.start()
        await until(lambda: server.status()["deadline"] == "1h")
        assert server.status()["ledger"] == ledger
        await second.stop()

    play(test)


@pytest.mark.parametrize("deadline", ["1h", "0s"])
def test_a_request_of_a_leader_with_a_longer_default_is_still_expected(deadline: str) -> None:
    """It may have asked for the Job of half past eleven a moment ago."""

    async def test(server: Server) -> None:
        obj = seen(kronjob(schedule="30 11 * * *"))
        obj["status"] |= {"unanswered": ["2026-11-16T11:30:00Z"], "deadline": deadline}
        server.put("kronjobs", obj)
        replica = Replica(server)
        await replica.start()
        await until(lambda: replica.member().is_ours)
        assert bool(replica.member().doubts) is (deadline == "1h")
        await replica.stop()

    play(test)


def test_an_invalid_spec_has_neither() -> None:
    async def test(server: Server) -> None:
        server.put("kronjobs", kronjob())
        replica = Replica(server)
        await replica.start()
        await until(lambda: server.status().get("suspended") is False)
        server.edit("a", schedule="0 0 31 2 *")
        await until(lambda: server.status()["observedGeneration"] == 2)
        assert not {"suspended", "deadline"} & server.status().keys()
        await replica.stop()

    play(test)
