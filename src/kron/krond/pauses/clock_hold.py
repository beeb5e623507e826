"""The hold on the clock: after a jump of hours, krond does not believe it at once.

What a wrong clock makes due or overdue would be handled for good, and then no job runs until the
right clock gets there. So krond waits for a while. A clock that is back by then did no harm.

At a start nobody knows what the clock showed before. There krond waits only if it would find
periods that are overdue by hours, while the kernel says that nothing synchronises the clock.
"""

from __future__ import annotations

from kron.core.duration import SECOND_NS, format_duration
from kron.core.instant import to_text
from kron.krond.host import Host
from kron.krond.loop.timers import Timer
from kron.krond.pauses.pause import Pause

PLAUSIBLE_S = 3 * 3600
"""A jump by no more than this is believed at once."""
_LOOK_NS = 5 * SECOND_NS
"""How often it looks whether the clock is synchronised by now."""


class ClockHold:
    def __init__(self, host: Host, hold_s: int, pause: Pause) -> None:
        self.pause = pause
        self._held_ns = 0
        self._host = host
        self._clock = host.clock
        self._hold_ns = hold_s * SECOND_NS
        self._believed_ns: int | None = host.clock.offset_ns()
        """What the wall clock shows more than the one that counts since the boot, if believed."""
        self._doubted_ns = 0
        self._since_ns = 0
        """Since when it holds, by the monotonic clock: nothing begins that again."""
        self._until_ns = 0
        self._timer: Timer | None = None

    def look(self) -> None:
        """Compare the clocks. To be called before anything is decided by the wall clock."""
        if self._believed_ns is None:
            return
        offset_ns = self._clock.offset_ns()
        shift_ns = offset_ns - self._believed_ns
        if not _is_jump(shift_ns) or not self._hold_ns:
            self._believe()
        elif not self.pause.is_on or _is_jump(offset_ns - self._doubted_ns):
            self._doubted_ns = offset_ns
            now = to_text(self._clock.now_ns() // SECOND_NS)
            way = "ahead" if shift_ns > 0 else "back"
            by = format_duration(abs(shift_ns) // SECOND_NS * SECOND_NS)
            self._begin(f"the clock jumped {by} {way}, to {now}")

    def begin_unsynchronised(self, overdue_s: int) -> bool:
        """Hold at a start that finds periods overdue by so much. False: that is not necessary."""
        if overdue_s <= PLAUSIBLE_S or not self._hold_ns or self._clock.is_synchronised():
            return False
        self._believed_ns = None
        now = to_text(self._clock.now_ns() // SECOND_NS)
        overdue = format_duration(overdue_s * SECOND_NS)
        self._begin(f"periods are {overdue} overdue by a clock that nothing synchronises: {now}")
        return True

    def take_held_ns(self) -> int:
        """How long it has held, once: the latest that came due in that time is not late for it."""
        held_ns, self._held_ns = self._held_ns, 0
        return held_ns

    def _begin(self, reason: str) -> None:
        now_ns = self._clock.monotonic_ns()
        self._since_ns = self._since_ns if self.pause.is_on else now_ns
        self._until_ns = now_ns + self._hold_ns
        hold = format_duration(self._hold_ns)
        self.pause.begin(f"{reason}; krond believes that after {hold}, unless the clock is set")
        self._look_later()

    def _look_later(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        soon_ns = self._clock.monotonic_ns() + _LOOK_NS
        due_ns = self._until_ns if self._believed_ns is not None else min(self._until_ns, soon_ns)
        self._timer = self._host.timers.at(due_ns, self._look_again)

    def _look_again(self) -> None:
        is_over = self._clock.monotonic_ns() >= self._until_ns
        if is_over or (self._believed_ns is None and self._clock.is_synchronised()):
            self._believe()
        else:
            self._look_later()

    def _believe(self) -> None:
        self._believed_ns = self._clock.offset_ns()
        if self.pause.is_on:
            if self._timer is not None:
                self._timer.cancel()
            self._held_ns = self._clock.monotonic_ns() - self._since_ns
            self.pause.end()


def _is_jump(shift_ns: int) -> bool:
    return abs(shift_ns) > PLAUSIBLE_S * SECOND_NS
