"""Runs that have to wait: for a slot, or for a system that has no room for another process.

On a fake clock, with real runs; at the end a real krond. Whatever a run waits for, its deadline
counts.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from kron.core.duration import SECOND_NS
from kron.core.instant import from_text
from kron.krond.control.requests import job_status
from kron.krond.process.failure import StartError
from kron.krond.runs.shortage import FIRST_RETRY_NS, LONGEST_RETRY_NS
from kron.krond.runs.starter import SLOT
from kron.logs.event import Level
from tests.krond.clockwork import LASTING, QUICK, Clockwork
from tests.krond.host import Host

DAWN = "2026-03-01T05:30:00Z"
TEN = "2026-03-01T10:00:00Z"
NOBODY = 54_390
"""A user whose processes nobody else's tests start."""
AS_NOBODY = (
    *("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"),
    # This Python may be somewhere that only root can read.
    *("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"),
)
NO_ROOM = "the system has no room for another process"


def job(
    name: str, schedule: str = "0 10 * * *", *, policy: str = "deadline=10m", command: str = LASTING
) -> str:
    return f"{schedule} @policy({policy}) name={name} {command}"


def waiting(host: Clockwork) -> list[tuple[str, str]]:
    """Who was said to wait, and when that was said."""
    return [(record["name"], shown(record.time_ns)) for record in host.events("waiting")]


def shown(time_ns: int) -> str:
    """The time of day, to the tenth of a second."""
    tenths = time_ns // (SECOND_NS // 10) % 864_000
    minutes, rest = divmod(tenths, 600)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:{rest / 10:04.1f}"


# A slot


def test_runs_wait_for_a_slot_in_the_order_in_which_they_came(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(
            job("first"), job("third", "2 10 * * *"), job("second", "1 10 * * *"), most_running=1
        )
        host.until("2026-03-01T10:03:00Z")
        assert waiting(host) == [("second", "10:01:00.0"), ("third", "10:02:00.0")]
        for name in ("first", "second", "third"):
            assert len(host.daemon.supervisor.runs) == 1
            host.end(host.run(name))
        assert [record["name"] for record in host.events("started")] == ["first", "second", "third"]
        assert host.missed() == []
        host.check_log()


@pytest.mark.parametrize("limit", ["most_running", "slots"])
def test_a_run_that_fails_on_the_way_to_its_program_makes_room_at_once(
    tmp_path: Path, limit: str
) -> None:
    """krond learns that it has failed only after it has gone on with the next."""
    slots = "slots=disk" if limit == "slots" else ""
    failing = [job(f"bad{n}", command=f"command=/no/such nice=1 {slots}") for n in range(5)]
    good = [job(f"good{n}", command=f"{LASTING} nice=1 {slots}") for n in range(2)]
    with Clockwork(tmp_path, DAWN) as host:
        lines = (*(["slots: disk=1"] if slots else ()), *failing, *good)
        host.begin(*lines, **({} if slots else {"most_running": 1}))
        host.until(TEN)
        host.end(host.run("good0"))
        host.end(host.run("good1"))
        missed = [record["name"] for record in host.events("missed_deadline")]
        assert missed == [f"bad{n}" for n in range(5)]
        host.check_log()


def test_who_waits_is_told_once_with_its_reason_and_shown_until_when(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("first"), job("second", "1 10 * * *"), most_running=1)
        host.until("2026-03-01T10:05:00Z")
        (told,) = host.events("waiting")
        assert (told["name"], told["period"], told["reason"]) == (
            "second",
            "2026-03-01T10:01:00Z",
            SLOT,
        )
        row = job_status(host.member("second"))
        assert row["waiting"] == [
            {
                "run_id": told["run_id"],
                "period": "2026-03-01T10:01:00Z",
                "reason": SLOT,
                "until": "2026-03-01T10:11:00Z",
            }
        ]


@pytest.mark.parametrize(
    ("policy", "slack_s", "given_up_at"),
    [
        pytest.param("deadline=10m", 5, "10:11:01.0", id="its-deadline"),
        pytest.param("deadline=0s", 5, "10:01:06.0", id="the-slack"),
        pytest.param("deadline=0s", 0, "10:01:01.0", id="the-bare-rule"),
    ],
)
def test_the_deadline_counts_while_a_run_waits_for_a_slot(
    tmp_path: Path, policy: str, slack_s: int, given_up_at: str
) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        second = job("second", "1 10 * * *", policy=policy)
        host.begin(job("first"), second, most_running=1, slack_s=slack_s)
        host.until("2026-03-01T11:00:00Z")
        (told,) = host.events("missed_deadline")
        assert (told["name"], shown(told.time_ns)) == ("second", given_up_at)
        assert SLOT in told["reason"]
        host.end(host.run("first"))
        assert len(host.started()) == 1
        assert host.member("second").past.history[-1].outcome == "missed"


@pytest.mark.parametrize(
    ("policy", "slack_s", "late"),
    [
        pytest.param("deadline=0s", 5, 0, id="within-the-slack"),
        pytest.param("deadline=0s", 0, 3, id="but-not-by-the-bare-rule"),
        pytest.param("deadline=6s", 5, 2, id="but-not-against-a-deadline-that-is-set"),
    ],
)
def test_while_runs_wait_the_work_of_krond_makes_nobody_late(
    tmp_path: Path, policy: str, slack_s: int, late: int
) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        names = [f"job-{number}" for number in range(4)]
        jobs = [job(name, policy=policy, command=QUICK) for name in names]
        host.launcher.takes_s = dict.fromkeys(names, 4.0)
        host.begin(*jobs, most_running=1, slack_s=slack_s)
        host.until("2026-03-01T11:00:00Z")
        assert len(host.missed()) == late
        assert len(host.started()) == 4 - late


def test_a_clock_set_forward_ends_the_wait_of_what_is_too_late_by_it(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        jobs = [job("short", "1 10 * * *"), job("long", "1 10 * * *", policy="deadline=2h")]
        host.begin(job("first"), *jobs, most_running=1)
        host.until("2026-03-01T10:02:00Z")
        host.clock.jump(3600)
        host.turn()
        assert host.missed() == [("2026-03-01T10:01:00Z", "2026-03-01T11:02:00Z")]
        host.end(host.run("first"))
        assert host.started("short") == []
        assert host.started("long") == ["2026-03-01T11:02:00Z"]


def test_a_clock_set_back_lets_a_run_wait_until_its_deadline_comes(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("first"), job("second", "1 10 * * *"), most_running=1)
        host.until("2026-03-01T10:02:00Z")
        host.clock.jump(-3600)
        host.until("2026-03-01T10:11:00Z")
        assert host.missed() == []
        host.until("2026-03-01T10:11:01Z")
        assert host.missed() == [("2026-03-01T10:01:00Z", "2026-03-01T10:11:01Z")]


@pytest.mark.parametrize(
    "oversleeps_s", [pytest.param(0, id="one-by-one"), pytest.param(70, id="both-at-once")]
)
def test_a_run_that_was_replaced_while_it_waited_for_a_slot_is_heard_of_once(
    tmp_path: Path, oversleeps_s: int
) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        often = job("often", "1-2 10 * * *", policy="deadline=10m,concurrency=replace")
        others = job("first", "58 9 * * *"), job("ahead", "59 9 * * *", policy="deadline=1h")
        host.begin(*others, often, most_running=1, slack_s=120)
        host.until("2026-03-01T10:00:30Z")
        host.poller.oversleeps_s = oversleeps_s
        host.until("2026-03-01T10:30:00Z")
        (skipped,) = host.events("skipped_concurrency")
        assert skipped["period"] == "2026-03-01T10:01:00Z"
        assert host.missed() == [("2026-03-01T10:02:00Z", "2026-03-01T10:12:01Z")]
        host.end(host.run("first"))
        assert len(host.started("ahead")) == 1
        assert host.started("often") == []


def test_a_run_whose_blocker_is_gone_waits_for_a_slot_like_the_others(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        replacing = job("replacing", "0,2 10 * * *", policy="deadline=10m,concurrency=replace")
        host.begin(replacing, job("other", "1 10 * * *"), most_running=1)
        host.until("2026-03-01T10:01:30Z")
        first = host.run("replacing")
        host.until("2026-03-01T10:02:00Z")
        host.end_of(first)
        assert host.started("other") == ["2026-03-01T10:02:00Z"]
        assert [(r["name"], r["reason"] == SLOT) for r in host.events("waiting")] == [
            ("other", True),
            ("replacing", False),
            ("replacing", True),
        ]
        host.until("2026-03-01T11:00:00Z")
        assert host.missed() == [("2026-03-01T10:02:00Z", "2026-03-01T10:12:01Z")]


# Room for another process


def no_room(times: int) -> list[StartError]:
    return [StartError(NO_ROOM, for_good=False) for _ in range(times)]


def test_a_start_without_room_is_tried_again_ever_less_often(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("job", command=QUICK))
        host.launcher.failures = no_room(9)
        host.until("2026-03-01T11:00:00Z")
        pauses_ns = [after - before for before, after in pairwise(host.launcher.tries_ns)]
        assert pauses_ns == [min(FIRST_RETRY_NS << number, LONGEST_RETRY_NS) for number in range(9)]
        assert host.launcher.tries_ns[0] == from_text(TEN) * SECOND_NS
        assert len(host.started()) == 1
        (told,) = host.events("error")
        assert (told.level, told["error"]) == (Level.WARN, NO_ROOM)
        assert waiting(host) == [("job", "10:00:00.0")]
        host.check_log()


@pytest.mark.parametrize(
    ("policy", "slack_s", "given_up_at"),
    [
        pytest.param("deadline=10m", 5, "10:10:01.0", id="its-deadline"),
        pytest.param("deadline=0s", 5, "10:00:06.0", id="the-slack"),
        pytest.param("deadline=0s", 0, "10:00:01.0", id="the-bare-rule"),
    ],
)
def test_a_start_without_room_is_given_up_at_the_deadline_or_the_end_of_the_slack(
    tmp_path: Path, policy: str, slack_s: int, given_up_at: str
) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("job", policy=policy), slack_s=slack_s)
        host.launcher.failures = no_room(1000)
        host.until("2026-03-01T11:00:00Z")
        (told,) = host.events("missed_deadline")
        assert shown(told.time_ns) == given_up_at
        assert NO_ROOM in told["reason"]
        tries = len(host.launcher.tries_ns)
        host.launcher.failures = []
        host.until("2026-03-01T12:00:00Z")
        assert len(host.launcher.tries_ns) == tries
        assert host.started() == []


@pytest.mark.parametrize("most_running", [1, 100])
def test_a_krond_that_was_stopped_between_two_tries_does_not_start_what_is_too_late(
    tmp_path: Path, most_running: int
) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("job"), most_running=most_running)
        host.launcher.failures = no_room(1)
        host.until(TEN)
        host.poller.oversleeps_s = 1200.0
        host.until("2026-03-01T10:05:00Z")
        assert host.started() == []
        assert [period for period, _ in host.missed()] == [TEN]


@pytest.mark.parametrize(
    ("command", "again_at"),
    [
        pytest.param(LASTING, "10:00:00.1", id="which-last"),
        pytest.param(QUICK, "10:00:00.0", id="and-their-end-gives-it-room"),
    ],
)
def test_others_start_while_one_has_no_room(tmp_path: Path, command: str, again_at: str) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("first", command=command), job("second", command=command))
        host.launcher.failures = no_room(1)
        host.until("2026-03-01T10:05:00Z")
        assert sorted(record["name"] for record in host.events("started")) == ["first", "second"]
        first, second = (shown(record.time_ns) for record in host.events("started"))
        assert (first, second) == ("10:00:00.0", again_at)


def test_a_run_that_lacks_resources_after_it_waited_for_a_slot_is_missed_for_that(
    tmp_path: Path,
) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("a"), job("b", "1 10 * * *"), most_running=1)
        host.until("2026-03-01T10:02:00Z")
        host.launcher.failures = no_room(1_000)
        host.end(host.run("a"))
        host.until("2026-03-01T10:30:00Z")
        assert [record["reason"] for record in host.events("waiting")] == [
            SLOT,
            f"resources: {NO_ROOM}",
        ]
        (told,) = host.events("missed_deadline")
        assert NO_ROOM in told["reason"]


def test_runs_that_end_do_not_make_the_tries_of_another_more_frequent(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        others = [f"other-{number}" for number in range(5)]
        host.begin(*map(job, others), job("poor", "1 10 * * *", policy="deadline=1h"))
        host.until("2026-03-01T10:00:30Z")
        host.launcher.failures = no_room(1_000)
        host.until("2026-03-01T10:02:00Z")
        for name in others:
            host.end(host.run(name))
        host.until("2026-03-01T10:03:00Z")
        host.launcher.tries_ns.clear()
        host.until("2026-03-01T10:04:00Z")
        assert len(host.launcher.tries_ns) == 12


def test_a_start_that_fails_for_good_is_not_tried_again(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("job"))
        host.launcher.failures = [StartError("there is no such program", for_good=True)]
        host.until("2026-03-01T11:00:00Z")
        assert len(host.launcher.tries_ns) == 1
        (told,) = host.events("error")
        assert told.level is Level.ERROR
        (missed,) = host.events("missed_deadline")
        assert missed["reason"] == "there is no such program"
        assert missed["now"] == TEN


# A real krond


@pytest.fixture
def crowded() -> Iterator[Host]:
    """A host whose krond is a user who may have two processes."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("only root with setpriv can run a krond as another, and root is never crowded")
    with tempfile.TemporaryDirectory(prefix="kron-crowded-") as directory:
        os.chown(directory, NOBODY, NOBODY)
        with Host(Path(directory)) as host:
            host.write(f"0 0 29 2 * name=far {QUICK}")
            host.start("--limit-nproc", "2", wrapper=AS_NOBODY)
            yield host


def test_a_user_who_may_have_no_more_processes_gets_the_run_when_there_is_room(
    crowded: Host,
) -> None:
    other = subprocess.Popen(["/bin/sleep", "3600"], user=NOBODY)
    try:
        schedule = crowded.soon("job", 3, more="@policy(deadline=1m)")
        crowded.write(f"{schedule} name=job {QUICK}")
        crowded.ask("reload")
        told = crowded.wait_for_event("waiting", "job")
        assert told["reason"] == f"resources: {crowded.events('error', 'job')[0]['error']}"
        assert crowded.events("started") == []
    finally:
        other.kill()
        other.wait()
    started = crowded.wait_for_event("started", "job")
    assert started["run_id"] == told["run_id"]
    crowded.wait_for_event("exited", "job")
    assert crowded.stop() == 0
    crowded.check_log()
