"""Effects: whatever a simulated process does that outlives it. A test can end it after any one."""

from __future__ import annotations


class Crash(BaseException):
    """The process is gone, as after kill -9: no line after this one runs."""


class Effects:
    """Counts effects, and crashes after those that the test chose."""

    def __init__(self, *crash_after: int) -> None:
        self.count = 0
        self.is_crashed = False
        """From a crash until the next boot."""
        self._crash_after = crash_after

    def happened(self) -> None:
        """Something was done that stays done."""
        self.count += 1
        if self.count in self._crash_after:
            self.is_crashed = True
            raise Crash

    def check(self) -> None:
        """Called before an effect: a dead process has none, though Python runs its `finally`."""
        if self.is_crashed:
            raise Crash
