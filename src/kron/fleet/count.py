"""Counting: every firing of every job over the coming weeks, in UTC, exactly.

Most days are plain: the clock does not change, and a job is due at the same minutes on each day
that it matches. Such days are collected as bit masks, equal ones together, and counted at the end.
The periods of other days, and those whose window reaches over an edge, are decided one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from kron.core.bits import positions
from kron.core.constraint import MINUTES_A_DAY
from kron.core.decision import decide_at
from kron.core.instant import DAY_S
from kron.core.schedule import Schedule
from kron.core.zone import Span
from kron.engine.job import Job
from kron.engine.survey import nominals_between
from kron.fleet.tally import HOUR_S, MINUTE_S, WEEK_S, Tally, second_of_week

_EVERY_MINUTE = (1 << MINUTES_A_DAY) - 1
_EVERY_HOUR = sum(1 << 60 * hour for hour in range(24))
_LONGEST_KNOWN_MINUTES = 61
"""A window that touches more minutes of the clock does not fit into an hour."""

_MOST_PATTERNS = 50_000
"""How many kinds of day are collected before they are counted, which bounds the memory."""

_Minutes = tuple[int, int]
"""Minutes of the day at which periods are due, as masks: those that fire in the slot in which their
window begins, and those that need a decision. All others have no accepted second."""


def firings(job: Job, from_s: int, until_s: int) -> Iterator[int]:
    """When the job runs in [from_s, until_s), in the order of its periods.

    `agenda` yields the same seconds in the order of time; counting needs no order.
    """
    if job.schedule.policy.suspend:
        return
    for nominal_s in nominals_between(job, from_s - job.trail_s, until_s + job.lead_s):
        fired_s = _chosen_s(job, nominal_s)
        if fired_s is not None and from_s <= fired_s < until_s:
            yield fired_s


def count_firings(
    jobs: Iterable[Job],
    from_s: int,
    weeks: int,
    *,
    by_minute: bool = False,
    progress: Callable[[], None] | None = None,
) -> Tally:
    """How often the jobs fire in each hour, or minute, of the week, over `weeks` weeks.

    Suspended jobs never fire. `progress` is called after each job.
    """
    slot_s = MINUTE_S if by_minute else HOUR_S
    counter = _Counter(from_s, from_s + weeks * WEEK_S, slot_s)
    counted = suspended = at_boot = 0
    for job in jobs:
        if job.schedule.policy.suspend:
            suspended += 1
        elif job.schedule.is_at_boot:
            at_boot += 1
        else:
            counted += 1
            counter.add(job)
        if progress is not None:
            progress()
    return Tally(from_s, weeks, slot_s, tuple(counter.total()), counted, suspended, at_boot)


class _Counter:
    """Adds up the firings of jobs, one job after the other."""

    def __init__(self, from_s: int, until_s: int, slot_s: int) -> None:
        self._from_s = from_s
        self._until_s = until_s
        self._slot_s = slot_s
        self._slots = [0] * (WEEK_S // slot_s)
        # (minutes, the second of the week that they count from) -> the number of such days
        self._patterns: dict[tuple[int, int], int] = {}

    def add(self, job: Job) -> None:
        plan = _DayPlan(job.schedule, self._slot_s)
        zone, days = job.schedule.zone, job.schedule.nominals.wall.days
        at_s = self._from_s - job.trail_s
        end_s = self._until_s + job.lead_s
        while at_s < end_s:
            span = zone.span_at(at_s)
            day = (at_s + span.offset_s) // DAY_S
            midnight_s = day * DAY_S - span.offset_s
            tomorrow_s = midnight_s + DAY_S
            if not _is_plain(span, midnight_s):
                stop_s = min(span.end_s, tomorrow_s, end_s)
                for nominal_s in nominals_between(job, at_s, stop_s):
                    self._add_period(job, nominal_s)
                at_s = stop_s
                continue
            if days.at_or_after(day) == day:
                minutes = plan.minutes(day, midnight_s)
                self._add_day(job, minutes, midnight_s, at_s)
            at_s = tomorrow_s
        if len(self._patterns) > _MOST_PATTERNS:
            self._count_patterns()

    def total(self) -> list[int]:
        self._count_patterns()
        return self._slots

    def _add_day(self, job: Job, minutes: _Minutes, midnight_s: int, at_s: int) -> None:
        """Count the periods of a plain day that are due at `at_s` or later."""
        known, undecided = minutes
        first_s, last_s = midnight_s - job.lead_s, midnight_s + DAY_S + job.trail_s
        if first_s < self._from_s or last_s >= self._until_s or at_s > midnight_s:
            inside, touching = self._inside(job, midnight_s, at_s)
            undecided = (known & ~inside | undecided) & touching
            known &= inside
        if known:
            key = (known, second_of_week(midnight_s - job.lead_s))
            self._patterns[key] = self._patterns.get(key, 0) + 1
        for minute in positions(undecided):
            self._add_period(job, midnight_s + 60 * minute)

    def _inside(self, job: Job, midnight_s: int, at_s: int) -> tuple[int, int]:
        """The minutes whose windows lie inside what is counted, and those whose windows touch it.

        Both only from `at_s` on.
        """

        def minutes(first_s: int, end_s: int) -> int:
            first_s = max(first_s, at_s)
            return _minute_range(-((midnight_s - first_s) // 60), -((midnight_s - end_s) // 60))

        return (
            minutes(self._from_s + job.lead_s, self._until_s - job.trail_s),
            minutes(self._from_s - job.trail_s, self._until_s + job.lead_s),
        )

    def _add_period(self, job: Job, nominal_s: int) -> None:
        fired_s = _chosen_s(job, nominal_s)
        if fired_s is not None and self._from_s <= fired_s < self._until_s:
            self._slots[second_of_week(fired_s) // self._slot_s] += 1

    def _count_patterns(self) -> None:
        for (minutes, first_s), days in self._patterns.items():
            for minute in positions(minutes):
                slot = (first_s + 60 * minute) // self._slot_s
                self._slots[slot % len(self._slots)] += days
        self._patterns.clear()


def _is_plain(span: Span, midnight_s: int) -> bool:
    """Whether the clock shows the whole day that begins then exactly once, and no other times.

    If the clock goes forward to midnight, the skipped periods run in this day's first minute.
    """
    is_shown_once = span.plain_from_s <= midnight_s <= span.plain_until_s
    return is_shown_once and midnight_s - span.start_s >= 60


def _chosen_s(job: Job, nominal_s: int) -> int | None:
    """When the period runs; None if it is unschedulable."""
    schedule = job.schedule
    if schedule.law is None and schedule.constraints.is_empty:
        return nominal_s + schedule.start_offset_s  # nothing to draw and nothing to reject
    return decide_at(schedule, job.identity, nominal_s).chosen_s


class _DayPlan:
    """The minutes of a plain day at which a schedule is due, and which of them need no draw.

    If a period's window lies within one slot of the tally, and the constraints accept all of it or
    none of it, its count is known without a draw. So a year of a job that runs every minute takes
    milliseconds.
    """

    def __init__(self, schedule: Schedule, slot_s: int) -> None:
        self._due = schedule.nominals.wall.minutes_of_day
        self._start_s = schedule.start_offset_s
        self._end_s = schedule.start_offset_s + schedule.width_s
        self._slot_s = slot_s
        self._constraints = schedule.constraints
        self._known: dict[tuple[int, bool], _Minutes] = {}

    def minutes(self, day: int, midnight_s: int) -> _Minutes:
        """The minutes of a day that matches, which begins at that instant."""
        is_accepted = self._constraints.accepts_day(day)
        key = (midnight_s % self._slot_s, is_accepted)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._sort(*key)
        return found

    def _sort(self, phase_s: int, is_accepted: bool) -> _Minutes:
        in_one_slot = _in_one_slot(phase_s, self._start_s, self._end_s, self._slot_s)
        if self._constraints.is_empty:
            return (self._due & in_one_slot, self._due & ~in_one_slot)
        # On a plain day the clock runs evenly, so candidates are this many minutes away.
        first, last = self._start_s // 60, self._end_s // 60
        if last - first >= _LONGEST_KNOWN_MINUTES:
            return (0, self._due)
        same_day = _minute_range(-first, MINUTES_A_DAY - last)
        if not is_accepted:
            return (0, self._due & ~same_day)
        accepted = self._constraints.minutes
        everywhere, somewhere = _EVERY_MINUTE, 0
        for offset in range(first, last + 1):
            there = accepted >> offset if offset >= 0 else accepted << -offset & _EVERY_MINUTE
            everywhere &= there
            somewhere |= there
        known = self._due & in_one_slot & everywhere
        nowhere = same_day & ~somewhere
        return (known, self._due & ~known & ~nowhere)


def _minute_range(first: int, end: int) -> int:
    """The minutes of the day in [first, end), which may reach beyond the day."""
    first, end = max(first, 0), min(max(end, 0), MINUTES_A_DAY)
    return ((1 << end) - 1) >> first << first


@lru_cache(maxsize=1024)
def _in_one_slot(phase_s: int, start_s: int, end_s: int, slot_s: int) -> int:
    """The minutes whose window lies in one slot; the same in each hour of the day."""
    begin_s, last_s = phase_s + start_s, phase_s + end_s
    an_hour = sum(
        1 << minute
        for minute in range(60)
        if (begin_s + 60 * minute) // slot_s == (last_s + 60 * minute) // slot_s
    )
    return an_hour * _EVERY_HOUR
