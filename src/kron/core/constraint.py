"""Constraints: which wall times `@only` and `@avoid` leave.

Every clause speaks either of the day or of the minute of the day, so both modifiers together come
down to one set of allowed minutes and a few conditions on the day.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from functools import reduce
from operator import or_

from kron.core.bits import lowest
from kron.core.cron import DAY_OF_MONTH, DAY_OF_WEEK, HOUR, MONTH, FieldKind, format_values
from kron.core.frozen import Frozen, derived
from kron.core.instant import DAY_S, to_date

MINUTES_A_DAY = 1440
_EVERY_MINUTE = (1 << MINUTES_A_DAY) - 1


class ClauseKind(StrEnum):
    """What a clause speaks of. `date=` is how `dates=` writes a single day."""

    HOURS = "hours"
    DAYS_OF_WEEK = "dow"
    DAYS_OF_MONTH = "dom"
    MONTHS = "months"
    BETWEEN = "between"
    DATES = "dates"


VALUE_KINDS: dict[ClauseKind, FieldKind] = {
    ClauseKind.HOURS: HOUR,
    ClauseKind.DAYS_OF_WEEK: DAY_OF_WEEK,
    ClauseKind.DAYS_OF_MONTH: DAY_OF_MONTH,
    ClauseKind.MONTHS: MONTH,
}
"""The clauses that hold a list of numbers, with the cron field whose numbers they are."""


class Clause(Frozen):
    """One `key=value`: a mask of values, or a first and a last minute of the day or day."""

    kind: ClauseKind
    mask: int = 0
    first: int = 0
    last: int = 0

    def minutes(self) -> int:
        """A clause about the time of day as a mask of the minutes at which it holds."""
        if self.kind is ClauseKind.HOURS:
            an_hour = (1 << 60) - 1
            return sum(an_hour << 60 * hour for hour in range(24) if self.mask >> hour & 1)
        up_to_last = (2 << self.last) - 1
        from_first = _EVERY_MINUTE >> self.first << self.first
        if self.first <= self.last:
            return from_first & up_to_last
        return from_first | up_to_last  # across midnight

    def holds_on(self, day: int) -> bool:
        """Whether a clause about the day holds on that day (counted from 1970)."""
        if self.kind is ClauseKind.DAYS_OF_WEEK:
            return bool(self.mask >> (day + 4) % 7 & 1)
        if self.kind is ClauseKind.DAYS_OF_MONTH:
            return bool(self.mask >> to_date(day).day & 1)
        if self.kind is ClauseKind.MONTHS:
            return bool(self.mask >> to_date(day).month & 1)
        return self.first <= day <= self.last

    @property
    def is_about_time_of_day(self) -> bool:
        return self.kind in (ClauseKind.HOURS, ClauseKind.BETWEEN)

    def __str__(self) -> str:
        if self.kind in VALUE_KINDS:
            return f"{self.kind}={format_values(VALUE_KINDS[self.kind], self.mask, steps=False)}"
        if self.kind is ClauseKind.BETWEEN:
            return f"between={_format_minute(self.first)}-{_format_minute(self.last)}"
        first = to_date(self.first)
        if self.first == self.last:
            return f"date={first}"
        return f"dates={first}..{to_date(self.last)}"


class Constraints(Frozen):
    """The clauses of `@only` and of `@avoid`, each in the order they were written."""

    only: tuple[Clause, ...] = ()
    avoid: tuple[Clause, ...] = ()

    # What follows is derived once, so that a check of a candidate does not derive it again.
    is_empty: bool = derived()
    minutes: int = derived()
    """The minutes of the day that the clauses about the time of day leave, as a mask."""
    _wanted_days: list[list[Clause]] = derived()
    _avoided_days: list[Clause] = derived()

    def __post_init__(self) -> None:
        minutes, wanted_days = _EVERY_MINUTE, []
        for clauses in by_kind(self.only):
            if clauses[0].is_about_time_of_day:
                minutes &= _any_minute(clauses)
            else:
                wanted_days.append(clauses)
        self._derive(
            is_empty=not (self.only or self.avoid),
            minutes=minutes & ~_any_minute(c for c in self.avoid if c.is_about_time_of_day),
            _wanted_days=wanted_days,
            _avoided_days=[c for c in self.avoid if not c.is_about_time_of_day],
        )

    def __str__(self) -> str:
        named = (("only", self.only), ("avoid", self.avoid))
        return " ".join(f"@{name}({';'.join(map(str, each))})" for name, each in named if each)

    def accepts(self, wall_s: int) -> bool:
        day = wall_s // DAY_S
        minute = (wall_s - day * DAY_S) // 60
        return bool(self.minutes >> minute & 1) and self.accepts_day(day)

    def accepts_day(self, day: int) -> bool:
        """Whether work may run on this day at all, as far as the clauses about days go."""
        for clauses in self._wanted_days:
            if not any(clause.holds_on(day) for clause in clauses):
                return False
        return not any(clause.holds_on(day) for clause in self._avoided_days)

    def accepted_seconds(self) -> list[tuple[int, int]]:
        """The times of day left by the other clauses: (first, end) in seconds from midnight."""
        runs = []
        end = 0
        while rest := self.minutes >> end:
            first = end + lowest(rest)
            end = first + lowest(~(self.minutes >> first))
            runs.append((first * 60, end * 60))
        return runs

    def rejection(self, wall_s: int) -> str | None:
        """Why work may not run at this wall time, or None. For people: `accepts` is the rule."""
        day, second = divmod(wall_s, DAY_S)

        def holds(clause: Clause) -> bool:
            if clause.is_about_time_of_day:
                return bool(clause.minutes() >> second // 60 & 1)
            return clause.holds_on(day)

        for clause in self.avoid:
            if holds(clause):
                return f"inside avoid({clause})"
        for clauses in by_kind(self.only):
            if not any(map(holds, clauses)):
                return f"outside only({';'.join(map(str, clauses))})"
        return None


def by_kind(clauses: tuple[Clause, ...]) -> Iterator[list[Clause]]:
    """The clauses that are alternatives to one another."""
    for kind in ClauseKind:
        of_kind = [clause for clause in clauses if clause.kind is kind]
        if of_kind:
            yield of_kind


def _any_minute(clauses: Iterable[Clause]) -> int:
    return reduce(or_, (clause.minutes() for clause in clauses), 0)


def _format_minute(minute: int) -> str:
    return f"{minute // 60:02d}:{minute % 60:02d}"
