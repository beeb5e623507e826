"""Crowds: jobs that are due together, found among thousands without comparing them in pairs."""

from __future__ import annotations

from collections.abc import Iterator

from kron.core.frozen import Frozen
from kron.jobs.advice.tally import Tally
from kron.jobs.entry import Entry

_MOST_ROUNDS = 64
"""How many candidates are looked at, the largest first; a hostile file could have one a minute."""


class Group:
    """Jobs whose schedules match at the same minutes of the same days."""

    __slots__ = ("days", "minutes", "numbered")

    def __init__(self, minutes: int, days: int) -> None:
        self.minutes = minutes
        self.days = days
        self.numbered: list[tuple[int, Entry]] = []
        """The jobs with their places in the order of reading."""


class Crowd(Frozen):
    """Jobs that are all due at one minute of one day."""

    entries: tuple[Entry, ...]
    """In the order of reading."""
    minutes: int
    """The minutes of the day at which all of them are due, as a mask."""
    days: int
    """The days on which all of them are due, as a mask of the year."""
    is_last: bool
    """Whether the search was given up after this one, so that there may be others."""


def find_crowds(groups: list[Group], threshold: int) -> Iterator[Crowd]:
    """Crowds of `threshold` jobs and more, the largest first; no job is in two of them."""
    passed = 0
    for round_number in range(1, _MOST_ROUNDS + 1):
        minute, count = _busiest_minute(groups, passed)
        if count < threshold:
            return
        due = [group for group in groups if group.minutes >> minute & 1]
        day, count = _busiest_day(due)
        if count < threshold:  # due at the same minute, but of different days
            passed |= 1 << minute
            continue
        members = [group for group in due if group.days >> day & 1]
        yield _crowd(members, is_last=round_number == _MOST_ROUNDS)
        left = set(map(id, members))
        groups = [group for group in groups if id(group) not in left]


def _busiest_minute(groups: list[Group], passed: int) -> tuple[int, int]:
    tally = Tally()
    for group in groups:
        tally.add(group.minutes & ~passed, len(group.numbered))
    count, minutes = tally.peak()
    return _lowest(minutes), count


def _busiest_day(groups: list[Group]) -> tuple[int, int]:
    tally = Tally()
    for group in groups:
        tally.add(group.days, len(group.numbered))
    count, days = tally.peak()
    return _lowest(days), count


def _crowd(groups: list[Group], *, is_last: bool) -> Crowd:
    minutes, days = -1, -1
    for group in groups:
        minutes &= group.minutes
        days &= group.days
    numbered = sorted(
        (pair for group in groups for pair in group.numbered), key=lambda pair: pair[0]
    )
    return Crowd(tuple(entry for _, entry in numbered), minutes, days, is_last)


def _lowest(mask: int) -> int:
    return (mask & -mask).bit_length() - 1
