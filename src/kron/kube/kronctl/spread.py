"""How far the runs of a schedule are apart, and the window and the lateness that follow from it."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache

from kron.core.errors import KronError
from kron.core.frozen import Frozen
from kron.core.instant import DAY_S, to_seconds
from kron.core.schedule import Schedule

AUTO = "auto"
SHARE = 10
"""A proposed window is a tenth of the shortest gap."""
LONGEST_S = 3_600
SHORTEST_S = 30
"""A shorter one would smooth next to nothing."""

_START_S = to_seconds(datetime(2028, 1, 1, tzinfo=UTC))
"""Gaps are looked for in this leap year, whatever the year is: the clock must not show."""
_DAYS = 366
_WALKED_DAYS = 3


class Gaps(Frozen):
    """The shortest and the longest time between two consecutive periods."""

    shortest_s: int
    longest_s: int


@lru_cache(maxsize=1024)
def gaps(schedule: Schedule) -> Gaps:
    """The gaps of a year. Each lies within a day, which a few days show, or crosses a midnight."""
    nominals = schedule.nominals
    found: set[int] = set()
    walked = 0
    try:
        for day in range(_DAYS):
            midnight_s = _START_S + day * DAY_S
            following_s = nominals.after(midnight_s - 1)
            found.add(following_s - nominals.at_or_before(midnight_s - 1))
            if following_s < midnight_s + DAY_S and walked < _WALKED_DAYS:
                walked += 1
                while following_s < midnight_s + DAY_S:
                    nominal_s, following_s = following_s, nominals.after(following_s)
                    found.add(following_s - nominal_s)
    except KronError:  # a schedule that ends within the years that Kron covers
        pass
    return Gaps(min(found, default=0), max(found, default=0))


def proposed_s(schedule: Schedule) -> int:
    """The window that `--spread auto` gives, in seconds; 0 for none."""
    window_s = min(gaps(schedule).shortest_s // SHARE, LONGEST_S)
    if window_s < SHORTEST_S:
        return 0
    return window_s - window_s % (60 if window_s >= 60 else SHORTEST_S)
