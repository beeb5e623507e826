"""Time that does not simply pass: a clock that is set, a host that sleeps, nights of an hour more
or less, and ten years of downtime.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import kron.engine.survey
from kron.core.decision import Decision, decide_at
from kron.core.instant import from_text, to_text
from kron.core.schedule import Schedule
from kron.krond.control.requests import job_status
from kron.logs.event import Level
from tests.krond.clockwork import LASTING, QUICK, Clockwork
from tests.soak import SOAK

DAWN = "2026-03-01T05:30:00Z"
TEN = "2026-03-01T10:00:00Z"
DAY_S = 86_400
BERLIN = "@tz(Europe/Berlin)"


def job(schedule: str, name: str = "job", *, deadline: str = "") -> str:
    policy = f"@policy(deadline={deadline})" if deadline else ""
    return f"{schedule} {policy} name={name} {QUICK}"


def is_behind(host: Clockwork, name: str) -> bool:
    row = job_status(host.member(name))
    return row["clock_behind"] is True


# Set forward


def test_a_clock_set_forward_is_told_at_once_and_in_seconds(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("0 0 1 1 *"))
        host.turn()
        host.clock.jump(3600.25)
        host.turn()
        (told,) = host.events("clock_changed")
        assert told.level is Level.WARN
        assert (told["now"], told["shift_s"]) == ("2026-03-01T06:30:00Z", "3600.25")
        assert told.get("name") is None


def test_after_a_jump_forward_only_the_latest_runs_and_the_others_are_missed(
    tmp_path: Path,
) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("0 * * * *", deadline="2h"), clock_hold_s=0)
        host.turn()
        host.clock.set("2026-03-01T10:10:00Z")
        host.turn()
        assert host.started() == ["2026-03-01T10:10:00Z"]
        assert host.events("trigger")[0]["period"] == TEN
        assert [period for period, _ in host.missed()] == [
            f"2026-03-01T{hour:02d}:00:00Z" for hour in range(6, 10)
        ]
        host.until("2026-03-01T11:30:00Z")
        assert host.started()[1:] == ["2026-03-01T11:00:00Z"]
        host.check_log()


def test_many_that_a_jump_passes_over_are_one_line(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("* * * * *"), clock_hold_s=0)
        host.turn()
        host.clock.set("2026-03-01T09:30:30Z")
        host.turn()
        (told,) = host.events("missed_deadline")
        minutes = 4 * 60
        assert told["count"] == str(minutes)
        assert told["first_period"] == "2026-03-01T05:31:00Z"
        assert told["period"] == "2026-03-01T09:30:00Z"
        assert host.started() == ["2026-03-01T05:30:00Z"]
        host.until("2026-03-01T09:31:00Z")
        assert host.started()[1:] == ["2026-03-01T09:31:00Z"]


@pytest.mark.parametrize(
    ("seconds", "runs"),
    [
        pytest.param(6, True, id="late-by-the-slack"),
        pytest.param(7, False, id="late-by-more"),
    ],
)
def test_a_small_step_of_a_time_server_costs_no_run(
    tmp_path: Path, seconds: int, runs: bool
) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("0 10 * * *"))
        host.until("2026-03-01T09:59:59Z")
        host.clock.jump(seconds)
        host.turn()
        assert len(host.started()) == runs
        assert len(host.missed()) == (not runs)


def test_a_jump_is_no_time_for_a_timeout(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(f"0 10 * * * name=job timeout=10m {LASTING}")
        host.until("2026-03-01T10:01:00Z")
        host.clock.jump(3600)
        host.until("2026-03-01T11:09:59Z")
        assert host.events("timeout") == []
        host.until("2026-03-01T11:10:00Z")
        assert [told["signal"] for told in host.events("timeout")] == ["SIGTERM"]


# Set back


def test_a_clock_set_back_runs_nothing_again(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("0 10 * * *", deadline="1h"), job("*/10 * * * *", "often"))
        host.until("2026-03-01T10:05:00Z")
        before = host.started()
        host.clock.set("2026-03-01T08:00:00Z")
        host.until("2026-03-01T10:05:00Z")
        assert host.started() == before
        assert host.missed() == []
        (told,) = [record for record in host.events("clock_changed") if record.get("shift_s")]
        assert told.level is Level.WARN
        assert told["shift_s"] == str(-(2 * 3600 + 300))
        host.until("2026-03-02T10:05:00Z")
        assert host.started("job") == [TEN, "2026-03-02T10:00:00Z"]
        assert host.started("often")[len(before) - 1] == "2026-03-01T10:10:00Z"
        host.check_log()


def test_a_job_that_waits_for_the_clock_is_told_of_once_and_shown_as_such(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("0 10 * * *"), job("0 12 * * *", "later"))
        host.until("2026-03-01T10:05:00Z")
        for instant in ("2026-03-01T09:00:00Z", "2026-03-01T08:00:00Z"):
            host.clock.set(instant)
            host.turn()
        (told,) = host.events("clock_changed", "job")
        assert told["now"] == "2026-03-01T09:00:00Z"
        assert host.events("clock_changed", "later") == []
        assert is_behind(host, "job")
        assert not is_behind(host, "later")
        host.until("2026-03-02T10:00:00Z")
        assert not is_behind(host, "job")


def test_a_krond_that_starts_behind_its_own_past_says_so(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("0 10 * * *"))
        host.until("2026-03-01T10:05:00Z")
        host.cease()
        host.clock.set(DAWN)
        host.begin()
        host.until("2026-03-01T11:00:00Z")
        assert host.started() == [TEN]
        (told,) = host.events("clock_changed", "job")
        assert told["now"] == DAWN


def test_to_forget_a_job_is_the_way_out_of_a_wrong_future(tmp_path: Path) -> None:
    with Clockwork(tmp_path, "2036-03-01T05:30:00Z") as host:
        host.begin(job("0 10 * * *"), job("0 10 * * *", "other"))
        host.until("2036-03-01T10:05:00Z")
        host.clock.set("2026-03-01T08:00:00Z")
        host.until("2026-03-01T09:00:00Z")
        host.daemon.orders.forget("job")
        assert not is_behind(host, "job")
        host.until("2026-03-01T11:00:00Z")
        assert host.started("job") == ["2036-03-01T10:00:00Z", TEN]
        assert host.started("other") == ["2036-03-01T10:00:00Z"]


@pytest.mark.parametrize("is_restarted", [False, True])
def test_a_job_first_seen_in_a_wrong_future_is_there_from_now_on(
    tmp_path: Path, is_restarted: bool
) -> None:
    # Nothing ended there, so nothing is lost: the queue is made anew for the time that it is.
    with Clockwork(tmp_path, "2026-03-01T10:30:00Z") as host:
        host.begin(job("0 10 * * *"))
        host.turn()
        assert host.timer.instant_ns == from_text("2026-03-02T10:00:00Z") * 10**9
        if is_restarted:
            host.cease()
        host.clock.set("2026-03-01T09:00:00Z")
        if is_restarted:
            host.begin()
        host.until("2026-03-01T11:00:00Z")
        assert host.started() == [TEN]


def test_a_clock_that_goes_forth_and_back_costs_only_what_was_due_between(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        jobs = job("0 6 * * *", "early", deadline="12h"), job("0 10 * * *", "late")
        host.begin(*jobs, clock_hold_s=0)
        host.turn()
        host.clock.set("2026-03-01T09:00:00Z")
        host.turn()
        host.clock.set(DAWN)
        host.until("2026-03-01T11:00:00Z")
        assert host.started("early") == ["2026-03-01T09:00:00Z"]
        assert host.started("late") == [TEN]


# A clock that is not believed at once


def test_a_clock_that_is_wrong_for_ten_seconds_silences_nobody(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("* * * * *", "often"), job("0 10 * * *", "daily"))
        host.until("2026-03-01T05:45:55Z")
        host.clock.jump(40 * DAY_S)
        host.turn()
        (paused,) = host.events("paused")
        assert (paused["cause"], paused.level) == ("clock", Level.ERROR)
        assert "the clock jumped 960h ahead" in paused["reason"]
        (trouble,) = host.daemon.troubles()
        assert trouble["kind"] == "clock"
        host.clock.advance(10)
        host.turn()
        host.clock.jump(-40 * DAY_S)
        host.turn()
        host.until("2026-03-01T10:01:30Z")
        assert host.missed() == []
        assert len(host.started("often")) == 16 + 4 * 60 + 16
        assert host.started("often")[16] == "2026-03-01T05:46:05Z"
        assert host.started("daily") == [TEN]
        assert len(host.events("resumed")) == 1
        assert host.daemon.troubles() == []
        host.check_log()


def test_a_clock_that_stays_is_believed_after_the_hold(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("0 12 * * *", "noon"), job("2 20 * * *", "evening"), job("0 22 * * *"))
        host.turn()
        host.clock.set("2026-03-01T20:00:00Z")
        host.turn()
        host.until("2026-03-01T20:04:59Z")
        assert not host.missed()
        assert not host.started()
        host.until("2026-03-01T22:30:00Z")
        assert host.missed() == [("2026-03-01T12:00:00Z", "2026-03-01T20:05:00Z")]
        # krond's own doubt makes nobody late.
        assert host.started("evening") == ["2026-03-01T20:05:00Z"]
        assert host.started("job") == ["2026-03-01T22:00:00Z"]
        host.check_log()


@pytest.mark.parametrize("hold_s", [300, 1800])
def test_a_hold_replays_no_more_than_one_period_of_a_job(tmp_path: Path, hold_s: int) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        line = f"* * * * * @policy(concurrency=allow) name=job {QUICK}"
        host.begin(line, clock_hold_s=hold_s)
        host.turn()
        before = len(host.started())
        host.clock.set("2026-03-01T12:00:30Z")
        host.turn()
        host.until(to_text(from_text("2026-03-01T12:00:45Z") + hold_s))
        assert len(host.started()) == before + 1
        host.check_log()


def test_a_step_of_a_time_server_does_not_begin_the_hold_again(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("2 12 * * *"))
        host.turn()
        host.clock.set("2026-03-01T12:00:30Z")
        host.turn()
        host.until("2026-03-01T12:04:30Z")
        host.clock.jump(2)
        host.turn()
        host.until("2026-03-01T12:06:00Z")
        assert host.started() == ["2026-03-01T12:05:32Z"]


def test_a_reload_that_comes_with_a_jump_does_not_go_by_it(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("0 * * * *"))
        host.turn()
        wait = host.poller.wait
        signalled = [(lambda _: (host.daemon.reload(), None)[1], 0)]
        host.clock.jump(40 * DAY_S)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(host.poller, "wait", lambda timeout_s: [*signalled, *wait(timeout_s)])
            host.turn()
        host.clock.jump(-40 * DAY_S)
        host.turn()
        assert host.missed() == []
        assert not is_behind(host, "job")
        assert host.events("reload")[-1]["result"] == "applied"


def test_a_second_jump_begins_the_hold_again(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("0 10 * * *"))
        host.turn()
        host.clock.jump(40 * DAY_S)
        host.turn()
        host.clock.advance(299)
        host.clock.jump(40 * DAY_S)
        host.turn()
        host.clock.advance(299)
        host.turn()
        assert host.missed() == []
        host.clock.advance(1)
        host.turn()
        assert len(host.missed()) == 1
        assert (len(host.events("paused")), len(host.events("resumed"))) == (2, 1)


@pytest.mark.parametrize("hours", [2, -2])
def test_a_jump_of_few_hours_is_believed_at_once(tmp_path: Path, hours: int) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("0 10 * * *"))
        host.turn()
        host.clock.jump(hours * 3600)
        host.turn()
        assert host.events("paused") == []


def test_a_host_that_slept_is_believed_at_once(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("0 10 * * *", deadline="1h"))
        host.turn()
        host.clock.sleep(5 * 3600)
        host.turn()
        assert host.events("paused") == []
        assert host.started() == ["2026-03-01T10:30:00Z"]


def test_a_run_that_waits_is_not_given_up_by_a_clock_that_is_not_believed(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        lines = [f"0 10 * * * @policy(deadline=10m) name={name} {LASTING}" for name in ("a", "b")]
        host.begin(*lines, job("0 0 1 1 *", "manual"), most_running=1)
        host.until(TEN)
        (waiting,) = host.events("waiting")
        host.clock.jump(40 * DAY_S)
        host.turn()
        host.daemon.orders.trigger("manual", lambda _: None)
        first = next(iter(host.daemon.supervisor.runs.values()))
        host.end(first)
        host.settle()
        assert host.missed() == []
        assert host.started(waiting["name"]) == [], "nor started by it"
        assert len(host.started("manual")) == 1
        host.clock.jump(-40 * DAY_S)
        host.turn()
        assert len(host.started(waiting["name"])) == 1


@pytest.mark.parametrize(
    ("synchronised", "paused"),
    [pytest.param(False, True, id="alone"), pytest.param(True, False, id="synchronised")],
)
def test_a_start_that_finds_much_overdue_waits_for_a_clock_that_nothing_keeps_right(
    tmp_path: Path, synchronised: bool, paused: bool
) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("0 10 * * *"), job("0 10 1 4 *", "april"))
        host.cease()
        host.clock.advance(8 * 3600)
        host.clock.synchronised = synchronised
        host.begin()
        assert bool(host.events("paused")) is paused
        assert len(host.missed()) == (not paused)
        host.clock.synchronised = True
        host.clock.advance(5)
        host.turn()
        assert [period for period, _ in host.missed()] == [TEN]
        assert len(host.events("resumed")) == paused


def test_a_start_after_a_short_time_believes_its_clock(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("0 6 * * *"))
        host.cease()
        host.clock.advance(3 * 3600)
        host.clock.synchronised = False
        host.begin()
        assert host.events("paused") == []
        assert len(host.missed()) == 1


def test_forget_all_ahead_brings_back_every_job_that_waits_for_the_clock(tmp_path: Path) -> None:
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(job("0 * * * *", "hourly"), job("0 6 1 * *", "monthly"), clock_hold_s=0)
        host.turn()
        host.clock.jump(40 * DAY_S)
        host.turn()
        host.clock.jump(-40 * DAY_S)
        host.turn()
        (trouble,) = host.daemon.troubles()
        assert trouble["kind"] == "clock"
        assert "2 of 2 jobs wait" in str(trouble["text"])
        forgotten = host.daemon.orders.forget_ahead()
        assert [member.entry.name for member in forgotten] == ["hourly", "monthly"]
        assert host.daemon.troubles() == []
        host.until("2026-03-01T06:30:00Z")
        assert host.started("hourly") == host.started("monthly") == ["2026-03-01T06:00:00Z"]
        assert host.daemon.orders.forget_ahead() == []


# Nights of an hour more or less, in Berlin


NIGHTS = [
    pytest.param("30 2 * * *", "2026-03-29", ["01:00"], id="spring-fixed-once-after-the-gap"),
    pytest.param("30 2 * * *", "2026-10-25", ["00:30"], id="autumn-fixed-once-the-first-time"),
    pytest.param(
        "*/30 * * * *",
        "2026-03-29",
        ["00:00", "00:30", "01:00", "01:30", "02:00", "02:30"],
        id="spring-every-half-hour-that-there-is",
    ),
    pytest.param(
        "*/30 * * * *",
        "2026-10-25",
        ["00:00", "00:30", "01:00", "01:30", "02:00", "02:30"],
        id="autumn-every-half-hour-that-there-is",
    ),
    pytest.param("*/30 2 * * *", "2026-03-29", [], id="spring-no-such-hour"),
    pytest.param(
        "*/30 2 * * *",
        "2026-10-25",
        ["00:00", "00:30", "01:00", "01:30"],
        id="autumn-that-hour-twice",
    ),
]


@pytest.mark.parametrize(("schedule", "night", "expected"), NIGHTS)
def test_a_night_in_which_the_clocks_change(
    tmp_path: Path, schedule: str, night: str, expected: list[str]
) -> None:
    with Clockwork(tmp_path, f"{night}T00:00:00Z") as host:
        host.begin(job(f"{schedule} {BERLIN}"))
        host.until(f"{night}T02:59:59Z")
        assert host.started() == [f"{night}T{time}:00Z" for time in expected]
        assert host.missed() == []
        assert host.events("clock_changed") == []
        host.check_log()


@pytest.mark.parametrize(
    ("night", "back_at", "period"),
    [
        pytest.param("2026-03-29", "01:20:00", "01:00:00", id="down-over-the-gap"),
        pytest.param("2026-10-25", "01:40:00", "00:30:00", id="down-over-both-half-past-two"),
    ],
)
def test_a_krond_that_was_down_in_such_a_night_runs_once(
    tmp_path: Path, night: str, back_at: str, period: str
) -> None:
    with Clockwork(tmp_path, f"{night}T00:00:00Z") as host:
        host.begin(job(f"30 2 * * * {BERLIN}", deadline="3h"))
        host.cease()
        host.clock.set(f"{night}T{back_at}Z")
        host.begin()
        host.until(f"{night}T03:30:00Z")
        assert host.started() == [f"{night}T{back_at}Z"]
        assert host.events("trigger")[0]["period"] == f"{night}T{period}Z"


# Downtime


def counted(monkeypatch: pytest.MonkeyPatch) -> list[Decision]:
    """The decisions that the survey of a job's periods makes from now on."""
    made: list[Decision] = []

    def counting(schedule: Schedule, identity: str, nominal_s: int) -> Decision:
        made.append(decide_at(schedule, identity, nominal_s))
        return made[-1]

    monkeypatch.setattr(kron.engine.survey, "decide_at", counting)
    return made


@pytest.mark.parametrize(
    ("deadline", "runs"),
    [
        pytest.param("", [], id="deadline-0"),
        pytest.param("1m", ["2036-03-01T05:30:30Z"], id="deadline-1m"),
    ],
)
def test_ten_years_of_missed_minutes_are_one_line_and_little_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deadline: str, runs: list[str]
) -> None:
    made = counted(monkeypatch)
    work: list[int] = []
    for number, back_at in enumerate(("2026-03-02T05:30:30Z", "2036-03-01T05:30:30Z")):
        directory = tmp_path / str(number)
        directory.mkdir()
        with Clockwork(directory, "2026-03-01T05:30:30Z") as host:
            host.begin(job("* * * * *", deadline=deadline))
            host.cease()
            host.clock.set(back_at)
            made.clear()
            host.begin()
            work.append(len(made))
            if number:
                assert host.started() == runs
                (told,) = host.events("missed_deadline")
                minutes = (from_text("2036-03-01T05:30:00Z") - from_text(DAWN)) // 60
                assert told["count"] == str(minutes - len(runs))
                assert told["first_period"] == "2026-03-01T05:31:00Z"
            host.until(back_at.replace("30:30", "31:00"))
            assert len(host.started()) == len(runs) + 1
    assert work[0] == work[1]


def test_after_ten_years_suspended_a_job_catches_up_with_one_period(tmp_path: Path) -> None:
    with Clockwork(tmp_path, "2016-03-01T05:30:30Z") as host:
        host.begin(f"* * * * * @policy(suspend=true,deadline=1m) name=job {QUICK}")
        host.until("2026-03-01T05:30:30Z")
        host.reload(job("* * * * *", deadline="1m"))
        assert host.started() == ["2026-03-01T05:30:30Z"]
        assert len(host.events("missed_deadline")) == 1


# Everything together


SLACK_S = 5
LIVES = (
    job("*/3 * * * *", "strict"),
    job("*/10 * * * * @win(after,40m)", "overlapping", deadline="2m"),
    job("7-59/20 * * * * @win(around,15m)", "around", deadline="30m"),
)
DEADLINES_S = {"strict": 0, "overlapping": 120, "around": 1800}


@pytest.mark.parametrize("seed", range(3 * SOAK))
def test_whatever_becomes_of_the_clock_no_period_runs_twice_early_or_too_late(
    tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    with Clockwork(tmp_path, DAWN) as host:
        host.begin(*LIVES, slack_s=SLACK_S)
        for _ in range(40):
            event = chance.choice(["pass", "pass", "pass", "set", "set back", "stop", "restart"])
            seconds = chance.choice([2, 10, 60, 3600]) * chance.random()
            if event == "pass":
                host.until(to_text(host.clock.now_ns() // 10**9 + chance.randrange(1200)))
            elif event == "stop":
                host.poller.oversleeps_s = seconds
            elif event == "restart":
                host.cease()
                host.clock.advance(seconds)
                host.begin(slack_s=SLACK_S)
            else:
                host.clock.jump(seconds if event == "set" else -seconds)
            host.turn()
        started = host.events("started")
        assert len(started) > 20, "a life in which something happens"
        assert len({(record["name"], record["period"]) for record in started}) == len(started)
        for record in started:
            late_s = record.time_ns // 10**9 - from_text(record["chosen"])
            assert 0 <= late_s <= max(SLACK_S, DEADLINES_S[record["name"]])
        assert_each_ended_once(host, "strict")
        host.check_log()


def assert_each_ended_once(host: Clockwork, name: str) -> None:
    """Of a job whose periods come due in their order, none was lost and none ended twice."""
    ended_s: list[int] = []
    for record in (*host.events("started", name), *host.events("missed_deadline", name)):
        last_s = from_text(record["period"])
        first_s = from_text(record.get("first_period") or record["period"])
        nominals_s = [*range(first_s, last_s + 1, 180)]
        assert len(nominals_s) == int(record.get("count") or 1)
        ended_s += nominals_s
    assert sorted(ended_s) == [*range(min(ended_s), max(ended_s) + 1, 180)]
    ledger = host.member(name).ledger
    assert ledger is not None
    assert ledger.handled_through_s == max(ended_s)
