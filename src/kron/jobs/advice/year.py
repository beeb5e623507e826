"""The coming year: its days as bit masks, and the changes of the clocks in it.

A set of days is one integer with a bit for each day, so that a question about every period of a
year is a handful of operations and no walk.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache

from kron.core.constraint import Clause, ClauseKind, Constraints
from kron.core.cron import Cron
from kron.core.frozen import Frozen, derived
from kron.core.instant import DAY_S, LAST_S, to_date, to_seconds
from kron.core.zone import Zone

DAYS = 366
_MARGIN = 370
"""The longest window, in days, and a little more: it reaches out of the year on either side."""


class Change(Frozen):
    """A moment at which a zone's clocks are set, and the wall times that are lost or repeated."""

    at_s: int
    before_s: int
    """The offset until then."""
    after_s: int
    """The offset from then on."""

    is_gap: bool = derived()
    """Whether the clocks are set forward."""
    first_s: int = derived()
    """The first wall time that does not exist, or exists twice."""
    end_s: int = derived()
    """The first wall time after those."""
    hours: int = derived()
    """The hours of the day that are touched, as a mask."""

    def __post_init__(self) -> None:
        first_s = self.at_s + min(self.before_s, self.after_s)
        end_s = self.at_s + max(self.before_s, self.after_s)
        hours = 0
        for hour in range(first_s // 3600, (end_s - 1) // 3600 + 1):
            hours |= 1 << hour % 24
        is_gap = self.after_s > self.before_s
        self._derive(is_gap=is_gap, first_s=first_s, end_s=end_s, hours=hours)


class Year:
    """366 days from the day of `now` on."""

    __slots__ = (
        "_changes",
        "_cron_days",
        "_days_of_month",
        "_first_day",
        "_months",
        "_weekdays",
        "end_s",
        "now_s",
    )

    def __init__(self, now: datetime) -> None:
        self.now_s = to_seconds(now)
        self.end_s = min(self.now_s + DAYS * DAY_S, LAST_S - DAY_S)
        self._first_day = self.now_s // DAY_S - _MARGIN
        self._weekdays = [0] * 7
        self._days_of_month = [0] * 32
        self._months = [0] * 13
        for position in range(_MARGIN + DAYS + _MARGIN):
            day = self._first_day + position
            date = to_date(day)
            self._weekdays[(day + 4) % 7] |= 1 << position
            self._days_of_month[date.day] |= 1 << position
            self._months[date.month] |= 1 << position
        self._cron_days: dict[tuple[int, int, int, bool], int] = {}
        self._changes: dict[str, tuple[Change, ...]] = {}

    def today(self, zone: Zone) -> int:
        """The day that a calendar in the zone shows."""
        return zone.wall_at(self.now_s) // DAY_S

    def coming(self, zone: Zone) -> int:
        """The days of the year, beginning with today in the zone."""
        return (1 << DAYS) - 1 << self.position(self.today(zone))

    def position(self, day: int) -> int:
        """The bit of a day in the masks."""
        return day - self._first_day

    def day(self, position: int) -> int:
        """The day (counted from 1970) of a bit."""
        return position + self._first_day

    def cron_days(self, cron: Cron) -> int:
        """The days on which a cron expression matches; also some before and after the year."""
        key = (cron.day_of_month.mask, cron.month.mask, cron.day_of_week.mask, cron.either_day)
        days = self._cron_days.get(key)
        if days is None:
            by_month = _union(self._days_of_month, cron.day_of_month.mask)
            by_week = _union(self._weekdays, cron.day_of_week.mask)
            days = by_month | by_week if cron.either_day else by_month & by_week
            days &= _union(self._months, cron.month.mask)
            self._cron_days[key] = days
        return days

    def allowed_days(self, constraints: Constraints, without: tuple[ClauseKind, ...] = ()) -> int:
        """The days that the clauses about days leave, those of the kinds in `without` aside."""
        wanted: dict[ClauseKind, int] = {}
        for clause in constraints.only:
            if not clause.is_about_time_of_day and clause.kind not in without:
                wanted[clause.kind] = wanted.get(clause.kind, 0) | self._clause_days(clause)
        allowed = (1 << _MARGIN + DAYS + _MARGIN) - 1
        for days in wanted.values():
            allowed &= days
        for clause in constraints.avoid:
            if not clause.is_about_time_of_day and clause.kind not in without:
                allowed &= ~self._clause_days(clause)
        return allowed

    def changes(self, zone: Zone) -> tuple[Change, ...]:
        """When the zone's clocks are set in the coming year."""
        changes = self._changes.get(zone.key)
        if changes is None:
            changes = self._changes[zone.key] = tuple(self._find_changes(zone))
        return changes

    def _clause_days(self, clause: Clause) -> int:
        if clause.kind is ClauseKind.DAYS_OF_WEEK:
            return _union(self._weekdays, clause.mask)
        if clause.kind is ClauseKind.DAYS_OF_MONTH:
            return _union(self._days_of_month, clause.mask)
        if clause.kind is ClauseKind.MONTHS:
            return _union(self._months, clause.mask)
        first = max(0, self.position(clause.first))
        end = min(_MARGIN + DAYS + _MARGIN, self.position(clause.last) + 1)
        return (1 << end) - (1 << first) if first < end else 0

    def _find_changes(self, zone: Zone) -> Iterator[Change]:
        span = zone.span_at(self.now_s)
        while span.end_s <= self.end_s:
            following = zone.span_at(span.end_s)
            if following.start_s == span.end_s:  # else it was only the zone's table that ended
                yield Change(following.start_s, span.offset_s, following.offset_s)
            span = following


def positions(mask: int) -> Iterator[int]:
    """The bits of a mask, the lowest first."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


@lru_cache(maxsize=4096)
def least_spacing(mask: int) -> int:
    """The least distance between two bits of a mask; 0 if it has fewer than two."""
    mask >>= (mask & -mask).bit_length() - 1 if mask else 0
    spacing = 1
    while rest := mask >> spacing:
        if mask & rest:
            return spacing
        spacing += 1
    return 0


def _union(masks: list[int], values: int) -> int:
    union = 0
    for value, mask in enumerate(masks):
        if values >> value & 1:
            union |= mask
    return union
