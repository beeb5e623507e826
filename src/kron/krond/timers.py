"""Timers: what is to be done when so much time has passed, whatever the wall clock says.

For timeouts, grace and back-off. What is due at an instant of the wall clock is in `queue`.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count


class Timer:
    """One of them. Cancelled, it does nothing and is dropped when its time comes."""

    __slots__ = ("_action",)

    def __init__(self, action: Callable[[], None]) -> None:
        self._action: Callable[[], None] | None = action

    @property
    def is_cancelled(self) -> bool:
        """Whether it will do nothing."""
        return self._action is None

    def cancel(self) -> None:
        """Let it do nothing."""
        self._action = None

    def fire(self) -> None:
        """Do it, once."""
        action, self._action = self._action, None
        if action is not None:
            action()


class Timers:
    """A heap of timers by the monotonic clock."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Timer]] = []
        self._numbers = count()

    def at(self, monotonic_ns: int, action: Callable[[], None]) -> Timer:
        """Do `action` once the monotonic clock shows this."""
        timer = Timer(action)
        heappush(self._heap, (monotonic_ns, next(self._numbers), timer))
        return timer

    def next_ns(self) -> int | None:
        """When the first one is due."""
        while self._heap and self._heap[0][2].is_cancelled:
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def fire_due(self, monotonic_ns: int) -> None:
        """Do everything that is due. What a timer adds for now is left for the next time."""
        due = []
        while self._heap and self._heap[0][0] <= monotonic_ns:
            due.append(heappop(self._heap)[2])
        for timer in due:
            timer.fire()
