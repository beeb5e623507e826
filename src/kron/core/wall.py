"""When a cron expression matches on a wall clock that nobody ever sets.

Wall times are whole seconds counted as if there were no time zones; `nominal` puts them on real
time. Nothing here scans: days come from one bit mask for each of the fourteen kinds of year,
hours and minutes from tables of the next and the previous match.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from datetime import date, timedelta
from functools import lru_cache
from itertools import accumulate

from kron.core.cron import Cron
from kron.core.instant import DAY_S, FIRST_YEAR, LAST_YEAR, out_of_range

_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
_NONE = 255
_MONTH_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_EVERY_WEEK = 1 | 1 << 7 | 1 << 14 | 1 << 21 | 1 << 28

# A few years more on each side: a wall clock may be a day ahead of or behind UTC, and a window
# may reach a year back from the first instant.
_YEARS = range(FIRST_YEAR - 3, LAST_YEAR + 4)
_LEAP = [year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) for year in _YEARS]
_YEAR_STARTS = tuple(
    accumulate(
        (366 if leap else 365 for leap in _LEAP),
        initial=date(_YEARS[0], 1, 1).toordinal() - _EPOCH_ORDINAL,
    )
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

    def at_or_after(self, day: int) -> int:
        """The first matching day from `day` on."""
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
        """The last matching day up to `day`."""
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
        days = self._days_of_year(index)
        first = bisect_left(days, day - _YEAR_STARTS[index])
        yield from (_YEAR_STARTS[index] + day_of_year for day_of_year in days[first:])
        for later in range(index + 1, len(_YEAR_KINDS)):
            start = _YEAR_STARTS[later]
            for day_of_year in self._days_of_year(later):
                yield start + day_of_year

    def backwards(self, day: int) -> Iterator[int]:
        """The matching days up to `day`, the last first."""
        index = bisect_right(_YEAR_STARTS, day) - 1
        days = self._days_of_year(index)
        end = bisect_right(days, day - _YEAR_STARTS[index])
        yield from (_YEAR_STARTS[index] + day_of_year for day_of_year in reversed(days[:end]))
        for earlier in range(index - 1, -1, -1):
            start = _YEAR_STARTS[earlier]
            for day_of_year in reversed(self._days_of_year(earlier)):
                yield start + day_of_year

    def _days_of_year(self, index: int) -> tuple[int, ...]:
        """The matching days of a year, counted from its first; for walks, which want them all."""
        kind = _YEAR_KINDS[index]
        days = self._lists[kind]
        if days is None:
            mask = self._masks[kind]
            days = self._lists[kind] = tuple(day for day in range(366) if mask >> day & 1)
        return days

    def count(self, first_day: int, end_day: int) -> int:
        """How many days match in [first_day, end_day)."""
        total = 0
        index = bisect_right(_YEAR_STARTS, first_day) - 1
        while first_day < end_day:
            next_year = _YEAR_STARTS[index + 1]
            stop = min(end_day, next_year)
            year = self._masks[_YEAR_KINDS[index]] >> (first_day - _YEAR_STARTS[index])
            total += (year & (1 << (stop - first_day)) - 1).bit_count()
            first_day = next_year
            index += 1
        return total


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


class WallTimes:
    """The wall times, all of them whole minutes, that a cron expression matches."""

    __slots__ = (
        "_first_s",
        "_hour_mask",
        "_hours_from",
        "_hours_to",
        "_last_s",
        "_minute_mask",
        "_minutes_from",
        "_minutes_to",
        "days",
    )

    def __init__(self, cron: Cron) -> None:
        self.days = _days(
            cron.day_of_month.mask, cron.month.mask, cron.day_of_week.mask, cron.either_day
        )
        self._minute_mask = cron.minute.mask
        self._hour_mask = cron.hour.mask
        self._minutes_from, self._minutes_to = _neighbours(cron.minute.mask, 60)
        self._hours_from, self._hours_to = _neighbours(cron.hour.mask, 24)
        self._first_s = self._hours_from[0] * 3600 + self._minutes_from[0] * 60
        self._last_s = self._hours_to[23] * 3600 + self._minutes_to[59] * 60

    def at_or_after(self, wall_s: int) -> int:
        """The first match from `wall_s` on."""
        day = wall_s // DAY_S
        matching_day = self.days.at_or_after(day)
        if matching_day == day:
            minute_of_day = (wall_s - day * DAY_S + 59) // 60
            hour = minute_of_day // 60
            if self._hours_from[hour] == hour:
                minute = self._minutes_from[minute_of_day - hour * 60]
                if minute != _NONE:
                    return day * DAY_S + hour * 3600 + minute * 60
                hour += 1
            hour = self._hours_from[hour]
            if hour != _NONE:
                return day * DAY_S + hour * 3600 + self._minutes_from[0] * 60
            matching_day = self.days.at_or_after(day + 1)
        return matching_day * DAY_S + self._first_s

    def at_or_before(self, wall_s: int) -> int:
        """The last match up to `wall_s`."""
        day = wall_s // DAY_S
        matching_day = self.days.at_or_before(day)
        if matching_day == day:
            minute_of_day = (wall_s - day * DAY_S) // 60
            hour = minute_of_day // 60
            if self._hours_to[hour] == hour:
                minute = self._minutes_to[minute_of_day - hour * 60]
                if minute != _NONE:
                    return day * DAY_S + hour * 3600 + minute * 60
                hour -= 1  # -1 is the sentinel at the end of the table
            hour = self._hours_to[hour]
            if hour != _NONE:
                return day * DAY_S + hour * 3600 + self._minutes_to[59] * 60
            matching_day = self.days.at_or_before(day - 1)
        return matching_day * DAY_S + self._last_s

    @property
    def times_of_day(self) -> tuple[timedelta, ...]:
        """The matches of a matching day, counted from midnight."""
        return _times_of_day(self._hour_mask, self._minute_mask)

    def count(self, first_s: int, end_s: int) -> int:
        """How many matches there are in [first_s, end_s)."""
        if end_s <= first_s:
            return 0
        first_day, end_day = first_s // DAY_S, end_s // DAY_S
        a_day = self._hour_mask.bit_count() * self._minute_mask.bit_count()
        return (
            self.days.count(first_day, end_day) * a_day
            - self._count_in_day_before(first_s)
            + self._count_in_day_before(end_s)
        )

    def _count_in_day_before(self, wall_s: int) -> int:
        """How many matches there are from midnight up to `wall_s`, exclusively."""
        day = wall_s // DAY_S
        if self.days.at_or_before(day) != day:
            return 0
        hour, minute = divmod((wall_s - day * DAY_S + 59) // 60, 60)
        total = (self._hour_mask & (1 << hour) - 1).bit_count() * self._minute_mask.bit_count()
        if self._hour_mask >> hour & 1:
            total += (self._minute_mask & (1 << minute) - 1).bit_count()
        return total


@lru_cache(maxsize=4096)
def _neighbours(mask: int, size: int) -> tuple[bytes, bytes]:
    """For each value the next match from it on and the last up to it, `_NONE` where none is.

    Both tables end with `_NONE`, for the value after the last and (as index -1) before the first.
    """
    values = range(size)
    matches = [value for value in values if mask >> value & 1]
    following = [min((m for m in matches if m >= value), default=_NONE) for value in values]
    preceding = [max((m for m in matches if m <= value), default=_NONE) for value in values]
    return bytes([*following, _NONE]), bytes([*preceding, _NONE])


@lru_cache(maxsize=256)
def _times_of_day(hour_mask: int, minute_mask: int) -> tuple[timedelta, ...]:
    return tuple(
        timedelta(hours=hour, minutes=minute)
        for hour in range(24)
        if hour_mask >> hour & 1
        for minute in range(60)
        if minute_mask >> minute & 1
    )


@lru_cache(maxsize=4096)
def _days(dom_mask: int, month_mask: int, dow_mask: int, either: bool) -> Days:
    """The day set for these fields; most schedules of a fleet share a few of them."""
    dom = dom_mask >> 1
    masks = []
    for kind in range(14):
        leap, weekday = divmod(kind, 7)
        year = 0
        position = 0
        for month, usual_length in enumerate(_MONTH_LENGTHS, start=1):
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
