"""A clock that only a test moves."""

from __future__ import annotations

from kron.core.duration import SECOND_NS
from kron.core.instant import from_text
from kron.waking.clock import Clock

_UPTIME_NS = 1_000 * SECOND_NS  # so that a mix-up of the two clocks shows


class FakeClock(Clock):
    """The clocks of a host. They stand still until time is said to pass."""

    def __init__(self, now: str) -> None:
        self.changes = 0
        """How often the wall clock was set, by which a timer notices."""
        self._now_ns = from_text(now) * SECOND_NS
        self._monotonic_ns = _UPTIME_NS
        self._asleep_ns = 0
        self.synchronised = True

    def now_ns(self) -> int:
        return self._now_ns

    def monotonic_ns(self) -> int:
        return self._monotonic_ns

    def boot_ns(self) -> int:
        return self._monotonic_ns + self._asleep_ns

    def is_synchronised(self) -> bool:
        return self.synchronised

    def advance(self, seconds: float) -> None:
        """Let time pass, whether or not anybody looks."""
        self.advance_ns(round(seconds * SECOND_NS))

    def advance_ns(self, nanoseconds: int) -> None:
        assert nanoseconds >= 0, "time passes forward; to put the clock back is to set it"
        self._now_ns += nanoseconds
        self._monotonic_ns += nanoseconds

    def set(self, instant: str) -> None:
        """Set the wall clock, as an administrator or a time server does."""
        self._now_ns = from_text(instant) * SECOND_NS
        self.changes += 1

    def sleep(self, seconds: float) -> None:
        """Let the host sleep: its processes notice only that the wall clock was set."""
        self._asleep_ns += round(seconds * SECOND_NS)
        self.jump(seconds)

    def jump(self, seconds: float) -> None:
        """Set the wall clock by a difference."""
        self._now_ns += round(seconds * SECOND_NS)
        self.changes += 1
