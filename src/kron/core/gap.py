"""Gaps: the shortest and the longest time between two consecutive periods of the coming year.

Away from changes of the clocks a gap is one between two wall times, and the shortest of those
follows from the fields alone. Near a change the nominal instants themselves are asked. That takes
0.03 to 0.08 ms for a schedule; a walk over the year takes 2 to 4 ms, and lint asks for most lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

from kron.core.bits import least_spacing, lowest, positions
from kron.core.cron import Cron
from kron.core.errors import KronError
from kron.core.frozen import Frozen
from kron.core.instant import DAY_S
from kron.core.schedule import Schedule
from kron.core.year import DAYS, Year
from kron.core.zone import Zone

_DAYS_TRIED = 5


class Gap(Frozen):
    """Two consecutive nominal instants."""

    first_s: int
    second_s: int

    @property
    def seconds(self) -> int:
        return self.second_s - self.first_s


def gap_below(schedule: Schedule, year: Year, limit_s: int) -> Gap | None:
    """The shortest gap of the coming year if it is shorter than `limit_s`, else None."""
    # A change of the clocks shortens a gap by as much as they are set, and less than a minute.
    changes = year.clock_changes(schedule.zone)
    shift_s = max((abs(change.after_s - change.before_s) + 60 for change in changes), default=0)
    bound_s = shortest_wall_gap_s(schedule, year)
    if bound_s and bound_s - shift_s >= limit_s:
        return None
    gap = shortest_gap(schedule, year)
    return gap if gap is not None and gap.seconds < limit_s else None


def shortest_wall_gap_s(schedule: Schedule, year: Year) -> int:
    """The shortest gap on a clock that never changes; 0 if the year has fewer than two matches."""
    gaps = _wall_gaps(schedule.cron, year.matching_days(schedule))
    return min((gap_s for gap_s, _, _ in gaps), default=0)


def shortest_gap(schedule: Schedule, year: Year) -> Gap | None:
    """The shortest gap between coming periods; None if Kron's years have no two of them left."""
    nominals = schedule.nominals
    gaps = []
    with suppress(KronError):  # a schedule that ends within the years that Kron covers
        for first_s in _starts(schedule, year):
            second_s = nominals.after(first_s)
            if first_s > year.now_s and second_s <= year.end_s:
                gaps.append(Gap(first_s, second_s))
        if not gaps:
            first_s = nominals.after(year.now_s)
            gaps.append(Gap(first_s, nominals.after(first_s)))
    return min(gaps, key=lambda gap: gap.seconds, default=None)


def longest_gap_s(schedule: Schedule, year: Year) -> int:
    """The longest gap between coming periods; 0 if Kron's years have no two of them left.

    A gap crosses a midnight, and all midnights are looked at, or lies within a day. All days with
    periods have the same gaps within them, so one is walked, and those on which the clocks change.
    """
    nominals, zone = schedule.nominals, schedule.zone
    longest_s = 0
    is_one_walked = False
    today = year.today(zone)
    midnight_s = _midnight_s(zone, today)
    with suppress(KronError):  # a schedule that ends within the years that Kron covers
        for day in range(today, today + DAYS):
            start_s, midnight_s = midnight_s, _midnight_s(zone, day + 1)
            second_s = nominals.after(start_s - 1)
            longest_s = max(longest_s, second_s - nominals.at_or_before(start_s - 1))
            is_usual = midnight_s - start_s == DAY_S
            if second_s >= midnight_s or (is_usual and is_one_walked):
                continue
            is_one_walked |= is_usual
            while second_s < midnight_s:
                first_s, second_s = second_s, nominals.after(second_s)
                longest_s = max(longest_s, second_s - first_s)
    return longest_s


def _midnight_s(zone: Zone, day: int) -> int:
    """When a day begins, also if its midnight is skipped."""
    span = zone.first_span_showing(day * DAY_S)
    return max(day * DAY_S - span.offset_s, span.start_s)


def _starts(schedule: Schedule, year: Year) -> Iterator[int]:
    """Nominal instants among which the shortest gap of the coming year begins."""
    nominals, zone = schedule.nominals, schedule.zone
    days = year.matching_days(schedule) & year.coming(zone)
    for _, from_s, starting_days in _wall_gaps(schedule.cron, days):
        # More than one day is tried, because a change of the clocks may spoil the first.
        for position in islice(positions(starting_days), _DAYS_TRIED):
            wall_s = year.day(position) * DAY_S + from_s
            yield nominals.after(wall_s - zone.first_span_showing(wall_s).offset_s - 1)
    for change in year.clock_changes(zone):
        # The gap across a change, and the next: what a change loses may be made up for at once.
        first_s = nominals.at_or_before(change.at_s - 1)
        yield first_s
        yield nominals.after(first_s)


def _wall_gaps(cron: Cron, days: int) -> Iterator[tuple[int, int, int]]:
    """The shortest gaps within an hour, between hours and between days: how long they are, and
    after which time of day, on which days, they begin."""
    hours, minutes = cron.hour.mask, cron.minute.mask
    first_hour_s, first_minute_s = lowest(hours) * 3600, lowest(minutes) * 60
    last_hour_s, last_minute_s = (hours.bit_length() - 1) * 3600, (minutes.bit_length() - 1) * 60
    if spacing := least_spacing(minutes):
        minute_s = lowest(minutes & minutes >> spacing) * 60
        yield spacing * 60, first_hour_s + minute_s, days
        yield spacing * 60, last_hour_s + minute_s, days  # a change may have lost the first hour
    if spacing := least_spacing(hours):
        hour_s = lowest(hours & hours >> spacing) * 3600
        yield spacing * 3600 + first_minute_s - last_minute_s, hour_s + last_minute_s, days
    if spacing := least_spacing(days):
        last_s = last_hour_s + last_minute_s
        gap_s = spacing * DAY_S + first_hour_s + first_minute_s - last_s
        yield gap_s, last_s, days & days >> spacing
