"""Signals as bytes on a descriptor, so that the daemon meets them where it meets everything else.

Python's wakeup descriptor gets the number of each signal as it arrives, and the handlers do
nothing: no code of ours ever runs in the middle of something.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from types import FrameType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_READ_BYTES = 65_536  # as much as a pipe holds


class Signals:
    """The signals that the daemon acts on, from its making until `restore`."""

    def __init__(self, numbers: Iterable[int]) -> None:
        self._numbers = frozenset(numbers)
        self._reader, self._writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        # A full pipe is no matter for a warning: what is in it will be read.
        self._wakeup_before = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        self._handlers_before: dict[int, Any] = {}
        for number in self._numbers:
            self._handlers_before[number] = signal.signal(number, _nothing)
        # Whoever started us may ignore SIGCHLD or block signals, and both survive exec: the
        # first takes the exit codes of our children away, the second leaves us deaf.
        if signal.SIGCHLD not in self._numbers:
            self._handlers_before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        heard = self._numbers | {signal.SIGCHLD}
        self._mask_before = signal.pthread_sigmask(signal.SIG_UNBLOCK, heard)

    def fileno(self) -> int:
        """Readable when a signal has come."""
        return self._reader

    def read(self) -> list[int]:
        """The signals since the last reading, each once, in the order in which they first came."""
        try:
            received = os.read(self._reader, _READ_BYTES)
        except BlockingIOError:
            return []
        # Others are in it too: whatever else has a handler in Python writes there.
        return [number for number in dict.fromkeys(received) if number in self._numbers]

    def restore(self) -> None:
        """Put handlers, mask and wakeup descriptor back. A second time does nothing."""
        if self._reader < 0:
            return
        for number, handler in self._handlers_before.items():
            # None: it was not set from Python, so Python cannot set it again.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        signal.set_wakeup_fd(self._wakeup_before)
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask_before)
        os.close(self._reader)
        os.close(self._writer)
        self._reader = self._writer = -1


def _nothing(number: int, frame: FrameType | None) -> None:
    """A handler, because a signal without one would not be written to the descriptor."""
