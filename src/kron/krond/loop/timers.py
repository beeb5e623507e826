"""Timers: actions that are due after a length of time, whatever the wall clock says.

For timeouts, grace and back-off. Actions at an instant of the wall clock are in `queue`.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from itertools import count

from kron.waking.clock import Clock

FEW = 16
"""Fewer timers than this are never searched for cancelled ones."""


class Timer:
    """An action that is due once, unless it is cancelled."""

    __slots__ = ("action",)

    def __init__(self, action: Callable[[], object]) -> None:
        self.action: Callable[[], object] | None = action
        """None once it is done or cancelled."""

    def cancel(self) -> None:
        self.action = None


class Timers:
    """A heap of timers by the monotonic clock.

    A run that ends in time cancels its timeout, which may be days away. Cancelled timers are
    dropped whenever the heap has doubled.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._heap: list[tuple[int, int, Timer]] = []
        self._numbers = count()
        self._most = FEW
        """How many the heap may hold before cancelled ones are dropped."""

    def __len__(self) -> int:
        return len(self._heap)

    def at(self, monotonic_ns: int, action: Callable[[], object]) -> Timer:
        if len(self._heap) >= self._most:
            self._heap = [entry for entry in self._heap if entry[2].action]
            heapify(self._heap)
            self._most = max(FEW, 2 * len(self._heap))
        timer = Timer(action)
        heappush(self._heap, (monotonic_ns, next(self._numbers), timer))
        return timer

    def after(self, delay_ns: int, action: Callable[[], object]) -> Timer:
        return self.at(self._clock.monotonic_ns() + delay_ns, action)

    def next_ns(self) -> int | None:
        while self._heap and not self._heap[0][2].action:
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def fire_due(self, monotonic_ns: int) -> None:
        """Do everything that is due. Timers that this adds for now are left for the next time."""
        due = []
        while self._heap and self._heap[0][0] <= monotonic_ns:
            due.append(heappop(self._heap)[2])
        for timer in due:
            action, timer.action = timer.action, None
            if action is not None:
                action()


class Backoff:
    """How long to wait before another try: twice as long each time, up to the longest delay."""

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
