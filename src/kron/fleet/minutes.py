"""The minutes of a plain day at which a job is due, as bit masks, and which need no draw.

A day is plain when its clock is not set. Where a period's window lies within one slot of the
tally, and the constraints accept all of it or nothing of it, it is known without a draw what the
period counts for. That makes a year of a job that runs every minute a matter of milliseconds.
"""

from __future__ import annotations

from functools import lru_cache

from kron.core.constraint import MINUTES_A_DAY, Filter
from kron.core.frozen import Frozen
from kron.core.schedule import Schedule

_EVERY_MINUTE = (1 << MINUTES_A_DAY) - 1
_EVERY_HOUR = sum(1 << 60 * hour for hour in range(24))
_LONGEST_KNOWN_MINUTES = 61
"""A window that touches more minutes of the clock lies in no hour."""


class Sorted(Frozen):
    """The minutes of a day at which periods are due, by what it takes to count them."""

    known: int
    """These fire in the slot in which their window begins."""
    undecided: int
    """These need a decision. The others are due at no second that is accepted."""


class DayPlan:
    """What every plain day of a schedule looks like."""

    def __init__(self, schedule: Schedule, slot_s: int) -> None:
        self._due = _due_minutes(schedule.cron.hour.mask, schedule.cron.minute.mask)
        self._start_s = schedule.start_offset_s
        self._end_s = schedule.start_offset_s + schedule.width_s
        self._slot_s = slot_s
        self._filter = schedule.time_filter
        self._sorted: dict[tuple[int, bool], Sorted] = {}

    def minutes(self, day: int, midnight_s: int) -> Sorted:
        """The minutes of a day that matches, which begins at that instant."""
        is_accepted = self._filter is None or self._filter.accepts_day(day)
        key = (midnight_s % self._slot_s, is_accepted)
        found = self._sorted.get(key)
        if found is None:
            found = self._sorted[key] = self._sort(*key)
        return found

    def _sort(self, phase_s: int, is_accepted: bool) -> Sorted:
        in_one_slot = _in_one_slot(phase_s, self._start_s, self._end_s, self._slot_s)
        if self._filter is None:
            return Sorted(self._due & in_one_slot, self._due & ~in_one_slot)
        # The clock moves on evenly within a plain day, so candidates are so many minutes away.
        first, last = self._start_s // 60, self._end_s // 60
        if last - first >= _LONGEST_KNOWN_MINUTES:
            return Sorted(0, self._due)
        same_day = minute_range(-first, MINUTES_A_DAY - last)
        if not is_accepted:
            return Sorted(0, self._due & ~same_day)
        accepted = _accepted_minutes(self._filter)
        everywhere, somewhere = _EVERY_MINUTE, 0
        for offset in range(first, last + 1):
            there = accepted >> offset if offset >= 0 else accepted << -offset & _EVERY_MINUTE
            everywhere &= there
            somewhere |= there
        known = self._due & in_one_slot & everywhere
        nowhere = same_day & ~somewhere
        return Sorted(known, self._due & ~known & ~nowhere)


def minute_range(first: int, end: int) -> int:
    """The minutes of the day in [first, end), which may reach beyond the day."""
    first, end = max(first, 0), min(max(end, 0), MINUTES_A_DAY)
    return ((1 << end) - 1) >> first << first


@lru_cache(maxsize=1024)
def _due_minutes(hour_mask: int, minute_mask: int) -> int:
    return sum(minute_mask << 60 * hour for hour in range(24) if hour_mask >> hour & 1)


@lru_cache(maxsize=1024)
def _in_one_slot(phase_s: int, start_s: int, end_s: int, slot_s: int) -> int:
    """The minutes whose window lies in one slot: the same ones in each hour of the day."""
    begin_s, last_s = phase_s + start_s, phase_s + end_s
    an_hour = sum(
        1 << minute
        for minute in range(60)
        if (begin_s + 60 * minute) // slot_s == (last_s + 60 * minute) // slot_s
    )
    return an_hour * _EVERY_HOUR


def _accepted_minutes(time_filter: Filter) -> int:
    runs_s = time_filter.accepted_seconds()
    return sum(minute_range(first_s // 60, end_s // 60) for first_s, end_s in runs_s)
