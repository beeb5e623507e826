"""The outlook of a constrained schedule: which periods of the coming year find a second to run.

Feasibility is exact for one period. The periods of a year fall into classes that are alike (same
time of day, same days allowed), and one of each class is asked; those near a change of the clocks
are asked one by one. Where that would be too much work, a sample is taken evenly.
"""

from __future__ import annotations

from collections.abc import Iterator

from kron.core.constraint import MINUTES_A_DAY, ClauseKind
from kron.core.cron import Cron
from kron.core.feasibility import Feasibility, feasibility
from kron.core.instant import DAY_S, to_datetime
from kron.core.schedule import Schedule
from kron.jobs.advice.days import restricts
from kron.jobs.advice.minutes import accepted_minutes
from kron.jobs.advice.year import Year, positions

_CERTAIN = 1 - 1e-9
_MOST_TIMES = 48
_MOST_DAYS = 64
_MOST_RUNS = 4096
"""How many runs of accepted seconds are weighed for one schedule (or those of one period, if that
has more): what bounds the cost of a hostile one."""

_IMPOSSIBLE = Feasibility(0.0, 1.0)
_SURE = Feasibility(1.0, 0.0)


class Outlook:
    """What was found. It is filled by `outlook`, and then only read."""

    __slots__ = (
        "excluded",
        "excluded_by_clocks",
        "first_excluded_s",
        "intended",
        "is_sample",
        "looked_at",
        "risk",
        "total",
        "worst",
        "worst_s",
    )

    def __init__(self, total: int) -> None:
        self.total = total
        """How many periods the year has, but for what changes of the clocks add or take."""
        self.looked_at = 0
        self.is_sample = False
        """Whether some periods were not looked at."""
        self.excluded = 0
        """How many of them cannot run, although the cron expression could have said so."""
        self.excluded_by_clocks = 0
        """How many of those only meet a change of the clocks."""
        self.intended = 0
        """How many more cannot run by what only a constraint can say, such as a date."""
        self.risk = 0.0
        """The chances of the others to find no second, added up."""
        self.worst = _SURE
        self.worst_s = 0
        """The nominal instant of the period that most likely finds no second of those that may."""
        self.first_excluded_s: int | None = None

    @property
    def runnable(self) -> int:
        """How many periods can run."""
        return self.looked_at - self.excluded - self.intended

    @property
    def mean_risk(self) -> float:
        """How likely a period that can run is to find no second."""
        return self.risk / self.runnable if self.runnable else 0.0

    def add(
        self, found: Feasibility, count: int, nominal_s: int, *, intended: bool = False
    ) -> None:
        """Count periods that are alike, of which the one at `nominal_s` is the first."""
        self.looked_at += count
        if found.unschedulable < _CERTAIN:
            self.risk += count * found.unschedulable
            if found.unschedulable > self.worst.unschedulable:
                self.worst, self.worst_s = found, nominal_s
        elif intended:
            self.intended += count
        else:
            self.excluded += count
            if self.first_excluded_s is None or nominal_s < self.first_excluded_s:
                self.first_excluded_s = nominal_s


def outlook(schedule: Schedule, year: Year) -> Outlook:
    """The outlook of a schedule that has constraints."""
    days = year.cron_days(schedule.cron) & year.coming(schedule.zone)
    times_a_day = schedule.nominals.wall.matches_a_day
    surveyor = _Surveyor(schedule, year, Outlook(days.bit_count() * times_a_day))
    for time_s in surveyor.times():
        surveyor.survey(time_s, days)
    return surveyor.found


class _Surveyor:
    """Goes through the times of day of one schedule and counts what it finds."""

    def __init__(self, schedule: Schedule, year: Year, found: Outlook) -> None:
        self._schedule = schedule
        self._year = year
        self.found = found
        self._minutes = accepted_minutes(schedule)
        self._allowed = year.allowed_days(schedule.constraints)
        without = _beyond_cron(schedule.cron)
        self._beyond = self._allowed ^ year.allowed_days(schedule.constraints, without)
        most_days = schedule.width_s // DAY_S + 2
        runs = (self._minutes & ~(self._minutes << 1)).bit_count()
        self._budget = max(1, _MOST_RUNS // (most_days * max(1, runs)))
        self._near_changes: set[int] = set()

    def times(self) -> Iterator[int]:
        """The times of day in seconds, or an even sample of them."""
        cron = self._schedule.cron
        hours, minutes = list(positions(cron.hour.mask)), list(positions(cron.minute.mask))
        total = len(hours) * len(minutes)
        # A time of day asks up to three times, and more near changes of the clocks.
        count = min(total, _MOST_TIMES, max(1, self._budget // 8))
        self.found.is_sample |= count < total
        for index in range(count):
            hour, minute = divmod(index * total // count, len(minutes))
            yield hours[hour] * 3600 + minutes[minute] * 60

    def survey(self, time_s: int, days: int) -> None:
        """Count the periods at one time of day on these days."""
        start_s = time_s + self._schedule.start_offset_s
        first, last = start_s // DAY_S, (start_s + self._schedule.width_s) // DAY_S
        if last - first > 1:
            self._sample(time_s, days, first, last)
            return
        near = self._days_near_changes(time_s, start_s) & days
        if near:
            days ^= near
            for position in positions(near):
                self._ask_real_periods(position, time_s)
        # The window touches one day or two, and each of them is allowed or not.
        allowed = _shifted(self._allowed, first)
        also = allowed if last == first else _shifted(self._allowed, last)
        minute, length_s = start_s % DAY_S // 60, start_s % 60 + self._schedule.width_s
        touched = (2 << length_s // 60) - 1 << minute
        of_first = self._minutes & touched
        of_last = self._minutes << MINUTES_A_DAY & touched
        for alike, accepted in (
            (days & allowed & also, of_first | of_last),
            (days & allowed & ~also, of_first),
            (days & ~allowed & also, of_last),
            (days & ~allowed & ~also, 0),
        ):
            if not alike:
                continue
            if accepted == touched:
                self.found.looked_at += alike.bit_count()
            elif accepted:
                nominal_s = self._instant(alike, time_s)
                self.found.add(self._ask(nominal_s), alike.bit_count(), nominal_s)
            else:
                beyond = _shifted(self._beyond, first) | _shifted(self._beyond, last)
                self._add_impossible(alike & ~beyond, time_s, intended=False)
                self._add_impossible(alike & beyond, time_s, intended=True)

    def _add_impossible(self, days: int, time_s: int, *, intended: bool) -> None:
        if days:
            nominal_s = self._instant(days, time_s)
            self.found.add(_IMPOSSIBLE, days.bit_count(), nominal_s, intended=intended)

    def _sample(self, time_s: int, days: int, first: int, last: int) -> None:
        """Ask for some of the periods of a window that touches many days."""
        chosen = list(positions(days))
        count = min(len(chosen), _MOST_DAYS, self._budget)
        self.found.is_sample |= count < len(chosen)
        touched = (1 << last - first + 1) - 1
        known: dict[int, Feasibility] = {}
        for index in range(count):
            position = chosen[index * len(chosen) // count]
            pattern = _shifted(self._allowed, position + first) & touched
            nominal_s = self._instant(1 << position, time_s)
            found = known.get(pattern) if pattern else _IMPOSSIBLE
            if found is None or self._has_a_change(nominal_s):
                found = known[pattern] = self._ask(nominal_s)
            beyond = _shifted(self._beyond, position + first) & touched
            self.found.add(found, 1, nominal_s, intended=bool(beyond))

    def _days_near_changes(self, time_s: int, start_s: int) -> int:
        """The days on which the window or the nominal instant meets a change of the clocks."""
        near = 0
        low_s, high_s = min(time_s, start_s), max(time_s, start_s + self._schedule.width_s)
        for change in self._year.changes(self._schedule.zone):
            first_day = -((high_s - change.first_s) // DAY_S)
            last_day = (change.end_s - 1 - low_s) // DAY_S
            for day in range(first_day, last_day + 1):
                near |= 1 << self._year.position(day)
        return near

    def _ask_real_periods(self, position: int, time_s: int) -> None:
        """Ask for the periods that a wall time near a change has: none, one or two."""
        schedule = self._schedule
        wall_s = self._year.day(position) * DAY_S + time_s
        first = schedule.zone.first_span_showing(wall_s)
        nominal_s = wall_s - first.offset_s
        if nominal_s < first.start_s:
            if not schedule.cron.is_fixed:
                return
            nominal_s = schedule.nominals.after(first.start_s - 1)
            moved_to_s = nominal_s + first.offset_s
            if schedule.nominals.wall.at_or_after(moved_to_s) == moved_to_s:
                return  # that time has a period anyway, which is counted as its own
        nominals_s = {nominal_s}
        last = schedule.zone.last_span_showing(wall_s)
        if last.start_s > first.start_s and not schedule.cron.is_fixed:
            nominals_s.add(wall_s - last.offset_s)
        # Times that a gap swallows share one period, so it may have been counted.
        for new_s in sorted(nominals_s - self._near_changes):
            self._near_changes.add(new_s)
            excluded = self.found.excluded
            self.found.add(self._ask(new_s), 1, new_s, intended=self._is_beyond(new_s))
            self.found.excluded_by_clocks += self.found.excluded - excluded

    def _is_beyond(self, nominal_s: int) -> bool:
        """Whether a clause that only a constraint can say had a part in it."""
        zone, start_s = self._schedule.zone, nominal_s + self._schedule.start_offset_s
        first = zone.wall_at(start_s) // DAY_S
        last = zone.wall_at(start_s + self._schedule.width_s) // DAY_S
        position = self._year.position(first)
        return bool(_shifted(self._beyond, position) & (2 << last - first) - 1)

    def _has_a_change(self, nominal_s: int) -> bool:
        start_s = nominal_s + self._schedule.start_offset_s
        return self._schedule.zone.span_at(start_s).end_s <= start_s + self._schedule.width_s

    def _instant(self, days: int, time_s: int) -> int:
        """The nominal instant at a time of the first of some days."""
        day = self._year.day((days & -days).bit_length() - 1)
        wall_s = day * DAY_S + time_s
        return wall_s - self._schedule.zone.first_span_showing(wall_s).offset_s

    def _ask(self, nominal_s: int) -> Feasibility:
        return feasibility(self._schedule, nominal=to_datetime(nominal_s))


def _beyond_cron(cron: Cron) -> tuple[ClauseKind, ...]:
    """The clauses about days that this cron expression could not have said itself.

    With both day fields restricted either is enough, so a restriction on the other needs `@only`.
    """
    kinds = [ClauseKind.DATES]
    if restricts(cron.day_of_month):
        kinds.append(ClauseKind.DAYS_OF_WEEK)
    if restricts(cron.day_of_week):
        kinds.append(ClauseKind.DAYS_OF_MONTH)
    return tuple(kinds)


def _shifted(days: int, by: int) -> int:
    return days >> by if by >= 0 else days << -by
