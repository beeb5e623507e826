"""Gaps: the shortest time between two consecutive periods of the coming year, with an example.

Away from changes of the clocks a gap is one between two wall times, and the shortest of those
follows from the fields alone. Near a change the nominal instants themselves are asked.
"""

from __future__ import annotations

from collections.abc import Iterator

from kron.core.cron import Cron
from kron.core.frozen import Frozen
from kron.core.instant import DAY_S
from kron.core.schedule import Schedule
from kron.jobs.advice.year import Year, least_spacing, positions

_DAYS_TRIED = 5
_PERIODS_TRIED = 60


class Gap(Frozen):
    """Two consecutive nominal instants."""

    first_s: int
    second_s: int

    @property
    def seconds(self) -> int:
        """The time between them."""
        return self.second_s - self.first_s


class _WallGap(Frozen):
    """A time of day, and how long after it the next match is."""

    from_s: int
    seconds: int
    days: int
    """The days that it can begin on, as a mask of the year."""


def gap_below(schedule: Schedule, year: Year, limit_s: int) -> Gap | None:
    """The shortest gap of the coming year if it is shorter than `limit_s`, else None."""
    # A change of the clocks shortens a gap by as much as they are set, and less than a minute.
    changes = year.changes(schedule.zone)
    shift_s = max((abs(change.after_s - change.before_s) + 60 for change in changes), default=0)
    bound_s = shortest_wall_gap_s(schedule.cron, year)
    if bound_s and bound_s - shift_s >= limit_s:
        return None
    gap = shortest_gap(schedule, year)
    return gap if gap is not None and gap.seconds < limit_s else None


def shortest_wall_gap_s(cron: Cron, year: Year) -> int:
    """The shortest gap on a clock that nobody sets; 0 if the year has fewer than two matches."""
    gaps_s = _gaps_s(cron.hour.mask, cron.minute.mask, year.cron_days(cron))
    return min(filter(None, gaps_s), default=0)


def shortest_gap(schedule: Schedule, year: Year) -> Gap | None:
    """The shortest gap between coming periods; None if Kron's years have no two of them left."""
    days = year.cron_days(schedule.cron) & year.coming(schedule.zone)
    gaps = list(_gaps_near_changes(schedule, year))
    for wall_gap in sorted(_wall_gaps(schedule.cron, days), key=lambda gap: gap.seconds):
        if example := _example(schedule, year, wall_gap):
            gaps.append(example)
            break
    else:
        gaps += _next_gaps(schedule, year)
    return min(gaps, key=lambda gap: (gap.seconds, gap.first_s), default=None)


def _wall_gaps(cron: Cron, days: int) -> Iterator[_WallGap]:
    """The shortest gaps within an hour, between hours and between days, as far as there are any."""
    hours, minutes = cron.hour.mask, cron.minute.mask
    within_s, between_hours_s, between_days_s = _gaps_s(hours, minutes, days)
    last_minute = minutes.bit_length() - 1
    if within_s:
        minute = _lowest(minutes & minutes >> within_s // 60)
        yield _WallGap(_lowest(hours) * 3600 + minute * 60, within_s, days)
    if between_hours_s:
        hour = _lowest(hours & hours >> least_spacing(hours))
        yield _WallGap(hour * 3600 + last_minute * 60, between_hours_s, days)
    if between_days_s:
        from_s = (hours.bit_length() - 1) * 3600 + last_minute * 60
        yield _WallGap(from_s, between_days_s, days & days >> least_spacing(days))


def _gaps_s(hours: int, minutes: int, days: int) -> tuple[int, int, int]:
    """How long those are; 0 for one that there is not."""
    within_s = least_spacing(minutes) * 60
    wrap_s = (_lowest(minutes) - minutes.bit_length() + 1) * 60
    between_hours_s = between_days_s = 0
    if spacing := least_spacing(hours):
        between_hours_s = spacing * 3600 + wrap_s
    if spacing := least_spacing(days):
        hours_s = (_lowest(hours) - hours.bit_length() + 1) * 3600
        between_days_s = spacing * DAY_S + hours_s + wrap_s
    return within_s, between_hours_s, between_days_s


def _example(schedule: Schedule, year: Year, wall_gap: _WallGap) -> Gap | None:
    """The first time that the gap occurs as it is; None if a change of the clocks spoils it."""
    nominals = schedule.nominals
    for position, _ in zip(positions(wall_gap.days), range(_DAYS_TRIED), strict=False):
        wall_s = year.day(position) * DAY_S + wall_gap.from_s
        first_s = wall_s - schedule.zone.first_span_showing(wall_s).offset_s
        if first_s > year.now_s and nominals.after(first_s - 1) == first_s:
            second_s = nominals.after(first_s)
            if second_s - first_s == wall_gap.seconds:
                return Gap(first_s, second_s)
    return None


def _next_gaps(schedule: Schedule, year: Year) -> Iterator[Gap]:
    second_s = schedule.nominals.after(year.now_s)
    for _ in range(_PERIODS_TRIED):
        first_s, second_s = second_s, schedule.nominals.after(second_s)
        yield Gap(first_s, second_s)
        if second_s > year.end_s:
            break


def _gaps_near_changes(schedule: Schedule, year: Year) -> Iterator[Gap]:
    """The gap across each change, and the next: what a change loses may be made up for at once."""
    nominals = schedule.nominals
    for change in year.changes(schedule.zone):
        first_s = nominals.at_or_before(change.at_s - 1)
        for _ in range(2):
            second_s = nominals.after(first_s)
            if first_s > year.now_s and second_s <= year.end_s:
                yield Gap(first_s, second_s)
            first_s = second_s


def _lowest(mask: int) -> int:
    return (mask & -mask).bit_length() - 1
