"""SplitMix64: the stream of draws behind a decision, fixed by engine version 1."""

from __future__ import annotations

_MASK = 2**64 - 1
_STEP = 0x9E3779B97F4A7C15
_UNIT = 2.0**-53


class SplitMix64:
    """A stream of floats in [0, 1). It is mutable, so it never leaves the decision it serves."""

    __slots__ = ("_state",)

    def __init__(self, digest: bytes) -> None:
        self._state = int.from_bytes(digest[:8], "big")

    def unit(self) -> float:
        """The next draw."""
        self._state = z = self._state + _STEP & _MASK
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & _MASK
        z = (z ^ z >> 27) * 0x94D049BB133111EB & _MASK
        return ((z ^ z >> 31) >> 11) * _UNIT
