"""Busy minutes, and how a scattered time keeps clear of them inside its window.

Two passes (section 6.4 of seed 004) move a minute away from the hour and from the minutes that
everybody picks. They can move it out of its window as well. The window comes first (R-SAFE-001):
then the nearest minute inside that is not busy is taken, and if there is none, the raw one.
"""

from __future__ import annotations

from kron.fuzzy.pattern import DAY_MINUTES

_EU_MORNING = range(6, 10)
_US_BUSINESS = range(14, 19)


def settle(first: int, width: int, seed: int) -> tuple[int, bool]:
    """The minute that `seed` picks in a window, and whether it is a busy one after all.

    The window goes from the minute `first` to the minute `first + width`, both included. Minutes
    count from a midnight: a negative one lies on the day before, one from 1440 on the day after.
    """
    raw = first + seed % width
    moved = avoid(raw)
    if first <= moved <= first + width:
        return moved, False
    return _nearest_free(raw, first, first + width)


def avoid(minute: int) -> int:
    """Both passes over a minute of the day, in the order that the seed prescribes."""
    hour, minute_of_hour = divmod(minute % DAY_MINUTES, 60)
    moved = avoid_peak_minutes(hour, avoid_hour_boundary(minute_of_hour))
    return minute - minute_of_hour + moved


def avoid_hour_boundary(minute: int) -> int:
    """Five minutes away from the turn of the hour, for the minutes next to it."""
    if minute < 5:
        return minute + 5
    return minute - 5 if minute > 54 else minute


def avoid_peak_minutes(hour: int, minute: int) -> int:
    """Past the half hour in Europe's morning, past the quarters in the US business hours."""
    if hour in _EU_MORNING and 27 <= minute <= 33:
        return 34
    if hour in _US_BUSINESS:
        if 12 <= minute <= 18:
            return 19
        if 42 <= minute <= 48:
            return 49
    return minute


def _nearest_free(raw: int, first: int, last: int) -> tuple[int, bool]:
    """The minute nearest to `raw` that is not busy; `raw` if all are.

    Two can never be as near: the middle of a busy run is moved to its end, which is then outside.
    """
    for distance in range(1, last - first + 1):
        for minute in (raw - distance, raw + distance):
            if first <= minute <= last and avoid(minute) == minute:
                return minute, False
    return raw, True
