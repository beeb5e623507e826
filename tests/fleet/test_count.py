"""Counting is exact: whatever is known without a draw is what the draws would have said."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kron import KronError, ParseError, parse_schedule
from kron.core.decision import Decision
from kron.core.instant import FIRST_S, LAST_S
from kron.core.zone import load_zone
from kron.engine import Job
from kron.fleet import Tally, count, count_firings, firings
from tests.core.random_cron import near_change, random_expression, random_zones
from tests.core.schedules import schedule_texts
from tests.fleet.plans import (
    WEEK_S,
    agenda_firings,
    hour_cells,
    job,
    minute_cells,
    seconds,
    slow_cells,
)
from tests.soak import SOAK, examples

MONDAY = seconds("2026-03-02T00:00")
HOUR_NS = 3_600 * 10**9
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

moments = st.datetimes(datetime(2005, 1, 1), datetime(2036, 1, 1)).map(
    lambda moment: int(moment.replace(tzinfo=UTC).timestamp())
)


def assert_exact(jobs: list[Job], from_s: int, weeks: int) -> None:
    slow = slow_cells(jobs, from_s, weeks)
    by_minute = count_firings(jobs, from_s, weeks, by_minute=True)
    by_hour = count_firings(jobs, from_s, weeks)
    assert minute_cells(by_minute) == slow
    assert by_hour.cells == by_minute.cells == hour_cells(slow)


@examples(60)
@given(text=schedule_texts(most_window_ns=30 * HOUR_NS), from_s=moments)
def test_any_schedule_is_counted_as_its_agenda_has_it(text: str, from_s: int) -> None:
    with suppress(KronError):  # too many periods open at once
        assert_exact([job(text)], from_s, 1)


WINDOWS = (
    "",
    "",
    " @win(after,20s)",
    " @win(after,59s)",
    " @win(after,1m)",
    " @win(around,50s)",
    " @win(before,4m)",
    " @win(after,25m)",
    " @win(around,40m)",
    " @win(after,59m59s)",
    " @win(before,3h)",
)
CONSTRAINTS = (
    "",
    "",
    " @only(dow=MON-FRI)",
    " @only(hours=8-18)",
    " @avoid(between=23:45-00:15)",
    " @avoid(hours=0-6) @only(dom=1-15)",
    " @only(between=02:10-02:40)",
)


@pytest.mark.heavy
def test_days_on_which_clocks_are_set_are_counted_as_the_agenda_has_them() -> None:
    random = Random(20260301)
    zones = random_zones(random)
    done = 0
    while done < 60 * SOAK:
        zone = next(zones)
        change_s = near_change(random, zone)
        if change_s is None or change_s < seconds("1971-01-01"):
            continue
        modifiers = random.choice(WINDOWS) + random.choice(CONSTRAINTS)
        with suppress(ParseError):  # a day that never comes
            schedule = parse_schedule(f"{random_expression(random)} @tz({zone}){modifiers}")
            if schedule.nominals.wall.matches_a_day > 300:
                continue  # the slow way takes its time
            assert_exact([Job("a", schedule)], change_s - random.randrange(WEEK_S), 1)
            done += 1


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("zone", "at"),
    [
        pytest.param("Europe/Paris", "2026-03-25T11:17:31", id="an-hour-forward"),
        pytest.param("Europe/Paris", "2026-10-22T11:17:31", id="an-hour-back"),
        pytest.param("America/Nuuk", "2026-03-25T11:17:31", id="forward-to-midnight"),
        pytest.param("America/Nuuk", "2026-10-22T11:17:31", id="back-from-midnight"),
        pytest.param("America/Sao_Paulo", "2018-11-01T00:00:00", id="forward-from-midnight"),
        pytest.param("Australia/Lord_Howe", "2026-04-01T00:00:00", id="half-an-hour"),
        pytest.param("Pacific/Apia", "2011-12-26T00:00:00", id="a-day-left-out"),
        pytest.param("Asia/Kathmandu", "2026-03-01T00:00:00", id="quarter-hours"),
        pytest.param("Europe/Amsterdam", "1936-05-10T00:00:00", id="offset-with-seconds"),
        pytest.param("Africa/Monrovia", "1971-12-29T00:00:00", id="odd-seconds"),
    ],
)
@pytest.mark.parametrize("cron", ["*/37 * * * *", "30 0,2,23 * * *", "0 * * * MON-SAT"])
def test_odd_clocks(zone: str, at: str, cron: str) -> None:
    windows = ("", "@win(after,30s)", "@win(around,20m)", "@win(after,90m)")
    constraints = ("", "@only(between=23:20-02:40)")
    jobs = [
        job(f"{cron} @tz({zone}) {window} {constraint}", f"prod/{number}")
        for number, (window, constraint) in enumerate(
            (window, constraint) for window in windows for constraint in constraints
        )
    ]
    for each in jobs:
        assert_exact([each], seconds(at), 1)


@pytest.mark.parametrize(
    "constraint",
    [
        pytest.param("@only(dow=MON,WED)", id="some-days"),
        pytest.param("@avoid(dom=3)", id="all-days-but-one"),
        pytest.param("@avoid(between=23:55-00:05)", id="not-around-midnight"),
        pytest.param("@only(between=02:10-02:10)", id="one-minute"),
        pytest.param("@only(between=00:00-00:00;hours=2;dow=TUE)", id="never"),
    ],
)
@pytest.mark.parametrize(
    "window", ["after,20m", "around,20m", "before,20m", "after,59m", "after,5h"]
)
def test_constraints_within_and_across_a_day(window: str, constraint: str) -> None:
    for cron in ("50,55 23 * * *", "0,5 0 * * *", "0 2 * * *"):
        jobs = [job(f"{cron} @win({window}) {constraint}", f"prod/{n}") for n in range(4)]
        assert_exact(jobs, MONDAY - 100, 2)


@pytest.mark.parametrize("past_s", range(0, 86_400, 14_523))
def test_a_year_and_a_half_of_a_zone_that_nobody_asked_about_before(past_s: int) -> None:
    """What is known of a zone grows by years, and may end in the middle of a day."""
    load_zone.cache_clear()
    jobs = [job("0 */2 * * * @tz(Asia/Colombo)")]
    tally = count_firings(jobs, MONDAY + past_s, 60, by_minute=True)
    assert minute_cells(tally) == slow_cells(jobs, MONDAY + past_s, 60)


@pytest.mark.parametrize("at_s", [FIRST_S, FIRST_S + 90_061, LAST_S - 3 * 86_400, LAST_S])
def test_the_first_and_the_last_years_have_edges_and_no_cracks(at_s: int) -> None:
    for text in ("*/30 * * * *", "0 */3 * * * @tz(Asia/Tokyo) @win(around,2h)"):
        assert_exact([job(text)], at_s, 1)


def shown(tally: Tally) -> dict[str, int]:
    """The cells that are not empty, as `Sun 03`."""
    return {
        f"{DAYS[weekday]} {hour:02d}": count
        for weekday, row in enumerate(tally.cells)
        for hour, count in enumerate(row)
        if count
    }


@pytest.mark.parametrize(
    ("text", "at", "weeks", "expected"),
    [
        pytest.param("0 0 * * MON", "2026-03-01", 1, {"Mon 00": 1}, id="weekly"),
        pytest.param("0 0 * * MON", "2026-03-01", 4, {"Mon 00": 4}, id="weeks-are-added"),
        pytest.param("30 9 1 * *", "2026-03-02", 4, {}, id="the-first-is-past"),
        pytest.param("30 9 1 * *", "2026-03-01", 4, {"Sun 09": 1}, id="the-first-is-a-sunday"),
        pytest.param(
            "30 9 1 * *", "2026-03-01", 9, {"Sun 09": 1, "Wed 09": 1, "Fri 09": 1}, id="months"
        ),
        pytest.param("30 9 * 6 MON", "2026-03-01", 8, {}, id="another-month"),
        pytest.param("30 9 * 6 MON", "2026-05-31", 8, {"Mon 09": 5}, id="that-month"),
        pytest.param("0 0 29 2 *", "2026-03-01", 52, {}, id="no-leap-year"),
        pytest.param("0 0 29 2 *", "2028-02-28", 1, {"Tue 00": 1}, id="a-leap-year"),
        pytest.param("0 0 * * SUN @tz(Asia/Tokyo)", "2026-03-02", 1, {"Sat 15": 1}, id="zone"),
        pytest.param(
            "0 9 * * SUN @tz(Europe/Paris)",
            "2026-03-16",
            3,
            {"Sun 08": 1, "Sun 07": 2},
            id="summer-time-comes",
        ),
        pytest.param("0 0 * * MON @win(before,1h)", "2026-03-01", 1, {"Sun 23": 1}, id="before"),
        pytest.param("0 3 * * * @only(hours=5)", "2026-03-01", 4, {}, id="unschedulable"),
        pytest.param("0 3 * * * @avoid(dow=1-6)", "2026-03-01", 2, {"Sun 03": 2}, id="constraint"),
        pytest.param("* * * * * @policy(suspend=true)", "2026-03-01", 4, {}, id="suspended"),
    ],
)
def test_firings_are_counted_where_they_happen(
    text: str, at: str, weeks: int, expected: dict[str, int]
) -> None:
    assert shown(count_firings([job(text)], seconds(at), weeks)) == expected


def test_a_window_of_an_hour_before_midnight_never_counts_for_the_wrong_day() -> None:
    jobs = [job("0 0 * * MON @win(before,59m59s)", f"prod/{number}") for number in range(50)]
    assert shown(count_firings(jobs, MONDAY - 86_400, 1)) == {"Sun 23": 50}


@examples(40)
@given(from_s=moments, weeks=st.integers(1, 6))
def test_every_slot_is_covered_as_often_as_there_are_weeks(from_s: int, weeks: int) -> None:
    """Also where the count begins in the middle of an hour, or of a minute."""
    tally = count_firings([job("* * * * *")], from_s, weeks, by_minute=True)
    assert set(tally.counts) == {weeks}
    assert tally.firings == weeks * 10_080


def test_the_views_of_a_tally_add_up_to_the_same() -> None:
    jobs = [job(f"*/{n} */{n} * * * @win(after,{n}m)", f"prod/{n}") for n in range(2, 9)]
    tally = count_firings(jobs, MONDAY + 12_345, 2, by_minute=True)
    total = sum(len(list(firings(each, tally.from_s, tally.until_s))) for each in jobs)
    views = (tally.by_hour, tally.by_minute_of_day, tally.by_minute_of_hour)
    assert [tally.firings, *map(sum, views), sum(map(sum, tally.cells))] == [total] * 5
    assert [len(view) for view in views] == [24, 1440, 60]
    assert tally.by_hour[3] == sum(tally.by_minute_of_day[180:240])
    assert tally.by_minute_of_hour[7] == sum(tally.by_minute_of_day[7::60])


def test_suspended_jobs_are_told_of_and_not_counted() -> None:
    jobs = [job("0 3 * * *", "a"), job("0 3 * * * @policy(suspend=true)", "b")]
    tally = count_firings(jobs, MONDAY, 1)
    assert (tally.jobs, tally.suspended, tally.firings) == (1, 1, 7)
    assert list(firings(jobs[1], MONDAY, MONDAY + WEEK_S)) == []


@examples(40)
@given(text=schedule_texts(most_window_ns=3 * HOUR_NS), from_s=moments)
def test_firings_are_those_of_the_agenda(text: str, from_s: int) -> None:
    until_s = from_s + 86_400
    found = list(firings(job(text), from_s, until_s))
    assert sorted(found) == agenda_firings(job(text), from_s, until_s)


@pytest.mark.parametrize(
    ("text", "by_minute"),
    [
        pytest.param("* * * * *", True, id="no-window"),
        pytest.param("* * * * * @tz(Asia/Kathmandu)", True, id="another-zone"),
        pytest.param("* * * * * @win(after,59s)", True, id="window-within-the-minute"),
        pytest.param("*/5 * * * * @win(after,4m)", False, id="window-within-the-hour"),
        pytest.param("0 * * * * @win(after,59m) @only(hours=8-17)", False, id="constraint"),
    ],
)
def test_what_is_known_without_a_draw_is_not_drawn(
    monkeypatch: pytest.MonkeyPatch, text: str, by_minute: bool
) -> None:
    """A thousand jobs that run every minute are forty million firings in four weeks."""

    def decide_at(*_: object) -> Decision:
        raise AssertionError("a decision was made")

    monkeypatch.setattr("kron.fleet.count.decide_at", decide_at)
    jobs = [job(text, f"prod/{number}") for number in range(200)]
    one = count_firings(jobs[:1], MONDAY, 4, by_minute=by_minute)
    tally = count_firings(jobs, MONDAY, 4, by_minute=by_minute)
    assert tally.firings == 200 * one.firings > 0


def test_many_kinds_of_days_are_counted_in_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [job(f"{n} {n % 24} * * *", f"prod/{n}") for n in range(60)]
    whole = count_firings(jobs, MONDAY, 4, by_minute=True)
    monkeypatch.setattr(count, "_MOST_PATTERNS", 10)
    assert count_firings(jobs, MONDAY, 4, by_minute=True) == whole


def test_windows_smooth_a_storm() -> None:
    storm = [job("0 0 * * *", f"prod/{number}") for number in range(300)]
    spread = [job("0 0 * * * @win(after,3h)", f"prod/{number}") for number in range(300)]
    before = count_firings(storm, MONDAY, 1, by_minute=True)
    after = count_firings(spread, MONDAY, 1, by_minute=True)
    assert before.firings == 2_100
    # The last window of the weeks reaches out of them, and one before them reaches in.
    assert abs(after.firings - before.firings) < 10
    assert max(before.counts) == 300
    assert max(after.counts) < 12
    assert all(500 < count < 900 for count in after.by_hour[:3])
    assert not any(after.by_hour[4:])


def test_progress_is_told_of_every_job() -> None:
    told: list[int] = []
    jobs = [job("0 3 * * *", "a"), job("0 3 * * * @policy(suspend=true)", "b")]
    count_firings(jobs, MONDAY, 1, progress=lambda: told.append(1))
    assert len(told) == 2
