"""The clock: what time it is, and how much of it has passed. Tests pass another one."""

from __future__ import annotations

import ctypes
import time

_TIME_ERROR = 5
_TIMEX_BYTES = 512
"""More than the structure of adjtimex has on any machine."""


class Clock:
    """The host's clocks. Only this one says when a period is due."""

    def now_ns(self) -> int:
        """The wall clock, in nanoseconds since 1970. It can be set, and it can jump."""
        return time.time_ns()

    def monotonic_ns(self) -> int:
        """A clock that only goes forward, for how long something takes."""
        return time.monotonic_ns()

    def boot_ns(self) -> int:
        """The same, but it also counts the time for which the host sleeps."""
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME)

    def offset_ns(self) -> int:
        """What the wall clock shows more than `boot_ns`: it changes only if the clock is set."""
        return self.now_ns() - self.boot_ns()

    def is_synchronised(self) -> bool:
        """Whether the kernel says that something keeps the wall clock right, or does not know."""
        # All zeros: nothing is set, only asked for.
        state: int = ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(_TIMEX_BYTES))
        return state != _TIME_ERROR
