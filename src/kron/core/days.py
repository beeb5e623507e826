"""The days of the calendar that a cron expression's three day fields match.

Days are counted from 1970. Every year is one of fourteen kinds, by its length and the weekday it
begins with, and a day set is one bit mask for each kind: nothing scans day by day.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from datetime import date
from functools import lru_cache
from itertools import accumulate

from kron.core.bits import positions
from kron.core.instant import FIRST_YEAR, LAST_YEAR, out_of_range, to_day

MONTH_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_EVERY_WEEK = 1 | 1 << 7 | 1 << 14 | 1 << 21 | 1 << 28

# A few years more on each side: a wall clock may be a day ahead of or behind UTC, and a window
# may reach a year back from the first instant.
_YEARS = range(FIRST_YEAR - 3, LAST_YEAR + 4)
_LEAP = [year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) for year in _YEARS]
_YEAR_STARTS = tuple(
    accumulate((366 if leap else 365 for leap in _LEAP), initial=to_day(date(_YEARS[0], 1, 1)))
)
_YEAR_KINDS = bytes(
    7 * leap + (start + 4) % 7 for leap, start in zip(_LEAP, _YEAR_STARTS, strict=False)
)
"""For each year 7 * is leap + the weekday of January 1st, Sunday being 0: fourteen kinds."""


class Days:
    """The days that three fields match, as day numbers since 1970."""

    __slots__ = ("_lists", "_masks")

    def __init__(self, masks: tuple[int, ...]) -> None:
        self._masks = masks
        self._lists: list[tuple[int, ...] | None] = [None] * len(masks)

    @property
    def is_empty(self) -> bool:
        """Whether no day of any year matches."""
        return not any(self._masks)

    @property
    def is_every_day(self) -> bool:
        """Whether all days match, as they do in most schedules."""
        return sum(map(int.bit_count, self._masks)) == 7 * 365 + 7 * 366

    def at_or_after(self, day: int) -> int:
        index = bisect_right(_YEAR_STARTS, day) - 1
        rest = self._masks[_YEAR_KINDS[index]] >> (day - _YEAR_STARTS[index])
        if rest & 1:
            return day
        if rest:
            return day + (rest & -rest).bit_length() - 1
        for later in range(index + 1, len(_YEAR_KINDS)):
            mask = self._masks[_YEAR_KINDS[later]]
            if mask:
                return _YEAR_STARTS[later] + (mask & -mask).bit_length() - 1
        raise out_of_range("the next time of this schedule")

    def at_or_before(self, day: int) -> int:
        index = bisect_right(_YEAR_STARTS, day) - 1
        rest = self._masks[_YEAR_KINDS[index]] & (2 << (day - _YEAR_STARTS[index])) - 1
        while not rest:
            index -= 1
            if index < 0:
                raise out_of_range("the previous time of this schedule")
            rest = self._masks[_YEAR_KINDS[index]]
        return _YEAR_STARTS[index] + rest.bit_length() - 1

    def onwards(self, day: int) -> Iterator[int]:
        """The matching days from `day` on."""
        index = bisect_right(_YEAR_STARTS, day) - 1
        first = bisect_left(self._days_of_year(index), day - _YEAR_STARTS[index])
        for year in range(index, len(_YEAR_KINDS)):
            start = _YEAR_STARTS[year]
            for day_of_year in self._days_of_year(year)[first:]:
                yield start + day_of_year
            first = 0

    def backwards(self, day: int) -> Iterator[int]:
        """The matching days up to `day`, the last first."""
        index = bisect_right(_YEAR_STARTS, day) - 1
        end: int | None = bisect_right(self._days_of_year(index), day - _YEAR_STARTS[index])
        for year in range(index, -1, -1):
            start = _YEAR_STARTS[year]
            for day_of_year in reversed(self._days_of_year(year)[:end]):
                yield start + day_of_year
            end = None

    def _days_of_year(self, index: int) -> tuple[int, ...]:
        """The matching days of a year, counted from its first; for walks, which want them all."""
        kind = _YEAR_KINDS[index]
        days = self._lists[kind]
        if days is None:
            days = self._lists[kind] = tuple(positions(self._masks[kind]))
        return days

    def mask(self, first_day: int, count: int) -> int:
        """The matching days among `count` days as a mask, `first_day` being the lowest bit."""
        mask = 0
        index = bisect_right(_YEAR_STARTS, first_day) - 1
        while (skipped := _YEAR_STARTS[index] - first_day) < count:
            year = self._masks[_YEAR_KINDS[index]]
            mask |= year << skipped if skipped >= 0 else year >> -skipped
            index += 1
        return mask & (1 << count) - 1


class RareDays(Days):
    """Days that match at most once a year, as a list: empty years need not be passed one by one."""

    __slots__ = ("_days",)

    def __init__(self, masks: tuple[int, ...]) -> None:
        super().__init__(masks)
        self._days = tuple(super().onwards(_YEAR_STARTS[0]))

    def at_or_after(self, day: int) -> int:
        index = bisect_left(self._days, day)
        if index == len(self._days):
            raise out_of_range("the next time of this schedule")
        return self._days[index]

    def at_or_before(self, day: int) -> int:
        index = bisect_right(self._days, day)
        if index == 0:
            raise out_of_range("the previous time of this schedule")
        return self._days[index - 1]

    def onwards(self, day: int) -> Iterator[int]:
        return iter(self._days[bisect_left(self._days, day) :])

    def backwards(self, day: int) -> Iterator[int]:
        return reversed(self._days[: bisect_right(self._days, day)])


@lru_cache(maxsize=4096)
def select_days(
    dom_mask: int = -1, month_mask: int = -1, dow_mask: int = 0x7F, either: bool = False
) -> Days:
    """The days with these days of month, months and weekdays; by default all of them.

    The fields of most schedules of a fleet are the same few.
    """
    dom = dom_mask >> 1
    masks = []
    for kind in range(14):
        leap, weekday = divmod(kind, 7)
        year = 0
        position = 0
        for month, usual_length in enumerate(MONTH_LENGTHS, start=1):
            length = usual_length + (leap if month == 2 else 0)
            if month_mask >> month & 1:
                week = (dow_mask | dow_mask << 7) >> weekday & 0x7F
                dow = week * _EVERY_WEEK
                month_days = (dom | dow) if either else (dom & dow)
                year |= (month_days & (1 << length) - 1) << position
            position += length
            weekday = (weekday + length) % 7
        masks.append(year)
    return (RareDays if max(map(int.bit_count, masks)) <= 1 else Days)(tuple(masks))
