"""The coming year: its days as bit masks, and the changes of the clocks in it.

A set of days is one integer with a bit for each day, so that a question about every period of a
year takes a few operations and no walk from period to period.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache, reduce
from operator import or_

from kron.core.constraint import Clause, ClauseKind, Constraints, by_kind
from kron.core.days import Days, select_days
from kron.core.frozen import Frozen, derived
from kron.core.instant import DAY_S, LAST_S, to_seconds
from kron.core.schedule import Schedule
from kron.core.zone import Zone

DAYS = 366
LEAP_YEAR = datetime(2028, 1, 1, tzinfo=UTC)
"""A year for answers that must not depend on the clock."""
_MARGIN = 370
"""The longest window in days and a little more: it may begin before the year, or end after it."""
_ALL_DAYS = _MARGIN + DAYS + _MARGIN
_FIELDS = {
    ClauseKind.DAYS_OF_WEEK: "dow_mask",
    ClauseKind.DAYS_OF_MONTH: "dom_mask",
    ClauseKind.MONTHS: "month_mask",
}


class ClockChange(Frozen):
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

    __slots__ = ("_first_day", "end_s", "now_s")

    def __init__(self, now: datetime) -> None:
        self.now_s = to_seconds(now)
        self.end_s = min(self.now_s + DAYS * DAY_S, LAST_S - DAY_S)
        self._first_day = self.now_s // DAY_S - _MARGIN

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

    def matching_days(self, schedule: Schedule) -> int:
        """The days that the cron fields match; also some before and after the year."""
        return _mask(schedule.nominals.wall.days, self._first_day)

    def allowed_days(self, constraints: Constraints, without: tuple[ClauseKind, ...] = ()) -> int:
        """The days that the clauses about days leave, except clauses of the kinds in `without`."""
        allowed = (1 << _ALL_DAYS) - 1
        for clauses in by_kind(constraints.only):
            if not clauses[0].is_about_time_of_day and clauses[0].kind not in without:
                allowed &= reduce(or_, map(self._clause_days, clauses))
        for clause in constraints.avoid:
            if not clause.is_about_time_of_day and clause.kind not in without:
                allowed &= ~self._clause_days(clause)
        return allowed

    def clock_changes(self, zone: Zone) -> tuple[ClockChange, ...]:
        """When the zone's clocks are set in the coming year."""
        return _clock_changes(zone, self.now_s, self.end_s)

    def _clause_days(self, clause: Clause) -> int:
        if clause.kind in _FIELDS:
            return _mask(select_days(**{_FIELDS[clause.kind]: clause.mask}), self._first_day)
        first = max(0, self.position(clause.first))
        end = min(_ALL_DAYS, self.position(clause.last) + 1)
        return (1 << end) - (1 << first) if first < end else 0


@lru_cache(maxsize=4096)
def _mask(days: Days, first_day: int) -> int:
    return days.mask(first_day, _ALL_DAYS)


@lru_cache(maxsize=1024)
def _clock_changes(zone: Zone, from_s: int, until_s: int) -> tuple[ClockChange, ...]:
    changes = []
    span = zone.span_at(from_s)
    while span.end_s <= until_s:
        following = zone.span_at(span.end_s)
        if following.start_s == span.end_s:  # else only the zone's table ended
            changes.append(ClockChange(following.start_s, span.offset_s, following.offset_s))
        span = following
    return tuple(changes)
