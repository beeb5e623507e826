"""A pattern: what a fuzzy schedule asks for, in UTC, before an identifier settles the time.

Both texts of a fuzzy schedule, the friendly one and the placeholder, are read into a pattern.
"""

from __future__ import annotations

from enum import StrEnum

from kron.core.frozen import Frozen

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
        """The first minute of the window."""
        return self.start

    @property
    def width(self) -> int:
        """How many minutes after the first the last one is."""
        return (self.end - self.start) % DAY_MINUTES


class Pattern(Frozen):
    """A kind, and what narrows it down."""

    kind: Kind
    window: Around | Between | None = None
    """Where in the day; for daily and weekly schedules."""
    every: int | None = None
    """How many hours, minutes or days; None for a plain `hourly`."""
    weekday: int | None = None
    """The day on which the window begins, Sunday being 0. None: the identifier picks it."""
    workdays: int | None = None
    """None: every day. Otherwise Monday to Friday, moved by so many days: where it is Monday
    morning in Tokyo, it is still Sunday in UTC, so that `workdays` is -1 there."""
