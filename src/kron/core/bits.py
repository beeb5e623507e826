"""Sets of small numbers as the bits of one integer: days of a year, minutes of a day."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache


def lowest(mask: int) -> int:
    """The lowest bit; -1 for an empty set."""
    return (mask & -mask).bit_length() - 1


def positions(mask: int) -> Iterator[int]:
    """The bits of a mask, the lowest first."""
    while mask:
        bit = mask & -mask
        yield bit.bit_length() - 1
        mask ^= bit


@lru_cache(maxsize=4096)
def least_spacing(mask: int) -> int:
    """The least distance between two bits of a mask; 0 if it has fewer than two."""
    mask >>= lowest(mask) if mask else 0
    spacing = 1
    while rest := mask >> spacing:
        if mask & rest:
            return spacing
        spacing += 1
    return 0
