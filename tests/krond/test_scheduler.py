"""When a period is on time, when it is late, and when that is krond's own doing.

On a fake clock, with real state files and real runs.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

import kron
from kron.core.decision import decide_at
from kron.core.duration import SECOND_NS
from kron.core.instant import from_text, to_text
from kron.krond.loop.work import MOST_NS
from kron.krond.state.store import StateStore
from kron.logs.announcer import MANY
from tests.krond.clockwork import LASTING, QUICK, Clockwork

DAWN = "2026-03-01T05:00:00Z"
TEN = "2026-03-01T10:00:00Z"
JUST_BEFORE = "2026-03-01T09:59:59Z"


def job(schedule: str, name: str = "job", *, deadline: str = "") -> str:
    policy = f"@policy(deadline={deadline})" if deadline else ""
    return f"{schedule} {policy} name={name} {QUICK}"


@pytest.mark.parametrize(
    ("slack_s", "deadline", "late_s", "runs"),
    [
        pytest.param(5, "", 0, True, id="at-its-second"),
        pytest.param(5, "", 0.999, True, id="within-its-second"),
        pytest.param(5, "", 5.999, True, id="late-by-the-slack"),
        pytest.param(5, "", 6, False, id="late-by-more-than-the-slack"),
        pytest.param(0, "", 0.999, True, id="bare-rule-within-its-second"),
        pytest.param(0, "", 1, False, id="bare-rule-a-second-late"),
        pytest.param(5, "1m", 60.999, True, id="within-its-deadline"),
        pytest.param(5, "1m", 61, False, id="past-its-deadline"),
        pytest.param(0, "1m", 60, True, id="bare-rule-within-its-deadline"),
        pytest.param(5, "2s", 2.999, True, id="a-slack-longer-than-the-deadline"),
        pytest.param(5, "2s", 3, False, id="a-slack-does-not-soften-a-deadline"),
    ],
)
def test_a_krond_that_was_stopped_runs_what_is_late_by_its_slack_or_its_deadline(
    tmp_path: Path, slack_s: int, deadline: str, late_s: float, runs: bool
) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("0 10 * * *", deadline=deadline), slack_s=slack_s)
        host.poller.oversleeps_s = late_s
        host.until(TEN)
        assert host.started() == ([host.now] if runs else [])
        assert host.missed() == ([] if runs else [(TEN, host.now)])
        host.until("2026-03-02T09:00:00Z")
        assert len(host.started()) + len(host.missed()) == 1
        host.check_log()


@pytest.mark.parametrize(
    ("deadline", "late_s", "runs"),
    [
        pytest.param("", 0, True, id="back-at-its-second"),
        pytest.param("", 1, False, id="the-slack-is-not-for-a-krond-that-was-down"),
        pytest.param("1m", 60, True, id="within-its-deadline"),
        pytest.param("1m", 61, False, id="past-its-deadline"),
    ],
)
def test_a_krond_that_was_down_has_no_slack(
    tmp_path: Path, deadline: str, late_s: int, runs: bool
) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("0 10 * * *", deadline=deadline))
        host.until(JUST_BEFORE)
        host.cease()
        host.clock.advance(1 + late_s)
        host.begin()
        assert host.started() == ([host.now] if runs else [])
        assert host.missed() == ([] if runs else [(TEN, host.now)])


def test_it_sleeps_until_the_next_chosen_second_and_not_a_turn_less(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("0 10 * * *"))
        host.turn()
        assert host.timer.instant_ns == from_text(TEN) * SECOND_NS
        host.poller.until_ns = from_text("2026-03-01T12:00:00Z") * SECOND_NS
        host.daemon.turn()
        assert host.now == TEN
        assert host.started() == [TEN]


# Being busy


def test_a_burst_makes_nobody_late(tmp_path: Path) -> None:
    burst = [job("0 10 * * *", f"burst-{number}") for number in range(20)]
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(*burst, job("1 10 * * *", "next"))
        host.launcher.takes_s = {f"burst-{number}": 4.0 for number in range(20)}
        host.until("2026-03-01T11:00:00Z")
        assert host.missed() == []
        assert len(host.started()) == 21
        assert host.started("next") == ["2026-03-01T10:01:20Z"]


def test_with_the_bare_rule_being_busy_is_no_excuse(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("0 10 * * *", "slow"), job("1 10 * * *", "next"), slack_s=0)
        host.launcher.takes_s = {"slow": 62.0}
        host.until("2026-03-01T11:00:00Z")
        assert len(host.started("slow")) == 1
        assert host.missed() == [("2026-03-01T10:01:00Z", "2026-03-01T10:01:02Z")]


def test_only_so_much_lateness_is_put_down_to_work(tmp_path: Path) -> None:
    minutes = [job(f"{minute} 10 * * *", f"minute-{minute}") for minute in (1, 2, 3)]
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("0 10 * * *", "slow"), *minutes)
        host.launcher.takes_s = {
            "slow": 120 + MOST_NS // SECOND_NS + 6
        }  # the slack, and a second more
        host.until("2026-03-01T11:00:00Z")
        assert [period for period, _ in host.missed()] == [
            "2026-03-01T10:01:00Z",
            "2026-03-01T10:02:00Z",
        ]
        assert host.started("minute-3") == ["2026-03-01T10:03:06Z"]


def test_what_krond_slept_through_after_it_was_busy_is_late(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(f"0 10 * * * name=slow {LASTING}", job("5 10 * * *", "next"))
        host.launcher.takes_s = {"slow": 299.5}  # so that it next sleeps until that is due
        host.poller.until_ns = from_text(TEN) * SECOND_NS
        host.daemon.turn()
        assert host.started("slow") == ["2026-03-01T10:04:59Z"]
        host.poller.oversleeps_s = 15.0
        host.until("2026-03-01T10:05:00Z")
        assert host.missed() == [("2026-03-01T10:05:00Z", "2026-03-01T10:05:15Z")]


def test_what_comes_due_while_krond_begins_is_not_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Clockwork(tmp_path, JUST_BEFORE) as host:
        slowly(monkeypatch, host, "load_all", 30.0)
        host.begin(job("0 10 * * *"))
        host.turn()
        assert host.started() == ["2026-03-01T10:00:29Z"]


@pytest.mark.parametrize("slow", ["load", "commit"])
def test_what_comes_due_while_a_reload_takes_effect_is_not_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slow: str
) -> None:
    due = job("0 10 * * *")
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(due)
        host.until(JUST_BEFORE)
        slowly(monkeypatch, host, slow, 30.0)
        host.reload(due, job("0 12 * * *", "other"))
        assert host.missed() == []
        assert host.started() == ["2026-03-01T10:00:29Z"]


def test_what_comes_due_while_a_configuration_is_read_is_dealt_with_as_it_was_planned(
    tmp_path: Path,
) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("0 10 * * *"))
        host.until(JUST_BEFORE)
        host.reading_takes_s = 30.0
        host.reload(job("0 12 * * *"))
        assert host.started() == ["2026-03-01T10:00:29Z"]
        host.until("2026-03-01T13:00:00Z")
        assert host.started()[1:] == ["2026-03-01T12:00:00Z"]


def slowly(monkeypatch: pytest.MonkeyPatch, host: Clockwork, method: str, seconds: float) -> None:
    """Let a method of the store take so long, once."""
    real = getattr(StateStore, method)

    def slow(store: StateStore, *arguments: Any, **options: Any) -> Any:
        monkeypatch.undo()
        host.clock.advance(seconds)
        return real(store, *arguments, **options)

    monkeypatch.setattr(StateStore, method, slow)


# Looking again at what was decided


@pytest.mark.parametrize(
    "wrong", ["2026-03-01T09:00:00Z", "2026-03-01T11:00:00Z", "2026-03-02T11:00:00Z"]
)
def test_a_decision_is_made_again_before_it_is_acted_on(tmp_path: Path, wrong: str) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("0 10 * * *"))
        member = host.member("job")
        assert member.plan is not None
        (decision,) = member.plan.decisions
        decision = decision.replace(chosen_s=from_text(wrong))
        member._plan = member.plan.replace(decisions=(decision,))
        host.daemon._scheduler.queue.put(member, min(from_text(wrong), from_text(TEN)))
        host.until("2026-03-02T09:00:00Z")
        assert host.started() == [TEN]
        assert host.missed() == []
        host.check_log()


# First sight


@pytest.mark.parametrize(
    ("seen_s", "runs"),
    [
        pytest.param(-1, True, id="before-its-time"),
        pytest.param(0, True, id="at-its-time"),
        pytest.param(1, False, id="after-its-time"),
    ],
)
@pytest.mark.parametrize("deadline", ["", "12h"])
def test_a_job_seen_for_the_first_time_owes_nothing_from_before(
    tmp_path: Path, seen_s: int, runs: bool, deadline: str
) -> None:
    line = job("0 10 * * * @win(after,1h)", deadline=deadline)
    chosen_s = decide_at(
        kron.parse_schedule(line.partition(" name=")[0]),
        f"{tmp_path}/jobs.kron:job",
        from_text(TEN),
    ).chosen_s
    assert chosen_s is not None
    with Clockwork(tmp_path, to_text(chosen_s + seen_s)) as host:
        host.begin(line)
        host.until("2026-03-01T12:00:00Z")
        assert host.started() == ([to_text(chosen_s)] if runs else [])
        assert host.missed() == []


# Jobs that go and come back


def test_the_end_of_a_removed_jobs_run_is_known_when_the_job_comes_back_with_it(
    tmp_path: Path,
) -> None:
    line, other = f"0 10 * * * name=job {LASTING}", job("0 12 * * *", "other")
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(line, other)
        host.until(TEN)
        run = host.run("job")
        host.reload(other)
        os.killpg(run.pid, signal.SIGKILL)
        os.waitid(os.P_PID, run.pid, os.WEXITED | os.WNOWAIT)
        host.reload(line, other)  # in the same turn of the loop in which krond sees the end
        [ended] = host.member("job").past.history
        assert (ended.run_id, ended.signal) == (run.run_id, signal.SIGKILL)


# Suspension


def test_while_a_job_is_suspended_nothing_triggers_and_nothing_is_handled(tmp_path: Path) -> None:
    suspended = f"0 * * * * @policy(deadline=2h,suspend=true) name=job {QUICK}"
    with Clockwork(tmp_path, "2026-03-01T05:30:00Z") as host:
        host.begin(suspended)
        host.until("2026-03-01T08:30:00Z")
        assert host.timer.instant_ns is None
        assert host.started() == []
        assert host.missed() == []
        host.reload(job("0 * * * *", deadline="2h"))
        host.settle()
        assert host.started() == ["2026-03-01T08:30:00Z"]
        assert [period for period, _ in host.missed()] == [
            "2026-03-01T06:00:00Z",
            "2026-03-01T07:00:00Z",
        ]
        host.until("2026-03-01T09:30:00Z")
        host.reload(suspended)
        host.until("2026-03-01T12:30:00Z")
        assert host.started()[1:] == ["2026-03-01T09:00:00Z"]


@pytest.mark.parametrize("count", [MANY - 1, MANY, 3 * MANY])
def test_the_lines_of_many_that_are_due_at_once_keep_their_order(
    tmp_path: Path, count: int
) -> None:
    names = [f"job-{number:02}" for number in range(count)]
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(*(job("0 10 * * *", name) for name in names))
        logged = len(host.records())
        host.until(TEN)
        lines = [(record.event, record["name"]) for record in host.records()[logged:]]
        started = [name for event, name in lines if event == "started"]
        assert sorted(started) == names
        by_kind = [*(("trigger", n) for n in started), *(("started", n) for n in started)]
        assert [line for line in lines if line[0] in ("trigger", "started")] == by_kind
        next_day = [("decision", name) for name in started]
        assert [line for line in lines if line[0] == "decision"] == next_day
        host.check_log()
