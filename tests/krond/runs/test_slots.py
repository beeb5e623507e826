"""Runs that share something wait for each other: `slots=database`, and its size.

On a fake clock, with real runs; at the end a real krond that is killed.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from time import perf_counter

import pytest

from kron.core.errors import KronError
from kron.core.instant import to_text
from kron.krond.control.requests import job_status
from kron.krond.enrolment.enrolment import NOT_STARTED
from kron.krond.roster.run import PendingRun
from kron.krond.runs.slots import Slots
from kron.krond.runs.starter import SLOT
from kron.krond.state.record import RunRecord
from kron.krond.state.store import file_name
from tests.krond.clockwork import LASTING, QUICK, Clockwork
from tests.krond.fault import DUE_S, FaultyHost, Server
from tests.krond.host import Host
from tests.logbook import wait_for

DAWN = "2026-03-01T05:30:00Z"


def job(
    name: str,
    slots: str = "database",
    *,
    at: str = "0 10",
    policy: str = "deadline=10m",
    command: str = LASTING,
) -> str:
    return f"{at} * * * @policy({policy}) name={name} {f'slots={slots}' if slots else ''} {command}"


def waiting(host: Clockwork) -> list[tuple[str, str]]:
    """Who was said to wait, and for what."""
    return [(record["name"], record["reason"]) for record in host.events("waiting")]


def names_started(host: Clockwork) -> list[str]:
    return [record["name"] for record in host.events("started")]


def test_runs_wait_for_their_slot_in_order_and_others_pass_by(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(
            *(job("first"), job("second", at="1 10"), job("third", at="2 10")),
            *("slots: database=1", job("other", "", at="3 10")),
        )
        host.until("2026-03-01T10:04:00Z")
        assert names_started(host) == ["first", "other"]
        taken = "slot database: 1 of 1 taken by first"
        assert waiting(host) == [("second", taken), ("third", taken)]
        told = host.events("waiting")[1]
        assert job_status(host.member("third"))["waiting"] == [
            {
                "run_id": told["run_id"],
                "period": "2026-03-01T10:02:00Z",
                "reason": taken,
                "until": "2026-03-01T10:12:00Z",
            }
        ]
        host.end(host.run("first"))
        assert names_started(host) == ["first", "other", "second"]
        host.end(host.run("second"))
        assert names_started(host) == ["first", "other", "second", "third"]
        assert len(host.events("waiting")) == 2
        assert host.missed() == []
        host.check_log()


def test_as_many_run_at_a_time_as_the_slot_has_room_for(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        names = [f"job-{number}" for number in range(5)]
        host.begin("slots: database=3", *map(job, names))
        host.until("2026-03-01T10:01:00Z")
        assert len(host.daemon.supervisor.runs) == 3
        taken = "slot database: 3 of 3 taken by job-0, job-1, job-2"
        assert waiting(host) == [("job-3", taken), ("job-4", taken)]
        host.end(host.run("job-1"))
        assert names_started(host) == names[:4]


def test_the_deadline_counts_while_a_run_waits_for_its_slot(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(
            "slots: database=1", job("first"), job("second"), job("third", policy="deadline=1h")
        )
        host.until("2026-03-01T10:30:00Z")
        (told,) = host.events("missed_deadline")
        assert told["name"] == "second"
        assert told["reason"].endswith("waiting for slot database: 1 of 1 taken by first")
        host.end(host.run("first"))
        assert names_started(host) == ["first", "third"]


def test_all_slots_are_taken_at_once_and_nobody_overtakes(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(
            "slots: database=1 disk=1",
            job("disk", "disk"),
            job("both", "database,disk", at="1 10"),
            job("database", "database", at="2 10"),
        )
        host.until("2026-03-01T10:03:00Z")
        assert names_started(host) == ["disk"]
        assert waiting(host) == [
            ("both", "slot disk: 1 of 1 taken by disk"),
            ("database", "slot database: both comes first"),
        ]
        host.end(host.run("disk"))
        assert names_started(host) == ["disk", "both"]
        host.end(host.run("both"))
        assert names_started(host) == ["disk", "both", "database"]


def test_room_that_is_left_over_goes_to_the_next(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(
            "slots: database=2 disk=1",
            job("disk", "disk"),
            job("both", "database,disk", at="1 10"),
            job("database", "database", at="2 10"),
        )
        host.until("2026-03-01T10:03:00Z")
        host.end(host.run("disk"))
        assert names_started(host) == ["disk", "both", "database"]


def test_who_gives_up_lets_those_behind_it_pass(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(
            "slots: database=1 disk=1",
            job("disk", "disk"),
            job("both", "database,disk", at="1 10", policy="deadline=2m"),
            job("database", "database", at="2 10"),
        )
        host.until("2026-03-01T10:05:00Z")
        assert host.missed("both")
        assert host.started("database") == ["2026-03-01T10:03:01Z"]


def test_slots_and_a_limit_for_all_runs_hold_together(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(
            *("slots: database=1", job("first"), job("second", at="1 10")),
            *(job("third", "", at="2 10"), job("fourth", "", at="3 10")),
            most_running=2,
        )
        host.until("2026-03-01T10:04:00Z")
        assert names_started(host) == ["first", "third"]
        assert waiting(host)[1] == ("fourth", SLOT)
        host.end(host.run("third"))
        assert names_started(host) == ["first", "third", "fourth"]
        host.end(host.run("first"))
        assert names_started(host) == ["first", "third", "fourth", "second"]


def test_a_replaced_run_frees_its_slot_when_it_ends_for_those_that_came_first(
    tmp_path: Path,
) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(
            "slots: database=1",
            job("often", at="0,2 10", policy="deadline=1h,concurrency=replace"),
            job("other", at="1 10", policy="deadline=1h"),
        )
        host.until("2026-03-01T10:01:30Z")
        first = host.run("often")
        host.until("2026-03-01T10:02:00Z")
        host.end_of(first)
        assert names_started(host) == ["often", "other"]
        host.end(host.run("other"))
        assert names_started(host) == ["often", "other", "often"]


def test_manual_runs_count_and_wait_too(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin("slots: database=1", job("first"), job("second"))
        ends: list[object] = []
        assert host.daemon.orders.trigger("first", ends.append).waits_for == ""
        pending = host.daemon.orders.trigger("second", ends.append)
        assert pending.waits_for == "slot database: 1 of 1 taken by first"
        host.until("2026-03-01T06:00:00Z")
        host.end(host.run("first"))
        assert names_started(host) == ["first", "second"]


def test_adopted_runs_count(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin("slots: database=2", job("first"), job("second"), job("third", at="5 10"))
        host.until("2026-03-01T10:01:00Z")
        orphans = [run.pid for run in host.daemon.supervisor.runs.values()]
        host.cease()
        host.begin("slots: database=1", job("first"), job("second"), job("third", at="5 10"))
        assert len(host.events("adopted")) == 2
        host.until("2026-03-01T10:06:00Z")
        assert waiting(host) == [("third", "slot database: 2 of 1 taken by first, second")]
        for pid, name in zip(orphans, ("first", "second"), strict=True):
            assert host.started("third") == []
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            host.end_of(host.run(name))
        assert len(host.started("third")) == 1


def test_a_reload_changes_sizes_and_names_for_the_next_starts(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        later = [
            job(name, at=f"{minute} 10", policy="deadline=1h")
            for minute, name in enumerate(("first", "second", "third", "fourth"))
        ]
        host.begin("slots: database=1", *later)
        host.until("2026-03-01T10:04:00Z")
        assert names_started(host) == ["first"]
        host.reload("slots: database=2", *later)
        assert names_started(host) == ["first", "second"]
        assert len(waiting(host)) == 5
        fourth = job("fourth", "", at="3 10", policy="deadline=1h")
        host.reload("slots: database=1", *later[:3], fourth)
        assert names_started(host) == ["first", "second", "fourth"]
        host.end(host.run("first"))
        assert names_started(host) == ["first", "second", "fourth"]
        host.end(host.run("second"))
        assert names_started(host) == ["first", "second", "fourth", "third"]


def test_a_removed_job_keeps_its_slot_until_its_run_ends(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(
            "slots: database=1", job("first"), job("second", at="1 10"), job("third", at="2 10")
        )
        host.until("2026-03-01T10:03:00Z")
        first = host.run("first")
        host.reload("slots: database=1", job("third", at="2 10"))
        assert names_started(host) == ["first"]
        host.end(first)
        assert names_started(host) == ["first", "third"]


def test_a_run_that_fails_to_start_leaves_its_slot_to_the_next(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        broken = job("broken", command="command=/no/such/program")
        host.begin("slots: database=1", broken, job("second"))
        host.until("2026-03-01T10:01:00Z")
        assert host.missed("broken")
        assert names_started(host) == ["second"]


def test_a_configuration_with_an_unknown_slot_is_refused_whole(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin("slots: database=1", job("first", command=QUICK))
        host.write("slots: disk=1", job("first", command=QUICK))
        assert "gives the slot database a size" in host.daemon.reload()
        host.until("2026-03-01T10:01:00Z")
        assert len(host.started("first")) == 1


def test_a_reload_that_is_refused_changes_no_slot(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin("slots: database=1", job("first"), job("second"))
        host.until("2026-03-01T10:01:00Z")
        newer = host.state / file_name(f"{host.config}:new")
        newer.write_text('{"schema": 99}\n')
        newer.chmod(0o600)
        for line in ("slots: database=5", ""):
            slots = "database" if line else ""
            host.write(line, *(job(name, slots=slots) for name in ("first", "second", "new")))
            assert "schema 99" in host.daemon.reload()
            host.turn()
            assert names_started(host) == ["first"]
        host.end(host.run("first"))
        assert names_started(host) == ["first", "second"]


def test_a_run_that_has_its_slot_and_has_not_started_asks_again_after_a_reload(
    tmp_path: Path,
) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        sizes = "slots: database=1 disk=1 other=1"
        lines = [
            job("first", slots="disk,database"),
            job("busy", slots="other"),
            job("second", "database", at="1 10"),
            job("third", "disk", at="1 10"),
        ]
        host.begin(sizes, *lines, most_running=2)
        host.until("2026-03-01T10:01:30Z")
        host.end(host.run("first"))
        assert names_started(host)[2:] == ["second"], "who asked first starts first"
        lines[3] = job("third", "other", at="1 10")
        host.reload(sizes, *lines)
        host.end(host.run("second"))
        assert "third" not in names_started(host)
        host.end(host.run("busy"))
        assert "third" in names_started(host)


def test_a_manual_run_that_waits_when_krond_ends_is_said_not_to_have_started(
    tmp_path: Path,
) -> None:
    with Host(tmp_path) as host:
        never = "0 0 29 2 * @policy(deadline=1h)"
        host.write(
            "slots: database=1",
            f'{never} name=holds command="sleep 60" slots=database',
            f'{never} name=waits command="sleep 60" slots=database',
        )
        host.start()
        for way in ("stopped", "killed"):
            for name in ("holds", "waits"):
                host.ask("trigger", job=name)
            with pytest.raises(KronError, match="waits for slot database"):
                host.ask("trigger", job="waits")
            if way == "killed":
                host.kill()
                os.killpg(int(host.events("started", "holds")[-1]["pid"]), signal.SIGKILL)
            else:
                host.ask("stop", how="terminate")
                host.wait()
            host.start()
            last = host.row("waits")["last"]
            assert (last["started"], last["reason"]) == (None, NOT_STARTED)
            assert host.row("waits")["failed"] is not None


def test_a_start_and_an_end_cost_the_same_however_many_wait(tmp_path: Path) -> None:
    def seconds(many: int) -> float:
        """The best time of a few to let one in, with so many waiting."""
        slots = Slots()
        slots.resize({"database": 1}, ())
        records = [RunRecord(str(number), None, None) for number in range(many)]
        runs = [PendingRun(member, record, replaces=False) for record in records]
        for run in runs:
            slots.take(run)
        times = []
        for run in runs[:200]:
            began = perf_counter()
            assert len(slots.leave(run.run_id)) == 1
            times.append(perf_counter() - began)
        return sum(sorted(times)[:100])

    with Clockwork(tmp_path, DAWN) as host:
        host.begin("slots: database=1", job("job"))
        member = host.member("job")
        assert seconds(20_000) < 10 * seconds(300)


@pytest.mark.heavy
def test_killed_with_slots_in_use_krond_repeats_none_and_loses_none(tmp_path: Path) -> None:
    names = [f"job-{number}" for number in range(5)]
    due = [(name, to_text(DUE_S)) for name in names]
    busy = tmp_path / "busy"
    alone = f"mkdir {busy} || echo two >> {tmp_path}/two.txt; sleep 0.5; rmdir {busy}"
    with Server() as server, FaultyHost(tmp_path, server) as host:
        host.write(
            "slots: database=1", *(host.job(name, "slots=database", then=alone) for name in names)
        )
        host.be_seen()
        host.launch(begin_s=DUE_S - 1, due_s=DUE_S)
        for number in range(1, 4):
            host.wait_for_events("started", count=number)
            host.kill()
            host.start(begin_s=DUE_S + number)
        wait_for(lambda: host.is_over(due), "all of them have run")
        host.check(due)
        assert not (tmp_path / "two.txt").exists()


@pytest.mark.heavy
def test_killed_at_any_step_while_one_waits_for_the_other_krond_starts_each_once(
    tmp_path: Path,
) -> None:
    names = ("first", "second")
    due = [(name, to_text(DUE_S)) for name in names]
    with Server() as server, FaultyHost(tmp_path, server) as host:
        host.write("slots: database=1", *(host.job(name, "slots=database") for name in names))
        host.be_seen()
        host.kill_at_each_step(lambda: host.is_over(due), lambda: host.check(due), every=2)
