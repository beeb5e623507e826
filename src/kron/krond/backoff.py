"""A back-off: how long to wait before another try."""

from __future__ import annotations


class Backoff:
    """Twice as long each time, from the first to the longest delay."""

    __slots__ = ("_first_ns", "_longest_ns", "_next_ns")

    def __init__(self, first_ns: int, longest_ns: int) -> None:
        self._first_ns = self._next_ns = first_ns
        self._longest_ns = longest_ns

    def next_ns(self) -> int:
        delay_ns = self._next_ns
        self._next_ns = min(2 * delay_ns, self._longest_ns)
        return delay_ns

    def reset(self) -> None:
        """A try has succeeded."""
        self._next_ns = self._first_ns
