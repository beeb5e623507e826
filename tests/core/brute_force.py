"""The daylight saving rule of Debian's cron, read literally and without any code of kron.

Real time is walked minute by minute on the clock that `zoneinfo` shows, and every minute is asked
whether it matches. Slow and plain on purpose: where cronsim and kron disagree, this decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

DAY_S = 86_400
_MINUTE = timedelta(minutes=1)
_DAY = timedelta(days=1)
_BOUNDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
_NAMES = {
    name: number
    for names, first in (
        ("JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC", 1),
        ("SUN MON TUE WED THU FRI SAT", 0),
    )
    for number, name in enumerate(names.split(), start=first)
}


class BruteForce:
    """A cron expression in a zone."""

    def __init__(self, expression: str, zone: str) -> None:
        fields = expression.split()
        self.zone = ZoneInfo(zone)
        self.fixed = not fields[0].startswith("*") and not fields[1].startswith("*")
        self.either_day = not fields[2].startswith("*") and not fields[4].startswith("*")
        self.minutes, self.hours, self.days, self.months, weekdays = (
            _values(field, low, high) for field, (low, high) in zip(fields, _BOUNDS, strict=True)
        )
        self.weekdays = {weekday % 7 for weekday in weekdays}
        self.day_matches = cache(self._day_matches)

    def between(self, first_s: int, end_s: int) -> Iterator[int]:
        """The nominal instants in [first_s, end_s)."""
        # Two minutes earlier: the first minute after a gap must see the gap.
        for instant_s, wall, gap in self._shown_minutes(first_s - 120, end_s):
            if instant_s < first_s:
                continue
            if self.fixed:
                first_showing = not wall.fold
                happens = (first_showing and self._matches(wall)) or any(map(self._matches, gap))
            else:
                happens = self._matches(wall)
            if happens:
                yield instant_s

    def next(self, after_s: int, limit_s: int) -> int | None:
        """The smallest nominal instant in (after_s, limit_s]."""
        return next(self.between(after_s + 1, limit_s + 1), None)

    def prev(self, at_s: int, limit_s: int) -> int | None:
        """The greatest nominal instant in [limit_s, at_s]."""
        end_s = at_s + 1
        while end_s > limit_s:
            start_s = max(limit_s, end_s - DAY_S)
            found = list(self.between(start_s, end_s))
            if found:
                return found[-1]
            end_s = start_s
        return None

    def _shown_minutes(
        self, first_s: int, end_s: int
    ) -> Iterator[tuple[int, datetime, list[datetime]]]:
        """Each instant at which the clock shows a whole minute, what it shows, and the minutes
        that it has just left out."""
        instant_s = first_s
        wall = self._wall(instant_s)
        gap: list[datetime] = []
        while instant_s < end_s:
            if wall.second == 0:
                yield instant_s, wall.replace(tzinfo=None), gap
                gap = []
                if self._quiet(wall.date()):
                    instant_s += DAY_S // 2
                    wall = self._wall(instant_s)
                    continue
            step_s = 60 - wall.second
            following = self._wall(instant_s + step_s)
            if following.utcoffset() == wall.utcoffset():
                instant_s, wall = instant_s + step_s, following
                continue
            for _ in range(step_s):  # the clock is set within this minute: look at each second
                before, wall = wall, self._wall(instant_s + 1)
                instant_s += 1
                if wall.utcoffset() != before.utcoffset():
                    gap = _minutes_left_out(before, wall)
                    break

    def _wall(self, instant_s: int) -> datetime:
        return datetime.fromtimestamp(instant_s, self.zone)

    def _quiet(self, day: date) -> bool:
        """Whether nothing can match for half a day, even if a whole day is left out."""
        return not any(self.day_matches(day + number * _DAY) for number in range(-2, 4))

    def _matches(self, wall: datetime) -> bool:
        return (
            wall.minute in self.minutes
            and wall.hour in self.hours
            and self.day_matches(wall.date())
        )

    def _day_matches(self, day: date) -> bool:
        of_month = day.day in self.days
        of_week = day.isoweekday() % 7 in self.weekdays
        matches = (of_month or of_week) if self.either_day else (of_month and of_week)
        return matches and day.month in self.months


def _minutes_left_out(before: datetime, after: datetime) -> list[datetime]:
    """The whole minutes between two seconds that follow one another on a clock set forward."""
    expected = before.replace(tzinfo=None) + timedelta(seconds=1)
    minute = expected.replace(second=0)
    if minute < expected:
        minute += _MINUTE
    found = []
    while minute < after.replace(tzinfo=None):
        found.append(minute)
        minute += _MINUTE
    return found


def _values(field: str, low: int, high: int) -> set[int]:
    values: set[int] = set()
    for item in field.split(","):
        span, _, step = item.partition("/")
        first, _, last = span.partition("-")
        if first == "*":
            # 7 is another name of Sunday and not one more day for a step to land on.
            bounds = (low, min(high, 6) if (low, high) == (0, 7) else high)
        else:
            bounds = (_number(first), _number(last or first))
        values.update(range(bounds[0], bounds[1] + 1, int(step or 1)))
    return values


def _number(text: str) -> int:
    return _NAMES[text.upper()] if text.isalpha() else int(text)
