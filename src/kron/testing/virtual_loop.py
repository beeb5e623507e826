"""An asyncio event loop in the time of a fake clock: a sleep takes no time.

Descriptors are real. When nothing is ready, the clock moves on to the next timer of the loop, or
to the instant at which the wall-clock timer fires, whichever is first.
"""

from __future__ import annotations

import asyncio
import selectors

from kron.core.duration import SECOND_NS
from kron.testing.clock import FakeClock
from kron.testing.loop import FakeTimer


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
    """Its time is the fake clock's monotonic one."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.timers: list[FakeTimer] = []
        """The timers on the wall clock for which the loop wakes."""
        super().__init__(_VirtualSelector(clock, self.timers))

    def time(self) -> float:
        return self.clock.monotonic_ns() / SECOND_NS

    def live_until(self, monotonic_ns: int) -> None:
        """Run until the clock shows this, or a callback stops the loop."""
        handle = self.call_at(monotonic_ns / SECOND_NS, self.stop)
        try:
            self.run_forever()
        finally:
            handle.cancel()
