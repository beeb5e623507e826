"""Krond's own work: how long the loop has been awake. What is late for that is on time."""

from __future__ import annotations

from kron.core.duration import SECOND_NS
from kron.waking.clock import Clock

MOST_NS = 60 * SECOND_NS
"""How much of one turn counts as work. What is more was sleep, or a stopped krond."""


class Work:
    """A meter of the loop's work, of which `turn` and `rest` say when it begins and ends."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._woken_ns: int | None = clock.monotonic_ns()
        self.before_ns = 0
        """All work before the turn that is going on."""
        self._latest_ns = 0
        """The work of the turn before it."""

    @property
    def turn_ns(self) -> int:
        if self._woken_ns is None:
            return 0
        return min(self._clock.monotonic_ns() - self._woken_ns, MOST_NS)

    @property
    def recent_ns(self) -> int:
        """The work of this turn and the one before: what came due meanwhile could not start."""
        return self._latest_ns + self.turn_ns

    @property
    def total_ns(self) -> int:
        return self.before_ns + self.turn_ns

    def turn(self) -> None:
        self._woken_ns = self._clock.monotonic_ns()

    def rest(self) -> None:
        self._latest_ns = self.turn_ns
        self.before_ns += self._latest_ns
        self._woken_ns = None
