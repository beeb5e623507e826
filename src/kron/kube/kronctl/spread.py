"""How far the runs of a schedule are apart, and the window and the lateness that follow from it."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache

from kron.core.errors import KronError
from kron.core.frozen import Frozen
from kron.core.instant import DAY_S, to_seconds
from kron.core.schedule import Schedule
from kron.core.zone import Zone

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
    """The gaps of a year, in its zone.

    Each crosses a midnight, and all of these are looked at, or lies within a day. All days with
    runs have the same, so that a few show them, but for those on which the clocks change.
    """
    nominals, zone = schedule.nominals, schedule.zone
    found: set[int] = set()
    walked = 0
    try:
        for day in range(_DAYS):
            midnight_s, end_s = _midnight_s(zone, day), _midnight_s(zone, day + 1)
            following_s = nominals.after(midnight_s - 1)
            found.add(following_s - nominals.at_or_before(midnight_s - 1))
            is_usual = end_s - midnight_s == DAY_S
            if following_s >= end_s or (is_usual and walked >= _WALKED_DAYS):
                continue
            walked += is_usual
            while following_s < end_s:
                nominal_s, following_s = following_s, nominals.after(following_s)
                found.add(following_s - nominal_s)
    except KronError:  # a schedule that ends within the years that Kron covers
        pass
    return Gaps(min(found, default=0), max(found, default=0))


def _midnight_s(zone: Zone, day: int) -> int:
    """When a day of the year begins, also if its midnight is skipped."""
    wall_s = _START_S + day * DAY_S
    span = zone.first_span_showing(wall_s)
    return max(wall_s - span.offset_s, span.start_s)


def proposed_s(schedule: Schedule) -> int:
    """The window that `--spread auto` gives, in seconds; 0 for none."""
    window_s = min(gaps(schedule).shortest_s // SHARE, LONGEST_S)
    if window_s < SHORTEST_S:
        return 0
    return window_s - window_s % (60 if window_s >= 60 else SHORTEST_S)
