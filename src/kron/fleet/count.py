"""Counting: every firing of every job over the coming weeks, in UTC, exactly.

Most days are plain: the clock is not set, and a job is due at the same minutes on each that it
matches. Such days are gathered as bit masks, alike ones together, and counted at the end. The
other days, and the periods whose window reaches over an edge, are asked for one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kron.core.instant import DAY_S
from kron.core.zone import Span
from kron.engine.job import Job
from kron.engine.survey import nominals_after
from kron.fleet.firing import chosen_s
from kron.fleet.minutes import DayPlan, Sorted, minute_range
from kron.fleet.tally import HOUR_S, MINUTE_S, WEEK_S, Tally, second_of_week

_MOST_PATTERNS = 50_000
"""How many kinds of day are gathered before they are counted, which bounds the memory."""


def count_firings(
    jobs: Iterable[Job],
    from_s: int,
    weeks: int,
    *,
    by_minute: bool = False,
    progress: Callable[[], None] | None = None,
) -> Tally:
    """How often the jobs fire in each hour, or minute, of the week, over `weeks` weeks.

    Suspended jobs fire nothing. `progress` is called after each job.
    """
    slot_s = MINUTE_S if by_minute else HOUR_S
    counter = _Counter(from_s, from_s + weeks * WEEK_S, slot_s)
    counted = suspended = 0
    for job in jobs:
        if job.schedule.policy.suspend:
            suspended += 1
        else:
            counted += 1
            counter.add(job)
        if progress is not None:
            progress()
    return Tally(from_s, weeks, slot_s, tuple(counter.total()), counted, suspended)


class _Counter:
    """Adds up jobs, one after the other."""

    def __init__(self, from_s: int, until_s: int, slot_s: int) -> None:
        self._from_s = from_s
        self._until_s = until_s
        self._slot_s = slot_s
        self._slots = [0] * (WEEK_S // slot_s)
        # (minutes, the second of the week that they count from) -> how many such days there are
        self._patterns: dict[tuple[int, int], int] = {}

    def add(self, job: Job) -> None:
        """Count every firing of a job."""
        plan = DayPlan(job.schedule, self._slot_s)
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
                self._add_each(job, at_s, stop_s)
                at_s = stop_s
                continue
            if days.at_or_after(day) == day:
                minutes = plan.minutes(day, midnight_s)
                self._add_day(job, minutes, midnight_s, at_s)
            at_s = tomorrow_s
        if len(self._patterns) > _MOST_PATTERNS:
            self._count_patterns()

    def total(self) -> list[int]:
        """The firings by slot."""
        self._count_patterns()
        return self._slots

    def _add_day(self, job: Job, minutes: Sorted, midnight_s: int, at_s: int) -> None:
        """Count the periods of a plain day that are due at `at_s` or later."""
        known, undecided = minutes.known, minutes.undecided
        first_s, last_s = midnight_s - job.lead_s, midnight_s + DAY_S + job.trail_s
        if first_s < self._from_s or last_s >= self._until_s or at_s > midnight_s:
            inside, touching = self._inside(job, midnight_s, at_s)
            undecided = (known & ~inside | undecided) & touching
            known &= inside
        if known:
            key = (known, second_of_week(midnight_s - job.lead_s))
            self._patterns[key] = self._patterns.get(key, 0) + 1
        while undecided:
            minute = (undecided & -undecided).bit_length() - 1
            undecided &= undecided - 1
            self._add_period(job, midnight_s + 60 * minute)

    def _inside(self, job: Job, midnight_s: int, at_s: int) -> tuple[int, int]:
        """The minutes whose windows lie inside what is counted, and those whose windows touch it.

        Both only from `at_s` on.
        """

        def minutes(first_s: int, end_s: int) -> int:
            first_s = max(first_s, at_s)
            return minute_range(-((midnight_s - first_s) // 60), -((midnight_s - end_s) // 60))

        return (
            minutes(self._from_s + job.lead_s, self._until_s - job.trail_s),
            minutes(self._from_s - job.trail_s, self._until_s + job.lead_s),
        )

    def _add_each(self, job: Job, first_s: int, end_s: int) -> None:
        """Count the periods that are due in [first_s, end_s), asking for each."""
        for nominal_s in nominals_after(job, first_s - 1):
            if nominal_s >= end_s:
                return
            self._add_period(job, nominal_s)

    def _add_period(self, job: Job, nominal_s: int) -> None:
        fired_s = chosen_s(job, nominal_s)
        if fired_s is not None and self._from_s <= fired_s < self._until_s:
            self._slots[second_of_week(fired_s) // self._slot_s] += 1

    def _count_patterns(self) -> None:
        slots, slot_s = self._slots, self._slot_s
        size = len(slots)
        for (minutes, first_s), days in self._patterns.items():
            minute, rest = 0, minutes
            while rest:
                skipped = (rest & -rest).bit_length() - 1
                minute += skipped
                rest >>= skipped
                slot = (first_s + 60 * minute) // slot_s
                in_slot = -(-((slot + 1) * slot_s - first_s) // 60) - minute
                slots[slot % size] += days * (rest & (1 << in_slot) - 1).bit_count()
                minute += in_slot
                rest >>= in_slot
        self._patterns.clear()


def _is_plain(span: Span, midnight_s: int) -> bool:
    """Whether the day that begins then is shown once, in full, and only its own times fall on it.

    Where the clock is set forward to midnight, what was due before is made up for in this day's
    first minute.
    """
    is_shown_once = span.plain_from_s <= midnight_s <= span.plain_until_s
    return is_shown_once and midnight_s - span.start_s >= 60
