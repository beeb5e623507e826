"""The fleet: jobs that start together, because they have no window or share one that is too narrow.

Jobs are compared within a time zone. Crowds are found among thousands of jobs without comparing
pairs, and each gets one remark, at its first job.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import reduce
from itertools import chain
from operator import and_, itemgetter

from kron.core.bits import least_spacing, lowest, positions
from kron.core.distribution import DEFAULT_DISTRIBUTION, Distribution
from kron.core.frozen import Frozen
from kron.core.schedule import Schedule
from kron.core.window import Mode
from kron.core.year import DAYS, Year
from kron.jobs.entry import Entry
from kron.lint.remark import SCHEDULE, Advice, Remark
from kron.lint.wording import clipped, date_text, duration, listed, time_text

_MANY = 5
"""The fewest jobs in one second that are worth a warning."""
_CROWDED = 2.0
"""The mean starts in a second of a window that are worth a warning."""
_OFTEN_A_DAY = 96
_SECONDS_EACH = 10
_PROPOSED_S = (60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400)
_MOST_ROUNDS = 64
"""The most candidates to check, the largest first; a hostile file could have one a minute."""


Groups = dict[tuple[int, int], list[tuple[int, Entry]]]
"""From minutes of the day and days of the year, as masks, to the jobs that are due at these minutes
of these days. Each job has its number in the order of reading."""


class Crowd(Frozen):
    """Jobs that are all due at one minute of one day."""

    entries: tuple[Entry, ...]
    """In the order of reading."""
    minutes: int
    """The minutes of the day at which all of them are due, as a mask."""
    days: int
    """The days on which all of them are due, as a mask of the year."""


class Fleet:
    """All jobs of a configuration, collected one by one and then checked together."""

    def __init__(self, year: Year) -> None:
        self._year = year
        self._count = 0
        self._windowless: dict[str, Groups] = {}
        self._windowed: dict[tuple[str, Mode, int, Distribution | None], Groups] = {}

    def add(self, entry: Entry) -> None:
        schedule = entry.schedule
        self._count += 1
        if schedule.policy.suspend or schedule.is_at_boot:
            return
        zone = schedule.zone
        days = self._year.matching_days(schedule) & self._year.coming(zone)
        minutes = schedule.nominals.wall.minutes_of_day
        if not schedule.width_s:
            if not schedule.constraints.is_empty:
                days &= self._year.allowed_days(schedule.constraints)
                minutes &= schedule.constraints.minutes
            groups = self._windowless.setdefault(zone.key, {})
        elif schedule.constraints.is_empty:  # with constraints, the busy seconds are not known
            window, distribution = schedule.window, schedule.distribution
            usual = distribution is DEFAULT_DISTRIBUTION  # hashing it for every job is slow
            key = (zone.key, window.mode, window.duration_ns, None if usual else distribution)
            groups = self._windowed.setdefault(key, {})
        else:
            return
        groups.setdefault((minutes, days), []).append((self._count, entry))

    def remarks(self) -> Iterator[tuple[Entry, Remark]]:
        """A remark for each crowd, with the job to show it for."""
        for groups in self._windowless.values():
            for crowd in _find_crowds(groups, _threshold(groups)):
                yield crowd.entries[0], self._same_second(crowd)
        for groups in self._windowed.values():
            [(_, first), *_], *_ = groups.values()
            share = busiest_share(first.schedule)
            for crowd in _find_crowds(groups, math.ceil(_CROWDED / share)):
                yield crowd.entries[0], self._crowded(crowd, share)

    def _same_second(self, crowd: Crowd) -> Remark:
        count = len(crowd.entries)
        what = f"{count:,} jobs without a window start in the same second"
        message = f"{what}, at {self._times(crowd)}: {_names(crowd)}"
        fix = f"spread them, for example with {_proposed(count, crowd)}"
        return Remark(Advice.FLEET_SAME_SECOND, SCHEDULE, message, fix)

    def _crowded(self, crowd: Crowd, share: float) -> Remark:
        count, window = len(crowd.entries), crowd.entries[0].schedule.window
        message = (
            f"{count:,} jobs share {window} at {self._times(crowd)}: in its busiest second "
            f"{count * share:.1f} of them start on average: {_names(crowd)}"
        )
        fix = "use a wider window, or a flatter distribution"
        return Remark(Advice.FLEET_CROWDED, "@win", message, fix)

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


def _threshold(groups: Groups) -> int:
    """How many jobs in a second are a crowd: more than meet by chance in a large fleet.

    Jobs whose minutes are spread evenly still meet now and then. One that runs every 15 minutes or
    more often meets others whatever its minutes are, so it does not count towards the mean.
    """
    mean = sum(
        len(jobs) * minutes.bit_count() * days.bit_count()
        for (minutes, days), jobs in groups.items()
        if minutes.bit_count() <= _OFTEN_A_DAY
    ) / (1440 * DAYS)
    return max(_MANY, math.ceil(mean + 5 * math.sqrt(mean)))


def _names(crowd: Crowd) -> str:
    return listed([clipped(entry.name) for entry in crowd.entries])


def _proposed(count: int, crowd: Crowd) -> str:
    """A window with some seconds for each job that does not reach the next period."""
    gap_s = 60 * (least_spacing(crowd.minutes) or 1440)
    wanted_s = count * _SECONDS_EACH
    fitting = [length_s for length_s in _PROPOSED_S if length_s <= gap_s]
    length_s = next((length_s for length_s in fitting if length_s >= wanted_s), fitting[-1])
    return f"@win(after,{duration(length_s)})"


def _find_crowds(groups: Groups, threshold: int) -> Iterator[Crowd]:
    """Crowds of at least `threshold` jobs, the largest first; no job is in two of them."""
    passed = 0
    for _ in range(_MOST_ROUNDS):
        count, minutes = busiest((key[0] & ~passed, len(jobs)) for key, jobs in groups.items())
        if count < threshold:
            return
        minute = lowest(minutes)
        due = {key: jobs for key, jobs in groups.items() if key[0] >> minute & 1}
        count, days = busiest((key[1], len(jobs)) for key, jobs in due.items())
        if count < threshold:  # due at the same minute, but of different days
            passed |= 1 << minute
            continue
        day = lowest(days)
        members = {key: jobs for key, jobs in due.items() if key[1] >> day & 1}
        yield _crowd(members)
        groups = {key: jobs for key, jobs in groups.items() if key not in members}


def _crowd(groups: Groups) -> Crowd:
    minutes, days = (reduce(and_, masks) for masks in zip(*groups, strict=True))
    numbered = sorted(chain(*groups.values()), key=itemgetter(0))
    return Crowd(tuple(entry for _, entry in numbered), minutes, days)


def busiest(counted: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """The most jobs that share a bit, and the bits that they share; from masks and their jobs.

    All bits are counted at once. The counts are binary numbers written downwards, one mask for each
    binary digit, so that adding a mask takes a few operations on integers however many bits it has.
    """
    planes: list[int] = []
    for mask, jobs in counted:
        planes.extend([0] * (jobs.bit_length() - len(planes)))
        for digit in positions(jobs):
            place, carry = digit, mask
            while carry:
                if place == len(planes):
                    planes.append(0)
                planes[place], carry = planes[place] ^ carry, planes[place] & carry
                place += 1
    count, highest = 0, -1
    for digit in range(len(planes) - 1, -1, -1):
        if above := highest & planes[digit]:
            highest = above
            count |= 1 << digit
    return (count, highest) if count else (0, 0)
