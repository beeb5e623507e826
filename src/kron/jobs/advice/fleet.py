"""The fleet: jobs that start together, because they have no window or share too narrow a one.

Jobs are compared within a time zone. A remark is made once for a crowd, about its first job.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from kron.core.distribution import DEFAULT_DISTRIBUTION, Distribution
from kron.core.duration import SECOND_NS
from kron.core.instant import DAY_S
from kron.core.schedule import Schedule
from kron.core.window import Mode
from kron.jobs.advice.crowd import Crowd, Group, find_crowds
from kron.jobs.advice.minutes import accepted_minutes, matching_minutes
from kron.jobs.advice.remark import SCHEDULE, Advice, Remark, modifier
from kron.jobs.advice.wording import clipped, date_text, duration, listed, time_text
from kron.jobs.advice.year import DAYS, Year, least_spacing, positions
from kron.jobs.entry import Entry

_MANY = 5
"""So many jobs in one second are worth a word."""
_CROWDED = 2.0
"""So many starts in a second on average, inside a window that is there to spread them."""
_OFTEN_A_DAY = 96
_SECONDS_EACH = 10
_PROPOSED_S = (60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400)
_LONGEST_S = DAY_S

_Groups = dict[tuple[int, int], Group]


class Fleet:
    """All jobs of a configuration, gathered one by one and then judged together."""

    def __init__(self, year: Year) -> None:
        self._year = year
        self._count = 0
        self._windowless: dict[str, _Groups] = {}
        self._windowed: dict[tuple[str, Mode, int, Distribution | None], _Groups] = {}

    def add(self, entry: Entry) -> None:
        """Take a job into account."""
        schedule = entry.schedule
        self._count += 1
        if schedule.policy.suspend:
            return
        zone = schedule.zone
        days = self._year.cron_days(schedule.cron) & self._year.coming(zone)
        minutes = matching_minutes(schedule)
        if not schedule.width_s:
            if schedule.constraints:
                days &= self._year.allowed_days(schedule.constraints)
                minutes &= accepted_minutes(schedule)
            groups = self._windowless.setdefault(zone.key, {})
        elif not schedule.constraints:  # else it cannot be said which seconds are the busy ones
            window, distribution = schedule.window, schedule.distribution
            usual = distribution is DEFAULT_DISTRIBUTION  # hashing it for every job takes its time
            key = (zone.key, window.mode, window.duration_ns, None if usual else distribution)
            groups = self._windowed.setdefault(key, {})
        else:
            return
        group = groups.get((minutes, days))
        if group is None:
            group = groups[minutes, days] = Group(minutes, days)
        group.numbered.append((self._count, entry))

    def remarks(self) -> Iterator[tuple[Entry, Remark]]:
        """A remark for each crowd, with the job to show it at."""
        for by_time in self._windowless.values():
            groups = list(by_time.values())
            for crowd in find_crowds(groups, _threshold(groups)):
                yield crowd.entries[0], self._same_second(crowd)
        for by_time in self._windowed.values():
            groups = list(by_time.values())
            schedule = groups[0].numbered[0][1].schedule
            share = busiest_share(schedule)
            for crowd in find_crowds(groups, math.ceil(_CROWDED / share)):
                yield crowd.entries[0], self._crowded(crowd, share)

    def _same_second(self, crowd: Crowd) -> Remark:
        count = len(crowd.entries)
        return Remark(
            Advice.FLEET_SAME_SECOND,
            SCHEDULE,
            f"{count:,} jobs without a window start in the same second, at "
            f"{self._times(crowd)}: {_names(crowd)}",
            f"spread them, for example by {_proposed(count, crowd)}",
        )

    def _crowded(self, crowd: Crowd, share: float) -> Remark:
        schedule = crowd.entries[0].schedule
        count = len(crowd.entries)
        return Remark(
            Advice.FLEET_CROWDED,
            modifier("win"),
            f"{count:,} jobs share {schedule.window} at {self._times(crowd)}: in its busiest "
            f"second {count * share:.1f} of them start on average: {_names(crowd)}",
            _widened(schedule, count),
        )

    def _times(self, crowd: Crowd) -> str:
        minutes = [time_text(minute * 60) for minute in positions(crowd.minutes)]
        zone = crowd.entries[0].schedule.zone
        if crowd.days.bit_count() == DAYS:
            days = "every day"
        else:
            dates = [date_text(self._year.day(position)) for position in positions(crowd.days)]
            days = f"on {dates[0]}" if len(dates) == 1 else f"on {len(dates)} days from {dates[0]}"
        return f"{listed(minutes)} ({zone.key}) {days}"


def busiest_share(schedule: Schedule) -> float:
    """The share of choices that fall on the likeliest second of the window (or near it).

    The likeliest second of every distribution is at an end of the window or at its median.
    """
    law = schedule.law
    assert law is not None  # there is a window
    seconds = schedule.width_s + 1
    shares = []
    for u in (0.0, 0.5, 1.0):
        second = min(max(math.floor(law.quantile(u) * seconds), 0), schedule.width_s)
        shares.append(law.cumulative((second + 1) / seconds) - law.cumulative(second / seconds))
    return max(*shares, 1 / seconds)


def _threshold(groups: list[Group]) -> int:
    """How many jobs in a second are a crowd: more than chance brings together in a large fleet.

    Jobs whose minutes are spread evenly still meet now and then. One that runs every ten minutes
    or more often meets others whatever its minutes are, so it does not count towards the mean.
    """
    mean = sum(
        len(group.numbered) * group.minutes.bit_count() * group.days.bit_count()
        for group in groups
        if group.minutes.bit_count() <= _OFTEN_A_DAY
    ) / (1440 * DAYS)
    return max(_MANY, math.ceil(mean + 5 * math.sqrt(mean)))


def _names(crowd: Crowd) -> str:
    more = "; there may be more such groups" if crowd.is_last else ""
    return listed([clipped(entry.name) for entry in crowd.entries]) + more


def _proposed(count: int, crowd: Crowd) -> str:
    """A window that gives each job some seconds of its own, and does not reach the next period."""
    gap_s = 60 * (least_spacing(crowd.minutes) or 1440)
    wanted_s = count * _SECONDS_EACH
    fitting = [length_s for length_s in _PROPOSED_S if length_s <= gap_s]
    length_s = next((length_s for length_s in fitting if length_s >= wanted_s), fitting[-1])
    return f"@win(after,{duration(length_s)})"


def _widened(schedule: Schedule, count: int) -> str:
    window = schedule.window
    while window.width_s < _LONGEST_S:
        window = window.replace(duration_ns=2 * window.duration_ns)
        if count * busiest_share(schedule.replace(window=window)) < 1:
            length_s = -(-window.duration_ns // (60 * SECOND_NS)) * 60
            return f"@win({window.mode},{duration(length_s)}) would bring that below one"
    return "use a flatter distribution and a wider window"
