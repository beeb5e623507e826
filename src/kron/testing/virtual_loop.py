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

    def __init__(self, clock: FakeClock) -> None:
        super().__init__()
        self.timers: list[FakeTimer] = []
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready now or, if nothing is, after a sleep that takes no time."""
        self._look()
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        naps_ns = [] if timeout is None else [-int(-timeout * SECOND_NS // 1)]
        now_ns = self._clock.now_ns()
        # One that has fired and woke nobody is not listened to.
        instants_ns = [t.instant_ns for t in self.timers if t.instant_ns is not None]
        naps_ns += [instant_ns - now_ns for instant_ns in instants_ns if instant_ns > now_ns]
        assert naps_ns, "nothing will ever happen"
        self._clock.advance_ns(max(min(naps_ns), 1))
        self._look()
        return super().select(0)

    def _look(self) -> None:
        for timer in self.timers:
            timer.look()


class VirtualLoop(asyncio.SelectorEventLoop):
    """Its time is the fake clock's monotonic one."""

    def __init__(self, clock: FakeClock) -> None:
        self._virtual = _VirtualSelector(clock)
        super().__init__(self._virtual)
        self.clock = clock

    def time(self) -> float:
        """The monotonic clock, in seconds."""
        return self.clock.monotonic_ns() / SECOND_NS

    def follow(self, timer: FakeTimer) -> None:
        """Let the loop wake for this timer on the wall clock."""
        self._virtual.timers.append(timer)

    def forget(self, timer: FakeTimer) -> None:
        """Wake for it no more."""
        self._virtual.timers.remove(timer)

    def live_until(self, monotonic_ns: int) -> None:
        """Run until the clock shows this, or a callback stops the loop."""
        handle = self.call_at(monotonic_ns / SECOND_NS, self.stop)
        try:
            self.run_forever()
        finally:
            handle.cancel()
