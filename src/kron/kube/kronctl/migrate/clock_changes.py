"""How Kubernetes and Kron differ when the clocks change.

Kubernetes follows the wall clock: it skips a time in a gap, runs twice at a time that is shown
twice, and may lose or gain a day around a skipped midnight. Kron follows the wall clock if the
minutes or hours begin with a star, and runs each time of day once otherwise.
docs/migrate-cronjobs.md has the details.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from kron.core.errors import KronError
from kron.core.frozen import Frozen
from kron.core.instant import DAY_S, to_date, to_day, to_text
from kron.core.nominal import Nominals
from kron.core.schedule import Schedule
from kron.core.zone import Zone

_YEAR_S = 366 * DAY_S
_HOUR_S = 3_600
_NOON = 12
_NEAR_S = 3 * _HOUR_S
"""The two agree until this long before a change, and from this long after it if every day matches.
If not, a wrong day may last to its end."""
_SHOWN = 3


class Difference(Frozen):
    """The nominal instants of a year that only Kubernetes or only Kron has."""

    only_kubernetes: tuple[int, ...]
    only_kron: tuple[int, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        notes = []
        if self.only_kubernetes:
            notes.append(
                f"daylight saving: Kubernetes would also start it at {_times(self.only_kubernetes)}"
                "; Kron runs each time of day once, and only on matching days"
            )
        if self.only_kron:
            notes.append(
                f"daylight saving: Kron also runs it at {_times(self.only_kron)}; Kubernetes does "
                "not, because the clocks skip that time or its search does"
            )
        return tuple(notes)


@lru_cache(maxsize=1024)
def daylight_difference(schedule: Schedule, from_s: int) -> Difference:
    """Where the two differ in the year from `from_s` on."""
    nominals, walk = schedule.nominals, _KubernetesWalk(schedule)
    until_s = from_s + _YEAR_S
    affected_s = _NEAR_S if nominals.wall.days.is_every_day else DAY_S
    kubernetes: set[int] = set()
    kron: set[int] = set()
    seen_s = from_s - _YEAR_S
    for change_s in _changes(schedule.zone, from_s - DAY_S, until_s):
        start_s = seen_s = max(seen_s, _last_nominal_s(nominals, change_s - _NEAR_S))
        while seen_s < min(change_s + affected_s, until_s):
            seen_s = walk.after(seen_s, until_s)
            kubernetes.add(seen_s)
        kron.update(_nominals_between(nominals, start_s, seen_s))
    wanted = range(from_s, until_s)
    return Difference(
        tuple(each_s for each_s in sorted(kubernetes - kron) if each_s in wanted),
        tuple(each_s for each_s in sorted(kron - kubernetes) if each_s in wanted),
    )


def _changes(zone: Zone, from_s: int, until_s: int) -> Iterator[int]:
    span = zone.span_at(from_s)
    while span.end_s < until_s:
        before, span = span, zone.span_at(span.end_s)
        if span.offset_s != before.offset_s:  # a span may also end with the table
            yield span.start_s


def _last_nominal_s(nominals: Nominals, instant_s: int) -> int:
    """The last nominal instant up to this one; this one if none exists."""
    try:
        return nominals.at_or_before(instant_s)
    except KronError:
        return instant_s


def _nominals_between(nominals: Nominals, after_s: int, until_s: int) -> Iterator[int]:
    """The nominal instants in (after_s, until_s], as far as Kron covers the years."""
    try:
        while (after_s := nominals.after(after_s)) <= until_s:
            yield after_s
    except KronError:
        return


def _times(instants_s: tuple[int, ...]) -> str:
    shown = ", ".join(map(to_text, instants_s[:_SHOWN]))
    more = len(instants_s) - _SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


class _KubernetesWalk:
    """How Kubernetes finds the next time of a CronJob, in every detail that shows here.

    It steps to a matching month, then to a day, an hour and a minute in it. It checks a larger unit
    again only when a smaller one has overflowed, which it recognizes by a first of the month, an
    hour 0 or a minute 0. Clock changes break that: where midnight is skipped, a day is lost or is
    entered late, and a change by half an hour puts the hourly steps at half past. The tests compare
    it with the times that Kubernetes' own library gives (tests/kube/kronctl/migrate/robfig).
    """

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
