"""Timers: what is to be done when so much time has passed, whatever the wall clock says.

For timeouts, grace and back-off. What is due at an instant of the wall clock is in `queue`.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from itertools import count


class Timer:
    """One of them. Cancelled, it does nothing, and is dropped in time."""

    __slots__ = ("_action", "_timers")

    def __init__(self, action: Callable[[], None], timers: Timers) -> None:
        self._action: Callable[[], None] | None = action
        self._timers: Timers | None = timers
        """Those that it is one of, until it is due."""

    @property
    def is_cancelled(self) -> bool:
        """Whether it will do nothing."""
        return self._action is None

    def cancel(self) -> None:
        """Let it do nothing."""
        if self._action is None:
            return
        self._action = None
        if self._timers is not None:
            self._timers._one_cancelled()

    def fire(self) -> None:
        """Do it, once."""
        action, self._action = self._action, None
        if action is not None:
            action()


class Timers:
    """A heap of timers by the monotonic clock.

    A timer that is cancelled stays in the heap, unless those are more than half of it: a run that
    ends well cancels its timeout, which may be days away.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Timer]] = []
        self._numbers = count()
        self._cancelled = 0
        """How many in the heap are."""

    def __len__(self) -> int:
        return len(self._heap)

    def at(self, monotonic_ns: int, action: Callable[[], None]) -> Timer:
        """Do `action` once the monotonic clock shows this."""
        timer = Timer(action, self)
        heappush(self._heap, (monotonic_ns, next(self._numbers), timer))
        return timer

    def next_ns(self) -> int | None:
        """When the first one is due."""
        while self._heap and self._heap[0][2].is_cancelled:
            self._pop()
        return self._heap[0][0] if self._heap else None

    def fire_due(self, monotonic_ns: int) -> None:
        """Do everything that is due. What a timer adds for now is left for the next time."""
        due = []
        while self._heap and self._heap[0][0] <= monotonic_ns:
            due.append(self._pop())
        for timer in due:
            timer.fire()

    def _pop(self) -> Timer:
        timer = heappop(self._heap)[2]
        timer._timers = None
        self._cancelled -= timer.is_cancelled
        return timer

    def _one_cancelled(self) -> None:
        self._cancelled += 1
        if self._cancelled * 2 > len(self._heap):
            self._heap = [entry for entry in self._heap if not entry[2].is_cancelled]
            heapify(self._heap)
            self._cancelled = 0
