"""Overdue runs after downtime: spread with `--catch-up-spread`, each by its run id.

On a fake clock, with real runs; at the end a real krond that is killed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kron.core.duration import SECOND_NS
from kron.core.instant import from_text, to_text
from kron.krond.control.requests import job_status
from kron.krond.state.errors import PersistenceError
from kron.logs.record import Record
from tests.krond.clockwork import LASTING, QUICK, Clockwork
from tests.krond.fault import DUE_S, FaultyHost, Server
from tests.logbook import wait_for

DAWN = "2026-03-01T05:30:00Z"
BOOT = "2026-03-01T10:30:00Z"
SPREAD_S = 120
NAMES = [f"job-{number:02}" for number in range(12)]


def job(
    name: str, schedule: str = "0 10 * * *", *, policy: str = "deadline=2h", command: str = QUICK
) -> str:
    return f"{schedule} @policy({policy}) name={name} {command}"


def down(host: Clockwork, *lines: str, spread_s: int = SPREAD_S, until: str = BOOT) -> None:
    """Let a krond see the jobs, be down until then, and start again."""
    host.begin(*lines, catch_up_spread_s=spread_s)
    host.cease()
    host.clock.advance(from_text(until) - from_text(host.now))
    host.begin(catch_up_spread_s=spread_s)


def since(instant: str, records: list[Record]) -> dict[str, float]:
    """How many seconds after this instant something was logged of each job."""
    began_ns = from_text(instant) * SECOND_NS
    return {record["name"]: (record.time_ns - began_ns) / SECOND_NS for record in records}


def test_after_downtime_overdue_runs_start_spread_over_the_time(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        down(host, *map(job, NAMES))
        assert len(host.events("waiting")) == len(host.daemon.starter.waiting) == len(NAMES)
        host.until("2026-03-01T10:32:00Z")
        delays = since(BOOT, host.events("started"))
        assert len(set(delays.values())) == len(NAMES)
        assert max(delays.values()) - min(delays.values()) > SPREAD_S / 4
        assert host.missed() == []
        host.check_log()


def test_without_the_option_they_start_at_once(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        down(host, *map(job, NAMES), spread_s=0)
        assert host.events("waiting") == []
        assert set(since(BOOT, host.events("started")).values()) == {0.0}


def test_the_delay_is_the_same_at_every_restart_and_nothing_starts_twice(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        down(host, *map(job, NAMES))
        host.until("2026-03-01T10:31:00Z")
        before = since(BOOT, host.events("started"))
        host.cease()  # as if killed: what waited is started by the next krond
        again = host.now
        host.begin(catch_up_spread_s=SPREAD_S)
        host.until("2026-03-01T10:34:00Z")
        delays = since(again, host.events("started")[len(before) :])
        assert len(before) + len(delays) == len({**before, **delays}) == len(NAMES)
        assert max(before.values()) < min(delays.values())


@pytest.mark.parametrize("policy", ["deadline=31m", "deadline=30m"])
def test_no_run_is_missed_because_of_the_spread(tmp_path: Path, policy: str) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        down(host, *(job(name, policy=policy) for name in NAMES))
        host.until("2026-03-01T11:00:00Z")
        assert host.missed() == []
        assert len(host.started()) == len(NAMES)
        assert max(host.started()) <= "2026-03-01T10:30:31Z"


def test_a_run_that_is_on_time_is_never_delayed(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        down(host, job("late"), job("now", "30 10 * * *"), job("later", "35 10 * * *"))
        assert host.started("now") == [BOOT]
        host.until("2026-03-01T10:34:50Z")
        host.poller.oversleeps_s = 5.0  # a busy host, within the slack
        host.until("2026-03-01T10:35:10Z")
        assert host.started("later") == ["2026-03-01T10:35:05Z"]
        assert {record["name"] for record in host.events("waiting")} == {"late"}


def test_what_came_due_while_krond_itself_was_at_work_is_not_overdue(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("slow"), job("job", "1 10 * * *"), catch_up_spread_s=SPREAD_S)
        host.launcher.takes_s = {"slow": 75.0}
        host.until("2026-03-01T10:02:00Z")
        assert host.started("job") == ["2026-03-01T10:01:15Z"]
        assert host.events("waiting") == []


def test_after_a_sleep_of_the_host_and_after_a_pause_they_are_spread_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("sleep"), job("pause", "0 12 * * *"), catch_up_spread_s=SPREAD_S)
        host.clock.jump(5 * 3600)
        host.turn()
        host.until("2026-03-01T11:59:00Z")
        assert [record["name"] for record in host.events("waiting")] == ["sleep"]
        writeback = host.daemon._writeback
        writeback.failed(PersistenceError("the state", OSError(28, "No space left on device")))
        monkeypatch.setattr(writeback, "write_all", lambda: False)
        host.until("2026-03-01T12:10:00Z")
        monkeypatch.undo()
        host.until("2026-03-01T12:30:00Z")
        assert [record["name"] for record in host.events("waiting")] == ["sleep", "pause"]
        assert len(host.started()) == 2


def test_status_says_when_its_turn_is(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        down(host, job("job"))
        waits = job_status(host.member("job"))["waiting"]
        assert isinstance(waits, list)
        (waiting,) = waits
        assert waiting["until"] == "2026-03-01T12:00:00Z"
        turn = waiting["reason"].removeprefix("its turn at ").partition(": ")[0]
        assert BOOT < turn < "2026-03-01T10:32:01Z"
        host.until(turn)
        (started,) = host.started()
        assert from_text(turn) - from_text(started) <= 1


def test_a_run_in_its_turn_that_has_to_wait_again_says_so(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        lines = [job("first", command=LASTING), job("second", command=LASTING)]
        host.begin(*lines, catch_up_spread_s=SPREAD_S, most_running=1)
        host.cease()
        host.clock.advance(5 * 3600)
        host.begin(catch_up_spread_s=SPREAD_S, most_running=1)
        host.until("2026-03-01T10:35:00Z")
        waits = [record["reason"].partition(": ")[0] for record in host.events("waiting")]
        assert waits[2:] == ["a slot"]
        host.until("2026-03-01T12:00:01Z")
        assert len(host.missed()) == 1


def test_a_run_that_is_replaced_goes_on_until_the_turn_of_the_other(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        policy = "deadline=2h,concurrency=replace"
        host.begin(
            job("job", "0 6,10 * * *", policy=policy, command=LASTING), catch_up_spread_s=SPREAD_S
        )
        host.until("2026-03-01T06:30:00Z")
        first = host.run("job")
        host.poller.oversleeps_s = 31 * 60.0
        host.until("2026-03-01T10:30:00Z")
        assert host.run("job") is first
        assert host.events("replaced_job") == []
        host.until("2026-03-01T10:40:00Z")
        host.end_of(first)
        assert len(host.started("job")) == 2
        assert [record["reason"].partition(" ")[0] for record in host.events("waiting")] == [
            "its",
            "the",
        ]


@pytest.mark.parametrize("change", ["suspend", "remove", "forget"])
def test_a_run_that_waits_for_its_turn_ends_with_its_job(tmp_path: Path, change: str) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        down(host, job("job"), job("other", "0 20 * * *"))
        if change == "suspend":
            host.reload(job("job", policy="deadline=2h,suspend=true"), job("other", "0 20 * * *"))
        elif change == "remove":
            host.reload(job("other", "0 20 * * *"))
        else:
            host.daemon.orders.forget("job")
        host.until("2026-03-01T10:40:00Z")
        assert [period for period, _ in host.missed()] == ["2026-03-01T10:00:00Z"]
        assert host.started() == []


@pytest.mark.heavy
def test_a_real_krond_that_is_killed_while_they_wait_starts_each_of_them_once(
    tmp_path: Path,
) -> None:
    names = [f"job-{number}" for number in range(6)]
    due = [(name, to_text(DUE_S)) for name in names]
    with Server() as server, FaultyHost(tmp_path, server) as host:
        host.write(*map(host.job, names))
        host.be_seen()
        host.start("--catch-up-spread", "4s", begin_s=DUE_S + 20)
        wait_for(host.runs, "the first is started")
        host.kill()
        assert len(host.runs()) < len(names)
        host.start("--catch-up-spread", "2s", begin_s=DUE_S + 30)
        wait_for(lambda: host.is_over(due), "all of them have run")
        host.check(due)
