"""Walking with datetimes: whatever was asked before, the answer is what `Nominals` says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from kron import Schedule, parse_schedule
from kron.core.instant import to_datetime, to_seconds
from tests.core.random_cron import anywhere, near_change, random_schedule, random_zones
from tests.core.tzif import offset_changes
from tests.soak import SOAK

DAY_S = 86_400

# Clocks set at or around midnight, by an hour, half an hour, a day, and by odd seconds.
MIDNIGHT_ZONES = (
    "America/Havana",
    "America/Sao_Paulo",
    "America/St_Johns",
    "America/Toronto",
    "Africa/Monrovia",
    "Asia/Amman",
    "Asia/Beirut",
    "Asia/Gaza",
    "Asia/Pyongyang",
    "Atlantic/Azores",
    "Australia/Lord_Howe",
    "Europe/Amsterdam",
    "Pacific/Apia",
    "Pacific/Kwajalein",
)
AROUND_MIDNIGHT = (
    "0 0 * * *",
    "1 0,23 * * *",
    "*/20 * * * *",
    "0 * * * *",
    "0,59 0-1,23 * * *",
    "*/7 0,23 * * *",
    "* 23 * * *",
    "30 23 * * 6,0",
    "0 10 30 * *",
)


def between(schedule: Schedule, first_s: int, last_s: int) -> list[datetime]:
    """The instants in (first_s, last_s], each of them asked for alone."""
    found: list[datetime] = []
    instant_s = schedule.nominals.after(first_s)
    while instant_s <= last_s:
        found.append(to_datetime(instant_s))
        instant_s = schedule.nominals.after(instant_s)
    return found


def walked(schedule: Schedule, first_s: int, last_s: int) -> list[datetime]:
    """The same by walking onwards."""
    found: list[datetime] = []
    for instant in schedule.nominals_after(to_datetime(first_s)):
        if to_seconds(instant) > last_s:
            return found
        found.append(instant)
    raise AssertionError("the walk ended")


def walked_back(schedule: Schedule, first_s: int, last_s: int) -> list[datetime]:
    """The same by walking backwards."""
    found: list[datetime] = []
    for instant in schedule.nominals_before(to_datetime(last_s + 1)):
        if to_seconds(instant) <= first_s:
            return found[::-1]
        found.append(instant)
    raise AssertionError("the walk ended")


@pytest.mark.parametrize("zone", MIDNIGHT_ZONES)
def test_a_walk_through_a_midnight_that_is_moved_misses_and_repeats_nothing(zone: str) -> None:
    changes = [instant_s for instant_s, _ in offset_changes(zone) if instant_s > -(2 * 10**9)]
    assert changes
    for change_s in changes[:: max(1, len(changes) // (12 * SOAK))]:
        first_s, last_s = change_s - 3 * DAY_S, change_s + 3 * DAY_S
        for expression in AROUND_MIDNIGHT:
            schedule = parse_schedule(f"{expression} @tz({zone})")
            expected = between(schedule, first_s, last_s)
            assert walked(schedule, first_s, last_s) == expected
            assert walked_back(schedule, first_s, last_s) == expected


@pytest.mark.heavy
@pytest.mark.parametrize("chunk", range(4))
def test_what_was_asked_before_never_shows_in_an_answer(chunk: int) -> None:
    random = Random(f"walk {chunk}")
    zones = random_zones(random)
    for _ in range(60 * SOAK):
        zone = next(zones)
        schedule, _ = random_schedule(random, zone)
        near_s = near_change(random, zone)
        moment = to_datetime(anywhere(random) if near_s is None else near_s)
        for _ in range(60):
            moment = moved(random, moment)
            if random.random() < 0.5:
                expected_s = schedule.nominals.after(to_seconds(moment))
                answer = schedule.next_nominal(moment)
            else:
                expected_s = schedule.nominals.at_or_before(to_seconds(moment))
                answer = schedule.prev_nominal(moment)
            assert answer == to_datetime(expected_s)
            if random.random() < 0.7 and 1910 < answer.year < 2100:
                moment = answer


def moved(random: Random, moment: datetime) -> datetime:
    """A moment that stays, or a little or a lot before or after."""
    spread_s = random.choice((0, 0, 0, 1, 1, 2, 61, 3_700, 90_000, 10**7))
    seconds = random.choice((spread_s, -spread_s, random.uniform(-spread_s, spread_s)))
    there = moment + timedelta(seconds=seconds)
    return there if 1910 < there.year < 2100 else datetime(2026, 3, 1, tzinfo=UTC)


def test_before_the_first_whole_minute_after_a_gap_its_instant_is_still_to_come() -> None:
    # Liberia skipped 44 minutes and 30 seconds after midnight; 00:45 was its first whole minute.
    schedule = parse_schedule("30 0 * * * @tz(Africa/Monrovia)")
    first_minute = datetime(1972, 1, 7, 0, 45, tzinfo=UTC)
    day_before = datetime(1972, 1, 6, 0, 30, tzinfo=UTC) + timedelta(minutes=44, seconds=30)
    assert schedule.prev_nominal(first_minute) == first_minute
    assert schedule.prev_nominal(first_minute - timedelta(seconds=5)) == day_before
    assert schedule.next_nominal(first_minute - timedelta(seconds=5)) == first_minute
