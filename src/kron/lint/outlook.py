"""The outlook of a constrained schedule: which periods of the coming year find a second to run.

Feasibility is exact for one period, and takes 5 to 40 microseconds, so that all periods of a job
that runs every minute would take seconds. Instead, the periods fall into classes (same time of day,
same days allowed), and one period of each class is checked. Near changes of the clocks, and where a
window touches many days, periods are taken one by one. Where that is too much work, an even sample
is checked.
"""

from __future__ import annotations

from collections.abc import Iterator

from kron.core.bits import lowest, positions
from kron.core.constraint import MINUTES_A_DAY, ClauseKind
from kron.core.cron import Cron
from kron.core.feasibility import Feasibility, feasibility
from kron.core.instant import DAY_S, to_datetime
from kron.core.schedule import Schedule
from kron.core.year import Year

_CERTAIN = 1 - 1e-9
_MOST_TIMES = 48
_MOST_DAYS = 64
_MOST_RUNS = 4096
"""The most runs of accepted seconds to weigh for one schedule (or for one period, if it has more).
It bounds the cost of a hostile schedule."""

_IMPOSSIBLE = Feasibility(0.0, 1.0)


class Outlook:
    """The result. `outlook` fills it; afterwards it is only read."""

    def __init__(self, total: int) -> None:
        self.total = total
        """The number of periods in the year, without those that clock changes add or remove."""
        self.looked_at = 0
        self.is_sample = False
        """Whether some periods were not checked."""
        self.excluded = 0
        """Periods that cannot run, although the cron expression could have excluded them."""
        self.excluded_by_clocks = 0
        """Those of them that only a change of the clocks excludes."""
        self.intended = 0
        """Other periods that cannot run, because of a clause that cron cannot express."""
        self.risk = 0.0
        """The sum of the other periods' probabilities to find no second."""
        self.worst = Feasibility(1.0, 0.0)
        self.worst_s = 0
        """The nominal instant of the runnable period that is most likely to find no second."""
        self.first_excluded_s: int | None = None

    @property
    def runnable(self) -> int:
        return self.looked_at - self.excluded - self.intended

    @property
    def mean_risk(self) -> float:
        """How likely a period that can run is to find no second."""
        return self.risk / self.runnable if self.runnable else 0.0

    def add(self, found: Feasibility, count: int, nominal_s: int, *, intended: bool) -> None:
        """Count periods of one class; the first of them is at `nominal_s`."""
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
    return _Surveyor(schedule, year).survey()


class _Surveyor:
    def __init__(self, schedule: Schedule, year: Year) -> None:
        self._schedule = schedule
        self._year = year
        self._days = year.matching_days(schedule) & year.coming(schedule.zone)
        self._found = Outlook(self._days.bit_count() * schedule.nominals.wall.matches_a_day)
        self._minutes = schedule.constraints.minutes
        self._allowed = year.allowed_days(schedule.constraints)
        without = _beyond_cron(schedule.cron)
        self._beyond = self._allowed ^ year.allowed_days(schedule.constraints, without)
        most_days = schedule.width_s // DAY_S + 2
        runs = (self._minutes & ~(self._minutes << 1)).bit_count()
        self._budget = max(1, _MOST_RUNS // (most_days * max(1, runs)))
        self._known: dict[tuple[int, int], Feasibility] = {}

    def survey(self) -> Outlook:
        times_s = list(self._times())
        days = self._days
        if not self._found.is_sample:
            for first_day, last_day in self._days_near_changes():
                span = (2 << last_day - first_day) - 1 << self._year.position(first_day)
                self._weigh_days(days & span)
                days &= ~span
        for time_s in times_s:
            self._count_classes(time_s, days)
        return self._found

    def _times(self) -> Iterator[int]:
        """The times of day in seconds, or an even sample of them."""
        cron = self._schedule.cron
        hours, minutes = list(positions(cron.hour.mask)), list(positions(cron.minute.mask))
        total = len(hours) * len(minutes)
        # A time of day needs up to three checks, and more near changes of the clocks.
        count = min(total, _MOST_TIMES, max(1, self._budget // 8))
        self._found.is_sample |= count < total
        for index in range(count):
            hour, minute = divmod(index * total // count, len(minutes))
            yield hours[hour] * 3600 + minutes[minute] * 60

    def _count_classes(self, time_s: int, days: int) -> None:
        """Count the periods at one time of day.

        If their windows touch one day or two, each of these days is allowed or not.
        """
        start_s = time_s + self._schedule.start_offset_s
        first, last = start_s // DAY_S, (start_s + self._schedule.width_s) // DAY_S
        if last - first > 1:
            self._weigh_sample(time_s, days)
            return
        allowed, also = _shifted(self._allowed, first), _shifted(self._allowed, last)
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
            if accepted == touched:
                self._found.looked_at += alike.bit_count()
            elif accepted and alike:
                nominal_s = self._instant(alike, time_s)
                self._found.add(self._ask(nominal_s), alike.bit_count(), nominal_s, intended=False)
            else:
                beyond = _shifted(self._beyond, first) | _shifted(self._beyond, last)
                for impossible, intended in ((alike & ~beyond, False), (alike & beyond, True)):
                    if impossible:
                        nominal_s = self._instant(impossible, time_s)
                        count = impossible.bit_count()
                        self._found.add(_IMPOSSIBLE, count, nominal_s, intended=intended)

    def _weigh_sample(self, time_s: int, days: int) -> None:
        """Count some of the periods at one time of day, whose windows touch many days."""
        chosen = list(positions(days))
        count = min(len(chosen), _MOST_DAYS, self._budget)
        self._found.is_sample |= count < len(chosen)
        for index in range(count):
            position = chosen[index * len(chosen) // count]
            self._weigh(self._instant(1 << position, time_s))

    def _days_near_changes(self) -> Iterator[tuple[int, int]]:
        """The first and last day on which a period or its window may meet a change of the clocks.

        Windows of many days meet one so often that only a sample of them is weighed.
        """
        start_s = self._schedule.start_offset_s
        end_s = start_s + self._schedule.width_s
        if end_s - start_s >= 2 * DAY_S:
            return
        for change in self._year.clock_changes(self._schedule.zone):
            first_day = (change.first_s - max(end_s, 0)) // DAY_S - 1
            yield first_day, (change.end_s - min(start_s, 0)) // DAY_S

    def _weigh_days(self, days: int) -> None:
        """Count the periods of these days, whatever the clocks make of the times of day."""
        if not days:
            return
        wall = self._schedule.zone.wall_at
        nominals = self._schedule.nominals
        nominal_s = nominals.after(self._instant(days, 0) - 1)
        while (position := self._year.position(wall(nominal_s) // DAY_S)) < days.bit_length():
            if days >> position & 1:
                self._weigh(nominal_s)
            nominal_s = nominals.after(nominal_s)

    def _weigh(self, nominal_s: int) -> None:
        """Count one period. Windows with the same times of the same kinds of days are alike."""
        zone = self._schedule.zone
        start_s = nominal_s + self._schedule.start_offset_s
        end_s = start_s + self._schedule.width_s
        span = zone.span_at(start_s)
        has_change = span.end_s <= end_s
        first_day, second_of_day = divmod(start_s + span.offset_s, DAY_S)
        first = self._year.position(first_day)
        touched = (2 << zone.wall_at(end_s) // DAY_S - first_day) - 1
        allowed = self._allowed >> first & touched
        found = self._known.get((second_of_day, allowed)) if allowed else _IMPOSSIBLE
        if found is None or has_change:
            found = self._ask(nominal_s)
            if not has_change:
                self._known[second_of_day, allowed] = found
        excluded = self._found.excluded
        intended = bool(self._beyond >> first & touched)
        self._found.add(found, 1, nominal_s, intended=intended)
        if has_change or span.start_s == start_s:
            self._found.excluded_by_clocks += self._found.excluded - excluded

    def _instant(self, days: int, time_s: int) -> int:
        """The nominal instant at a time of the first of some days."""
        wall_s = self._year.day(lowest(days)) * DAY_S + time_s
        return wall_s - self._schedule.zone.first_span_showing(wall_s).offset_s

    def _ask(self, nominal_s: int) -> Feasibility:
        return feasibility(self._schedule, nominal=to_datetime(nominal_s))


def _beyond_cron(cron: Cron) -> tuple[ClauseKind, ...]:
    """The clauses about days that this cron expression cannot express.

    If both day fields are restricted, either is enough, so a second restriction needs `@only`.
    """
    kinds = [ClauseKind.DATES]
    if not cron.day_of_month.is_every:
        kinds.append(ClauseKind.DAYS_OF_WEEK)
    if not cron.day_of_week.is_every:
        kinds.append(ClauseKind.DAYS_OF_MONTH)
    return tuple(kinds)


def _shifted(days: int, by: int) -> int:
    return days >> by if by >= 0 else days << -by
