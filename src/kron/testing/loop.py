"""What the loops of krond and of kron-operator sleep on, in the time of a fake clock.

Descriptors are real, so that real processes can end. A sleep takes no time: when nothing is ready,
the clock is moved to where the sleep would have ended.
"""

from __future__ import annotations

import asyncio
import os
import selectors
from collections.abc import Callable
from contextlib import suppress

from kron.core.duration import SECOND_NS
from kron.krond.loop.poller import Poller
from kron.testing.clock import FakeClock
from kron.waking.timer import WallTimer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextvars import Context
    from typing import TypeVarTuple, Unpack

    Arguments = TypeVarTuple("Arguments")

SHORTEST_S = 1e-6


class FakeTimer(WallTimer):
    """A timer on a fake clock: it fires at its instant, and notices when the clock is set."""

    def __init__(self, clock: FakeClock) -> None:
        self.instant_ns: int | None = None
        """When it fires next."""
        self._clock = clock
        self._changes_told = clock.changes
        self._descriptor = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)

    def arm(self, instant_ns: int | None) -> None:
        self.instant_ns = instant_ns

    def look(self) -> None:
        """Become readable if it is due, or the clock was set."""
        is_due = self.instant_ns is not None and self.instant_ns <= self._clock.now_ns()
        if is_due or self._clock.changes != self._changes_told:
            os.eventfd_write(self._descriptor, 1)

    def read(self) -> bool:
        with suppress(BlockingIOError):
            os.eventfd_read(self._descriptor)
        self.instant_ns = None
        was_set = self._clock.changes != self._changes_told
        self._changes_told = self._clock.changes
        return not was_set


class FakePoller(Poller):
    """Waits for descriptors, and sleeps until `until_ns` of the wall clock at the longest."""

    def __init__(self, clock: FakeClock, timer: FakeTimer) -> None:
        super().__init__()
        self.until_ns = clock.now_ns()
        self.oversleeps_s = 0.0
        """How much longer the next sleep takes, as if the process were stopped meanwhile."""
        self._clock = clock
        self._timer = timer

    def wait(self, timeout_s: float | None) -> list[tuple[Callable[[int], None], int]]:
        """What is ready now or, if nothing is, after a sleep that takes no time."""
        if ready := self._ready():
            return ready
        now_ns = self._clock.now_ns()
        naps_ns = [self.until_ns - now_ns]
        if self._timer.instant_ns is not None:
            naps_ns.append(self._timer.instant_ns - now_ns)
        if timeout_s is not None:
            naps_ns.append(round(timeout_s * SECOND_NS))
        nap_ns = min(naps_ns)
        if nap_ns > 0:
            self._clock.advance_ns(nap_ns + round(self.oversleeps_s * SECOND_NS))
            self.oversleeps_s = 0.0
        return self._ready()

    def _ready(self) -> list[tuple[Callable[[int], None], int]]:
        self._timer.look()
        return super().wait(0)


class _VirtualSelector(selectors.EpollSelector):
    """Moves the clock instead of sleeping."""

    def __init__(self, clock: FakeClock, timers: list[FakeTimer]) -> None:
        super().__init__()
        self._clock = clock
        self._timers = timers

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready now or, if nothing is, after a sleep that takes no time."""
        ready = self._ready()
        if ready or timeout == 0:
            return ready
        naps_ns = [] if timeout is None else [-int(-timeout * SECOND_NS // 1)]
        now_ns = self._clock.now_ns()
        # One that has fired and woke nobody is not listened to.
        instants_ns = [t.instant_ns for t in self._timers if t.instant_ns is not None]
        naps_ns += [instant_ns - now_ns for instant_ns in instants_ns if instant_ns > now_ns]
        assert naps_ns, "nothing will ever happen"
        self._clock.advance_ns(max(min(naps_ns), 1))
        return self._ready()

    def _ready(self) -> list[tuple[selectors.SelectorKey, int]]:
        for timer in self._timers:
            timer.look()
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """An asyncio event loop. Its time is the fake clock's monotonic one."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.timers: list[FakeTimer] = []
        """The timers on the wall clock for which the loop wakes."""
        super().__init__(_VirtualSelector(clock, self.timers))

    def time(self) -> float:
        return self.clock.monotonic_ns() / SECOND_NS

    def call_at(
        self,
        when: float,
        callback: Callable[[Unpack[Arguments]], object],
        *args: *Arguments,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """No sleep is too short for the clock to move: who waits for a moment may wait again."""
        when = max(when, self.time() + SHORTEST_S)
        return super().call_at(when, callback, *args, context=context)

    def live_until(self, monotonic_ns: int) -> None:
        """Run until the clock shows this, or a callback stops the loop."""
        handle = self.call_at(monotonic_ns / SECOND_NS, self.stop)
        try:
            self.run_forever()
        finally:
            handle.cancel()
