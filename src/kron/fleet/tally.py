"""A tally: how often jobs fire in each hour, or each minute, of a week in UTC.

It covers whole weeks from any moment on, so it covers every slot of the week equally often.
"""

from __future__ import annotations

from kron.core.constraint import MINUTES_A_DAY
from kron.core.frozen import Frozen
from kron.core.instant import DAY_S

WEEK_S = 7 * DAY_S
HOUR_S = 3_600
MINUTE_S = 60
HOURS_A_DAY = 24
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

_EPOCH_SECOND_OF_WEEK = 3 * DAY_S  # 1970 began on a Thursday


class Tally(Frozen):
    """Firings by slot of the week, of all weeks together."""

    from_s: int
    weeks: int
    slot_s: int
    """An hour or a minute."""
    counts: tuple[int, ...]
    """One for each slot; the first is Monday 00:00 UTC."""
    jobs: int
    suspended: int = 0
    """The number of suspended jobs, which are not among `jobs`."""
    at_boot: int = 0
    """The number of jobs that run once a boot, at no time of the week; not among `jobs` either."""

    @property
    def until_s(self) -> int:
        """The first second after the weeks."""
        return self.from_s + self.weeks * WEEK_S

    @property
    def firings(self) -> int:
        return sum(self.counts)

    @property
    def cells(self) -> tuple[tuple[int, ...], ...]:
        """Firings by weekday, Monday first, and by hour."""
        size = HOUR_S // self.slot_s
        hours = [sum(self.counts[i : i + size]) for i in range(0, len(self.counts), size)]
        return tuple(tuple(hours[i : i + HOURS_A_DAY]) for i in range(0, len(hours), HOURS_A_DAY))

    @property
    def by_hour(self) -> tuple[int, ...]:
        return tuple(map(sum, zip(*self.cells, strict=True)))

    @property
    def by_minute_of_day(self) -> tuple[int, ...]:
        """Firings by minute of the day; for a tally by minute only."""
        return tuple(sum(self.on_weekdays(minute)) for minute in range(MINUTES_A_DAY))

    @property
    def by_minute_of_hour(self) -> tuple[int, ...]:
        """Firings by minute of the hour; for a tally by minute only."""
        assert self.slot_s == MINUTE_S
        return tuple(sum(self.counts[minute::60]) for minute in range(60))

    def on_weekdays(self, minute: int) -> tuple[int, ...]:
        """Firings in one minute of the day, by weekday; for a tally by minute only."""
        assert self.slot_s == MINUTE_S
        return self.counts[minute::MINUTES_A_DAY]


def second_of_week(instant_s: int) -> int:
    """The seconds since the last Monday began, in UTC."""
    return (instant_s + _EPOCH_SECOND_OF_WEEK) % WEEK_S
