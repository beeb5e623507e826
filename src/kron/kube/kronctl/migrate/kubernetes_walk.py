"""How Kubernetes finds the next time of a CronJob, in every detail that shows when clocks change.

It steps to a matching month, then to a day, an hour and a minute in it. It checks a larger unit
again only when a smaller one has overflowed, which it recognizes by a first of the month, an hour
0 or a minute 0. Clock changes break that: where midnight is skipped, a day is lost or is entered
late, and a change by half an hour puts the hourly steps at half past. This class walks in the same
way; the tests compare it with the times that Kubernetes' own library gives
(tests/kube/kronctl/migrate/robfig).
"""

from __future__ import annotations

from kron.core.instant import DAY_S, to_date, to_day
from kron.core.schedule import Schedule

_HOUR_S = 3_600
_NOON = 12


class KubernetesWalk:
    """Finds the times of one schedule, one after another."""

    __slots__ = ("_cron", "_is_rounded", "_now_s", "_zone")

    def __init__(self, schedule: Schedule) -> None:
        self._cron = schedule.cron
        self._zone = schedule.zone
        self._now_s = 0
        self._is_rounded = False
        """Whether the walk has left the moment it began at for the start of a unit."""

    def after(self, instant_s: int, until_s: int) -> int:
        """The next time after an instant, or `until_s` if that comes first."""
        self._now_s = instant_s + 1
        self._is_rounded = False
        steps = (self._find_month, self._find_day, self._find_hour, self._find_minute)
        while self._now_s < until_s:
            if all(found() for found in steps):  # a step that overflowed returns False: again
                return self._now_s
        return until_s

    def _wall_s(self) -> int:
        return self._zone.wall_at(self._now_s)

    def _set(self, wall_s: int) -> None:
        """Go to a wall time as Go does, also if that is skipped or shown twice.

        Go takes the offset at the moment when UTC shows that time. If another offset holds at the
        result, Go takes that one instead.
        """
        span = self._zone.span_at(wall_s)
        now_s = wall_s - span.offset_s
        if not span.start_s <= now_s < span.end_s:
            now_s = wall_s - self._zone.span_at(now_s).offset_s
        self._now_s = now_s

    def _round(self, wall_s: int) -> None:
        """Go to the start of a unit, but only once: later steps begin at a start already."""
        if not self._is_rounded:
            self._is_rounded = True
            self._set(wall_s)

    def _find_month(self) -> bool:
        mask = self._cron.month.mask
        while not mask >> to_date(self._wall_s() // DAY_S).month & 1:
            first = to_date(self._wall_s() // DAY_S).replace(day=1)
            self._round(to_day(first) * DAY_S)
            self._set(_month_later_s(self._wall_s()))
            if to_date(self._wall_s() // DAY_S).month == 1:
                return False
        return True

    def _find_day(self) -> bool:
        while not self._is_day(self._wall_s() // DAY_S):
            wall_s = self._wall_s()
            self._round(wall_s - wall_s % DAY_S)
            self._set(self._wall_s() + DAY_S)
            hour = self._wall_s() % DAY_S // _HOUR_S
            if hour:  # not midnight: move to it
                self._now_s += (24 - hour if hour > _NOON else -hour) * _HOUR_S
            if to_date(self._wall_s() // DAY_S).day == 1:
                return False
        return True

    def _is_day(self, day: int) -> bool:
        """Whether a day matches, regardless of its month."""
        cron = self._cron
        by_month = cron.day_of_month.mask >> to_date(day).day & 1
        by_week = cron.day_of_week.mask >> (day + 4) % 7 & 1
        return bool(by_month | by_week if cron.either_day else by_month & by_week)

    def _find_hour(self) -> bool:
        mask = self._cron.hour.mask
        while not mask >> (wall_s := self._wall_s()) % DAY_S // _HOUR_S & 1:
            self._round(wall_s - wall_s % _HOUR_S)
            self._now_s += _HOUR_S
            if not self._wall_s() % DAY_S // _HOUR_S:
                return False
        return True

    def _find_minute(self) -> bool:
        mask = self._cron.minute.mask
        while not mask >> self._wall_s() % _HOUR_S // 60 & 1:
            self._is_rounded = True
            self._now_s += 60 - self._now_s % 60
            if not self._wall_s() % _HOUR_S // 60:
                return False
        if self._now_s % 60:
            self._is_rounded = True
            self._now_s += 60 - self._now_s % 60
            return False
        return True


def _month_later_s(wall_s: int) -> int:
    """The same day and time of the next month; 31 April is 1 May."""
    day, time_s = divmod(wall_s, DAY_S)
    date = to_date(day)
    year, month = divmod(date.year * 12 + date.month, 12)
    return (to_day(date.replace(year, month + 1, 1)) + date.day - 1) * DAY_S + time_s
