"""Shortage: runs that failed to start for want of resources, and try again."""

from __future__ import annotations

from collections.abc import Callable

from kron.core.duration import SECOND_NS
from kron.krond.host import Host
from kron.krond.roster.run import PendingRun

FIRST_RETRY_NS = SECOND_NS // 10
LONGEST_RETRY_NS = 5 * SECOND_NS
MOST_DOUBLINGS = 10


class Shortage:
    """`on_again` is called with a run whose turn it is."""

    def __init__(self, host: Host, on_again: Callable[[PendingRun], None]) -> None:
        self._host = host
        self._on_again = on_again
        self._runs: dict[str, PendingRun] = {}
        """By run id, the first one first."""

    def add(self, pending: PendingRun) -> None:
        """Try this run again after a while, which gets longer each time."""
        delay_ns = min(FIRST_RETRY_NS << pending.tries, LONGEST_RETRY_NS)
        pending.tries = min(pending.tries + 1, MOST_DOUBLINGS)
        self._runs[pending.run_id] = pending
        pending.retry = self._host.timers.after(delay_ns, lambda: self._again(pending))

    def drop(self, pending: PendingRun) -> None:
        if self._runs.pop(pending.run_id, None) and pending.retry is not None:
            pending.retry.cancel()

    def run_ended(self) -> None:
        """Its resources are free: the first of them tries again at once."""
        for pending in self._runs.values():
            self._again(pending)
            break

    def _again(self, pending: PendingRun) -> None:
        self.drop(pending)
        self._on_again(pending)
