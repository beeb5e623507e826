"""Signals as bytes on a descriptor, so that the daemon's loop handles them like any other event.

Python's wakeup descriptor gets the number of each signal as it arrives, and the handlers do
nothing: none of our code ever runs in the middle of other code.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterable
from types import FrameType

HEARD = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
"""What krond can be asked for by a signal."""
_READ_BYTES = 65_536  # as much as a pipe holds


class Signals:
    """Catches the signals that the daemon acts on, until `restore`."""

    def __init__(self, numbers: Iterable[int]) -> None:
        self._numbers = frozenset(numbers)
        self._reader, self._writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        # A full pipe needs no warning: its content will be read.
        self._wakeup_before = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        self._handlers_before = {
            number: signal.signal(number, _nothing) for number in self._numbers
        }
        # The process that started us may ignore SIGCHLD or block signals, and both survive exec:
        # the first loses the exit codes of our children, the second keeps signals from us.
        if signal.SIGCHLD not in self._numbers:
            self._handlers_before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        heard = self._numbers | {signal.SIGCHLD}
        self._mask_before = signal.pthread_sigmask(signal.SIG_UNBLOCK, heard)

    def fileno(self) -> int:
        """Readable when a signal has come."""
        return self._reader

    @property
    def is_any_unread(self) -> bool:
        return bool(select.select([self._reader], [], [], 0)[0])

    def read(self) -> list[int]:
        """The signals since the last call, each once, in the order of their first arrival."""
        try:
            received = os.read(self._reader, _READ_BYTES)
        except BlockingIOError:
            return []
        # Every signal with a handler in Python is written there, also those of other code.
        return [number for number in dict.fromkeys(received) if number in self._numbers]

    def restore(self) -> None:
        """Restore handlers, mask and wakeup descriptor, once."""
        for number, handler in self._handlers_before.items():
            # None: the handler was not set from Python, so Python cannot restore it.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        signal.set_wakeup_fd(self._wakeup_before)
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask_before)
        os.close(self._reader)
        os.close(self._writer)


def _nothing(number: int, frame: FrameType | None) -> None:
    """A signal without a handler would not be written to the descriptor."""
