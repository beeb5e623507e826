"""krontab next: the coming runs, in the order in which they come due."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kron
from tests.krontab.command import Krontab
from tests.soak import examples

AT = "2026-03-01T00:00:00Z"
MIDNIGHT = datetime(2026, 3, 1, tzinfo=UTC)


def coming(krontab: Krontab, schedule: str, *more: str, at: str = AT, identity: str = "i") -> Any:
    words = ("--schedule", schedule, "--identity", identity, "--at", at, *more)
    return krontab("next", *words, "--format", "json").fine().json["runs"]


def shown(krontab: Krontab, schedule: str, *more: str, at: str = AT) -> list[str]:
    return (
        krontab("next", "--schedule", schedule, "--identity", "i", "--at", at, *more).fine().lines
    )


def brute_force(schedule_text: str, identity: str, at: datetime, count: int) -> list[str]:
    """The periods in the order of their runs, by deciding every one that could be among them."""
    schedule = kron.parse_schedule(schedule_text)
    found = []
    nominal = at - timedelta(hours=9)
    until = at + timedelta(days=12 if schedule_text.startswith("0 0 ") else 2)
    while (nominal := schedule.next_nominal(nominal)) < until:
        decision = kron.decide(schedule, identity=identity, nominal=nominal)
        due = decision.chosen_time or decision.window_end
        if due >= at:
            found.append((due, nominal, decision.period_id))
    return [period for _, _, period in sorted(found)[:count]]


modes = st.sampled_from(["after", "around", "before"])
crons = st.sampled_from(["*/7 * * * *", "0 * * * *", "15,45 */2 * * *", "0 0 * * *"])
constraints = st.sampled_from(["", "@avoid(hours=2-20)", "@only(dow=MON)"])


@settings(examples(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    schedule=st.builds("{} @win({},{}m) {}".format, crons, modes, st.integers(0, 480), constraints),
    identity=st.sampled_from(["a", "b", "c/d"]),
)
def test_the_order_is_that_of_the_runs_not_of_the_periods(
    krontab: Krontab, schedule: str, identity: str
) -> None:
    runs = coming(krontab, schedule, "--count", "9", identity=identity)
    assert [run["period"] for run in runs] == brute_force(schedule, identity, MIDNIGHT, 9)


def test_overlapping_windows_run_out_of_order(krontab: Krontab) -> None:
    """So that the test above does not compare what is sorted anyway."""
    runs = coming(krontab, "*/5 * * * * @win(after,3h)", "--count", "20")
    periods = [run["period"] for run in runs]
    assert periods != sorted(periods)
    assert [run["chosen"] for run in runs] == sorted(run["chosen"] for run in runs)


@pytest.mark.parametrize("count", [1, 2, 17, 700])
def test_it_shows_as_many_as_are_asked_for(krontab: Krontab, count: int) -> None:
    assert len(coming(krontab, "*/5 * * * *", "--count", str(count))) == count
    assert len(shown(krontab, "*/5 * * * *", "--count", str(count))) == count + 1


def test_it_shows_five_unless_told_otherwise(krontab: Krontab) -> None:
    assert len(coming(krontab, "*/5 * * * *")) == 5


@pytest.mark.parametrize("count", ["0", "-1", "1.5", "", "x", "100001", "9" * 400, "１", "1_0"])
def test_a_count_is_a_number_from_1_to_100_000(krontab: Krontab, count: str) -> None:
    words = ("--schedule", "0 0 * * *", "--identity", "i", f"--count={count}")
    ran = krontab("next", *words)
    assert (ran.code, ran.out) == (2, "")
    assert "is not a number from 1 to 100,000" in ran.err


def test_a_run_at_the_moment_itself_is_to_come(krontab: Krontab) -> None:
    (first, *_) = coming(krontab, "0 0 * * *")
    assert (first["period"], first["in_seconds"]) == (AT, 0)
    assert shown(krontab, "0 0 * * *", "--count", "1")[1].endswith("  0s")
    (later, *_) = coming(krontab, "0 0 * * *", at="2026-03-01T00:00:01Z")
    assert later["period"] == "2026-03-02T00:00:00Z"


def test_the_table_is_aligned_with_utc_local_time_and_distance(krontab: Krontab) -> None:
    assert shown(krontab, "30 9 * * * @tz(America/New_York)", "--count", "2") == [
        "PERIOD                RUNS AT (UTC)         LOCAL (America/New_York)             IN",
        "2026-03-01T14:30:00Z  2026-03-01T14:30:00Z  Sun 2026-03-01 09:30:00 -05:00  14h 30m",
        "2026-03-02T14:30:00Z  2026-03-02T14:30:00Z  Mon 2026-03-02 09:30:00 -05:00   1d 14h",
    ]


def test_local_times_follow_daylight_saving(krontab: Krontab) -> None:
    runs = coming(
        krontab, "30 2 * * * @tz(Europe/Paris)", "--count", "3", at="2026-03-28T00:00:00Z"
    )
    assert [(run["chosen"], run["local"]) for run in runs] == [
        ("2026-03-28T01:30:00Z", "2026-03-28T02:30:00+01:00"),
        ("2026-03-29T01:00:00Z", "2026-03-29T03:00:00+02:00"),  # 02:30 does not exist
        ("2026-03-30T00:30:00Z", "2026-03-30T02:30:00+02:00"),
    ]
    runs = coming(
        krontab, "30 2 * * * @tz(Europe/Paris)", "--count", "3", at="2026-10-24T12:00:00Z"
    )
    assert [(run["chosen"], run["local"]) for run in runs] == [
        ("2026-10-25T00:30:00Z", "2026-10-25T02:30:00+02:00"),  # the first of two
        ("2026-10-26T01:30:00Z", "2026-10-26T02:30:00+01:00"),
        ("2026-10-27T01:30:00Z", "2026-10-27T02:30:00+01:00"),
    ]
    lines = shown(krontab, "*/30 * * * * @tz(Europe/Paris)", at="2026-10-25T00:00:00Z")
    assert [line[44:70] for line in lines[1:]] == [
        "Sun 2026-10-25 02:00:00 +0",
        "Sun 2026-10-25 02:30:00 +0",
        "Sun 2026-10-25 02:00:00 +0",
        "Sun 2026-10-25 02:30:00 +0",
        "Sun 2026-10-25 03:00:00 +0",
    ]


def test_an_offset_with_seconds_is_shown_whole(krontab: Krontab) -> None:
    (run,) = coming(
        krontab, "0 0 * * * @tz(Europe/Paris)", "--count", "1", at="1905-01-01T00:00:00Z"
    )
    assert run["local"] == "1905-01-02T00:00:00+00:09:21"


def test_a_period_without_a_time_is_shown_with_the_reason(krontab: Krontab) -> None:
    schedule = "0 12 * * * @win(after,1h) @only(dow=MON)"
    runs = coming(krontab, schedule, "--count", "3")
    assert [run["unschedulable"] for run in runs] == [True, False, True]
    reason = "no candidate accepted within MaxAttempts: outside only(dow=MON)"
    assert [run["reason"] for run in runs] == [reason, "", reason]
    assert (runs[0]["chosen"], runs[0]["local"]) == (None, None)
    assert runs[0]["in_seconds"] == 13 * 3600  # when its window closes
    lines = shown(krontab, schedule, "--count", "3")
    assert lines[1].split(None, 2)[1:] == ["unschedulable", reason]
    assert lines[2].split()[1] == runs[1]["chosen"]


def test_a_second_that_is_refused_is_shown_with_the_reason(krontab: Krontab) -> None:
    (run,) = coming(krontab, "0 12 * * * @avoid(dates=2026-03-01..2026-03-31)", "--count", "1")
    assert run["unschedulable"] is True
    assert run["reason"].endswith(": inside avoid(dates=2026-03-01..2026-03-31)")


def test_a_suspended_job_is_shown_with_a_note(krontab: Krontab) -> None:
    schedule = "0 12 * * * @policy(suspend=true)"
    words = ("--schedule", schedule, "--identity", "i", "--at", AT)
    ran = krontab("next", *words)
    assert ran.code == 0
    assert len(ran.lines) == 6
    assert ran.err == "note: the job is suspended, so none of these will run\n"
    assert krontab("next", *words, "--format", "json").fine().json["suspended"] is True


@pytest.mark.parametrize(
    ("schedule", "count"),
    [
        pytest.param("0 0 * * *", 0, id="nothing-left"),
        pytest.param("30 23 * * *", 1, id="one-left"),
        pytest.param("30 23 * * * @win(after,3h)", 1, id="a-window-beyond-the-end"),
        pytest.param("*/20 * * * *", 3, id="fewer-than-asked-for"),
    ],
)
def test_at_the_end_of_time_it_shows_what_is_left(
    krontab: Krontab, schedule: str, count: int
) -> None:
    at = "2999-12-31T23:00:00Z"
    assert len(coming(krontab, schedule, at=at)) == count
    assert len(shown(krontab, schedule, at=at)) == count + 1


@pytest.mark.parametrize("at", ["1899-12-31T23:59:59Z", "3000-01-01T00:00:00Z", "0001-01-01"])
def test_outside_the_years_of_kron_nothing_is_known(krontab: Krontab, at: str) -> None:
    ran = krontab("next", "--schedule", "0 0 * * *", "--identity", "i", "--at", at)
    assert (ran.code, ran.out) == (2, "")
    assert "outside the years 1900 to 2999" in ran.err


@pytest.mark.parametrize(
    ("seconds", "distance"),
    [(1, "1s"), (60, "1m"), (61, "1m 1s"), (3600, "1h"), (3601, "1h"), (90061, "1d 1h")],
)
def test_a_distance_has_its_two_largest_units(
    krontab: Krontab, seconds: int, distance: str
) -> None:
    at = (MIDNIGHT + timedelta(days=2) - timedelta(seconds=seconds)).isoformat()
    line = shown(krontab, "0 0 3 3 *", "--count", "1", at=at)[1]
    assert line.endswith(f"  {distance}")


def test_a_job_on_standard_input_is_asked_about_too(krontab: Krontab) -> None:
    line = "0 12 * * * name=job command=/bin/true\n"
    words = ("job", "--file", "-", "--at", AT, "--format", "json")
    ran = krontab("next", *words, given=line)
    assert ran.fine().json["job"] == "job"
    assert krontab.process("next", *words, given=line) == ran
