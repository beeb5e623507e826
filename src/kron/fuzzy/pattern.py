"""A pattern: what a fuzzy schedule asks for, in UTC, before an identifier decides the time.

Both texts of a fuzzy schedule, the friendly one and the placeholder, are read into a pattern. The
warnings about what is valid but unwise follow from the pattern alone.
"""

from __future__ import annotations

from enum import StrEnum

from kron.core.errors import Code
from kron.core.frozen import Frozen
from kron.fuzzy.problem import FuzzyProblem

DAY_MINUTES = 24 * 60
AROUND_MINUTES = 60
"""How far from its time an `around` may go, either way."""

WEEKDAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
"""In the order of cron's numbers."""


class Kind(StrEnum):
    """How often. The last three are fixed intervals: nothing in them is scattered."""

    DAILY = "daily"
    HOURLY = "hourly"
    WEEKLY = "weekly"
    BI_WEEKLY = "bi-weekly"
    TRI_WEEKLY = "tri-weekly"
    MINUTES = "minutes"
    DAYS = "days"
    WEEKS = "weeks"


FIXED = (Kind.MINUTES, Kind.DAYS, Kind.WEEKS)
STEP_DAYS = {Kind.BI_WEEKLY: 14, Kind.TRI_WEEKLY: 21}


class Around(Frozen):
    """Sixty minutes to either side of a minute of the day."""

    minute: int

    @property
    def first(self) -> int:
        """The first minute of the window; negative if it lies on the day before."""
        return self.minute - AROUND_MINUTES

    @property
    def width(self) -> int:
        """How many minutes after the first the last one is."""
        return 2 * AROUND_MINUTES


class Between(Frozen):
    """From one minute of the day to another, past midnight if the second is the smaller."""

    start: int
    end: int

    @property
    def first(self) -> int:
        return self.start

    @property
    def width(self) -> int:
        """How many minutes after the first the last one is."""
        return (self.end - self.start) % DAY_MINUTES


class Pattern(Frozen):
    kind: Kind
    window: Around | Between | None = None
    """Where in the day; for daily and weekly schedules."""
    every: int | None = None
    """How many hours, minutes or days; None for a plain `hourly`."""
    weekday: int | None = None
    """The day on which the window begins, Sunday being 0. None: the identifier picks it."""
    workdays: int | None = None
    """None: every day. Otherwise Monday to Friday, moved by this number of days: when it is Monday
    morning in Tokyo, it is still Sunday in UTC, so `workdays` is -1 there."""


_SPIKE = "fixed intervals create a spike of load when many schedules share them"
_SCATTERED = {
    (Kind.DAYS, 1): "daily",
    (Kind.DAYS, 14): "bi-weekly",
    (Kind.DAYS, 21): "tri-weekly",
    (Kind.WEEKS, 1): "weekly",
}


def advice(pattern: Pattern, start: int, end: int) -> tuple[FuzzyProblem, ...]:
    """The warnings about a pattern whose text stands at [start, end)."""
    if pattern.kind is Kind.DAILY or pattern.kind is Kind.WEEKLY:
        return ()
    warnings = []
    if pattern.kind in FIXED:
        fix = _fixed_fix(pattern)
        warnings.append(FuzzyProblem(Code.FIXED_INTERVAL, _SPIKE, start, end, fix))
    uneven = _uneven(pattern)
    if uneven:
        warnings.append(FuzzyProblem(Code.UNEVEN_STEP, uneven, start, end))
    return tuple(warnings)


def _fixed_fix(pattern: Pattern) -> str:
    if pattern.kind is Kind.MINUTES:
        return "consider every 2h or hourly, which are scattered"
    scattered = _SCATTERED.get((pattern.kind, pattern.every or 1))
    return f"consider {scattered}, which is scattered" if scattered else ""


def _uneven(pattern: Pattern) -> str:
    """Why the steps of a pattern are uneven, or ''."""
    step = STEP_DAYS.get(pattern.kind, pattern.every or 1)
    if pattern.kind is Kind.MINUTES:
        rest = 60 % step
        return f"*/{step} starts again each hour: its last step is {rest} minutes" if rest else ""
    if pattern.kind is Kind.HOURLY:
        rest = 24 % step
        return f"*/{step} starts again each day: its last step is {rest} hours" if rest else ""
    if pattern.kind is Kind.WEEKS or step == 1:
        return ""
    days = ", ".join(map(str, range(1, 32, step)[:4])) + (", ..." if step < 8 else "")
    return f"*/{step} starts again each month (days {days}): the step across its end is shorter"
