"""Cron resolution agrees with cronsim, and where the two differ, with the rule read by brute force.

cronsim has faults of its own: hour ticks that land off the hour where a shift is no whole hour,
answers for hours that a gap swallowed, a second showing of midnight skipped backwards, loops that
never end. None of them is excused by a rule here. Every single difference is put to brute force.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim

from kron import KronError, Schedule
from tests.core.brute_force import BruteForce
from tests.core.random_cron import (
    NEAR_S,
    RARE_YEARS,
    anywhere,
    near_change,
    random_schedule,
    random_zones,
)
from tests.core.tzif import ZONES, offset_changes
from tests.soak import SOAK

CHUNKS = 10
CASES = 2_000 * SOAK
"""In each chunk: 20,000 cases together, each of them compared forwards and backwards."""

DISAGREEMENTS = 2 * CASES // 200
"""Of the answers, two to a case, cronsim may get one in 200 wrong; more is no oracle."""

BRUTE_FORCED = 40 * SOAK
SECOND = timedelta(seconds=1)


class Stuck(Exception):  # noqa: N818 (an outcome, not an error)
    """cronsim does not come to an end."""


class Oracle(CronSim):
    """cronsim, stopped when it loops."""

    ticks = 0

    def tick(self, seconds: int = 1) -> None:
        self.ticks += 1
        if self.ticks > 20_000:
            raise Stuck
        super().tick(seconds)


@pytest.mark.heavy
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_agrees_with_cronsim_forwards_and_backwards_in_every_zone(chunk: int) -> None:
    random = Random(f"oracle {chunk}")
    zones = random_zones(random)
    compared = near = disagreements = given_up = 0
    zones_seen: set[str] = set()
    while compared < CASES:
        zone = next(zones)
        instant_s = near_change(random, zone) if near * 2 <= compared else anywhere(random)
        if instant_s is None:
            instant_s = anywhere(random)
        start = datetime.fromtimestamp(instant_s, ZoneInfo(zone))
        schedule, expression = random_schedule(random, zone)
        if _shown_twice(start):
            continue  # started there, cronsim may answer with an instant in the past
        try:
            answers = [
                (_oracle_next(expression, start), schedule.next_nominal(start), _next_by_force),
                (
                    _oracle_prev(expression, start),
                    schedule.prev_nominal(start - SECOND),
                    _prev_by_force,
                ),
            ]
        except StopIteration:
            given_up += 1  # cronsim looks no further than fifty years
            continue
        except KronError:
            if start.year > RARE_YEARS + 1900:
                raise
            given_up += 1  # the previous one was before 1900
            continue
        compared += 1
        near += _is_near_change(zone, instant_s)
        zones_seen.add(zone)
        for theirs, ours, by_force in answers:
            if theirs != ours:
                disagreements += 1
                where = f"{expression!r} in {zone} from {start.isoformat()}: cronsim says {theirs}"
                assert not schedule.cron.is_fixed, f"{where}, we {ours}"
                assert by_force(BruteForce(expression, zone), start, ours) == ours, where
    print(f"{compared} compared, {near} near a change, {disagreements} went to brute force")
    assert compared == CASES
    assert near * 2 >= CASES
    assert zones_seen == set(ZONES)
    assert disagreements <= DISAGREEMENTS
    assert given_up <= CASES // 50


@pytest.mark.heavy
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_agrees_with_brute_force_on_every_instant_around_a_change_of_the_clock(chunk: int) -> None:
    random = Random(f"brute force {chunk}")
    zones = random_zones(random)
    compared = found = 0
    while compared < BRUTE_FORCED:
        zone = next(zones)
        middle_s = near_change(random, zone)
        if middle_s is None:
            continue
        schedule, expression = random_schedule(random, zone)
        first_s, end_s = middle_s - NEAR_S, middle_s + NEAR_S
        expected = list(BruteForce(expression, zone).between(first_s, end_s))
        where = f"{expression!r} in {zone} between {first_s} and {end_s}"
        assert _walk_forwards(schedule, first_s, end_s) == expected, where
        assert _walk_backwards(schedule, first_s, end_s) == expected, where
        assert schedule.nominals.count(first_s - 1, end_s - 1) == len(expected), where
        compared += 1
        found += len(expected)
    assert found > 20 * compared, "the expressions hardly ever match"


def _shown_twice(start: datetime) -> bool:
    return start.replace(fold=0).utcoffset() != start.replace(fold=1).utcoffset()


def _is_near_change(zone: str, instant_s: int) -> bool:
    return any(abs(change_s - instant_s) <= NEAR_S for change_s, _ in offset_changes(zone))


def _oracle_next(expression: str, start: datetime) -> datetime | None:
    return _answer(lambda: next(Oracle(expression, start)))


def _oracle_prev(expression: str, start: datetime) -> datetime | None:
    return _answer(lambda: next(Oracle(expression, start, reverse=True)))


def _answer(ask: Callable[[], datetime]) -> datetime | None:
    try:
        return ask().astimezone(UTC)
    except Stuck:
        return None


def _next_by_force(brute_force: BruteForce, start: datetime, ours: datetime) -> datetime | None:
    found_s = brute_force.next(_seconds(start), _seconds(ours))
    return None if found_s is None else datetime.fromtimestamp(found_s, UTC)


def _prev_by_force(brute_force: BruteForce, start: datetime, ours: datetime) -> datetime | None:
    found_s = brute_force.prev(_seconds(start) - 1, _seconds(ours))
    return None if found_s is None else datetime.fromtimestamp(found_s, UTC)


def _walk_forwards(schedule: Schedule, first_s: int, end_s: int) -> list[int]:
    found: list[int] = []
    for nominal in schedule.nominals_after(datetime.fromtimestamp(first_s - 1, UTC)):
        if _seconds(nominal) >= end_s:
            return found
        assert not found or _seconds(nominal) > found[-1], "the walk turned back"
        found.append(_seconds(nominal))
    raise AssertionError("the walk ended")


def _walk_backwards(schedule: Schedule, first_s: int, end_s: int) -> list[int]:
    found: list[int] = []
    for nominal in schedule.nominals_before(datetime.fromtimestamp(end_s, UTC)):
        if _seconds(nominal) < first_s:
            return found[::-1]
        assert not found or _seconds(nominal) < found[-1], "the walk turned back"
        found.append(_seconds(nominal))
    raise AssertionError("the walk ended")


def _seconds(moment: datetime) -> int:
    return int(moment.timestamp())
