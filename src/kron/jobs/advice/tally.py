"""A tally: how many of many sets each element is in, for all elements at once.

Sets are bit masks. The counts are kept as binary numbers written downwards, one mask for each
binary digit, so that adding a set is a few operations on integers however many elements it has.
"""

from __future__ import annotations


class Tally:
    """Counts for each bit."""

    __slots__ = ("_planes",)

    def __init__(self) -> None:
        self._planes: list[int] = []

    def add(self, mask: int, times: int = 1) -> None:
        """Count each bit of `mask`, `times` over."""
        planes = self._planes
        digit = 0
        while times:
            if times & 1:
                place, carry = digit, mask
                while carry:
                    if place == len(planes):
                        planes.append(0)
                    planes[place], carry = planes[place] ^ carry, planes[place] & carry
                    place += 1
            times >>= 1
            digit += 1
            if digit > len(planes):
                planes.append(0)

    def peak(self) -> tuple[int, int]:
        """The highest count, and the bits that have it (none, if nothing was counted)."""
        count, highest = 0, -1
        for digit in range(len(self._planes) - 1, -1, -1):
            if above := highest & self._planes[digit]:
                highest = above
                count |= 1 << digit
        return (count, highest) if count else (0, 0)
