"""A second reading of the specification of scattering, written for clearness and not for speed.

It shares no code with Kron: the pool is listed, the passes are tables, the window is a set of
minutes. What the two disagree on is a fault of one of them.
"""

from __future__ import annotations

from typing import NamedTuple

BUSY = (
    {(hour, minute) for hour in range(24) for minute in (0, 1, 2, 3, 4, 55, 56, 57, 58, 59)}
    | {(hour, minute) for hour in (6, 7, 8, 9) for minute in range(27, 34)}
    | {(hour, minute) for hour in (14, 15, 16, 17, 18) for minute in range(12, 19)}
    | {(hour, minute) for hour in (14, 15, 16, 17, 18) for minute in range(42, 49)}
)
"""Every (hour, minute) that section 6.4 keeps clear of."""

BUSY_MINUTES = frozenset(hour * 60 + minute for hour, minute in BUSY)


class Placed(NamedTuple):
    """A minute from midnight of the window's day (perhaps before it, or after the next)."""

    minute: int
    is_busy: bool


def fnv(text: str) -> int:
    value = 0x811C9DC5
    for byte in text.encode("utf-8"):
        value = ((value ^ byte) * 0x01000193) % 2**32
    return value


def pool() -> list[tuple[int, int]]:
    """Every (hour, minute) slot, in order."""
    slots: list[tuple[int, int]] = []
    for hour in (2, 3, 4, 5):
        for minute in (7, 13, 23, 37, 43, 53):
            slots += [(hour, minute)] * 3
    for hour in (10, 11, 12):
        for minute in range(5, 55):
            slots += [(hour, minute)] * 2
    for hour in (19, 20, 21, 22, 23):
        for minute in range(5, 55):
            slots += [(hour, minute)]
    return slots


def two_passes(minute: int) -> int:
    """Section 6.4 on a minute from some midnight."""
    start_of_hour, minute_of_hour = minute - minute % 60, minute % 60
    hour = minute // 60 % 24
    if minute_of_hour <= 4:
        minute_of_hour += 5
    elif minute_of_hour >= 55:
        minute_of_hour -= 5
    if hour in (6, 7, 8, 9) and minute_of_hour in range(27, 34):
        minute_of_hour = 34
    if hour in (14, 15, 16, 17, 18) and minute_of_hour in range(12, 19):
        minute_of_hour = 19
    if hour in (14, 15, 16, 17, 18) and minute_of_hour in range(42, 49):
        minute_of_hour = 49
    return start_of_hour + minute_of_hour


def place(first: int, width: int, seed: int) -> Placed:
    """The scattered minute in the closed window from `first` to `first + width`."""
    raw = first + seed % width
    window = range(first, first + width + 1)
    if two_passes(raw) in window:
        return Placed(two_passes(raw), False)
    free = [minute for minute in window if minute % 1440 not in BUSY_MINUTES]
    if not free:
        return Placed(raw, True)
    return Placed(min(free, key=lambda minute: (abs(minute - raw), minute)), False)
