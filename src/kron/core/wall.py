"""When a cron expression matches on a wall clock that is never set.

Wall times are whole seconds counted as if there were no time zones; `nominal` puts them on real
time. Days come from `days`, hours and minutes from tables of the next and the previous match.
"""

from __future__ import annotations

from datetime import timedelta
from functools import lru_cache

from kron.core.bits import positions
from kron.core.cron import Cron
from kron.core.days import select_days
from kron.core.instant import DAY_S

_NONE = 255


class WallTimes:
    """The wall times, all of them whole minutes, that a cron expression matches."""

    __slots__ = (
        "_every_day",
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
        self.days = select_days(
            cron.day_of_month.mask, cron.month.mask, cron.day_of_week.mask, cron.either_day
        )
        self._every_day = self.days.is_every_day
        self._minute_mask = cron.minute.mask
        self._hour_mask = cron.hour.mask
        self._minutes_from, self._minutes_to = _neighbours(cron.minute.mask, 60)
        self._hours_from, self._hours_to = _neighbours(cron.hour.mask, 24)
        self._first_s = self._hours_from[0] * 3600 + self._minutes_from[0] * 60
        self._last_s = self._hours_to[23] * 3600 + self._minutes_to[59] * 60

    def at_or_after(self, wall_s: int) -> int:
        day = wall_s // DAY_S
        matching_day = day if self._every_day else self.days.at_or_after(day)
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
        day = wall_s // DAY_S
        matching_day = day if self._every_day else self.days.at_or_before(day)
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
    def matches_a_day(self) -> int:
        return self._hour_mask.bit_count() * self._minute_mask.bit_count()

    @property
    def minutes_of_day(self) -> int:
        """The minutes of a matching day at which it matches, as a mask."""
        return _minutes_of_day(self._hour_mask, self._minute_mask)

    @property
    def times_of_day(self) -> tuple[timedelta, ...]:
        """The matches of a matching day, counted from midnight."""
        return _times_of_day(self._hour_mask, self._minute_mask)

    def count(self, first_s: int, end_s: int) -> int:
        """How many matches there are in [first_s, end_s)."""
        if end_s <= first_s:
            return 0
        first_day, end_day = first_s // DAY_S, end_s // DAY_S
        return (
            self.days.mask(first_day, end_day - first_day).bit_count() * self.matches_a_day
            - self._count_in_day_before(first_s)
            + self._count_in_day_before(end_s)
        )

    def _count_in_day_before(self, wall_s: int) -> int:
        """How many matches there are from midnight up to `wall_s`, exclusively."""
        day = wall_s // DAY_S
        if self.days.at_or_before(day) != day:
            return 0
        minute_of_day = (wall_s - day * DAY_S + 59) // 60
        return (self.minutes_of_day & (1 << minute_of_day) - 1).bit_count()


@lru_cache(maxsize=4096)
def _neighbours(mask: int, size: int) -> tuple[bytes, bytes]:
    """For each value the next match from it on and the last up to it, `_NONE` where none is.

    Both tables end with `_NONE`, for the value after the last and (as index -1) before the first.
    """
    values = range(size)
    matches = list(positions(mask))
    following = [min((m for m in matches if m >= value), default=_NONE) for value in values]
    preceding = [max((m for m in matches if m <= value), default=_NONE) for value in values]
    return bytes([*following, _NONE]), bytes([*preceding, _NONE])


@lru_cache(maxsize=4096)
def _minutes_of_day(hour_mask: int, minute_mask: int) -> int:
    return sum(minute_mask << 60 * hour for hour in range(24) if hour_mask >> hour & 1)


@lru_cache(maxsize=256)
def _times_of_day(hour_mask: int, minute_mask: int) -> tuple[timedelta, ...]:
    minutes = positions(_minutes_of_day(hour_mask, minute_mask))
    return tuple([timedelta(minutes=minute) for minute in minutes])
