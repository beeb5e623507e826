"""A timer on the wall clock: it fires at an instant, and says so when the clock is set.

A timerfd with an absolute time and cancel-on-set, so a clock that jumps wakes the daemon at once
and it never sleeps past what the new time makes due. Through ctypes: `os` has timerfd from
Python 3.13 on. It reads no clock itself.
"""

from __future__ import annotations

import ctypes
import errno
import os
import time

from kron.core.duration import SECOND_NS

_TFD_TIMER_ABSTIME = 1
_TFD_TIMER_CANCEL_ON_SET = 2
_AT_ONCE_NS = 1  # not 0, which would disarm the timer, nor less, which is refused
# Not the last second that there is: libfaketime adds its shift to it.
_FAR_NS = min(2**62, 2 ** (8 * ctypes.sizeof(ctypes.c_long) - 1) - 1) * SECOND_NS


class _Timespec(ctypes.Structure):
    # A long on every Linux: where time_t is wider than that, the symbol looked up below is still
    # the one from before.
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class _Itimerspec(ctypes.Structure):
    _fields_ = (("interval", _Timespec), ("value", _Timespec))


_libc = ctypes.CDLL(None, use_errno=True)
_timerfd_create = _libc.timerfd_create
_timerfd_create.argtypes = (ctypes.c_int, ctypes.c_int)
_timerfd_settime = _libc.timerfd_settime
_timerfd_settime.argtypes = (
    ctypes.c_int,
    ctypes.c_int,
    ctypes.POINTER(_Itimerspec),
    ctypes.c_void_p,
)


class WallTimer:
    """One timer on CLOCK_REALTIME. It is silent until it is armed."""

    def __init__(self) -> None:
        descriptor: int = _timerfd_create(time.CLOCK_REALTIME, os.O_CLOEXEC | os.O_NONBLOCK)
        if descriptor < 0:
            raise _error("timerfd_create")
        self._descriptor = descriptor
        self._unread_change = False

    def fileno(self) -> int:
        """Readable when the timer has fired or the clock was set."""
        return self._descriptor

    def arm(self, instant_ns: int | None) -> None:
        """Fire once at `instant_ns` since 1970, at once if that is past, and at no other instant.

        With None it does not fire, but still notices that the clock was set.
        """
        target_ns = _FAR_NS if instant_ns is None else min(max(instant_ns, _AT_ONCE_NS), _FAR_NS)
        if self._unread_change:
            return  # it is about to be read as a change, after which the caller arms it again
        if not self._set(target_ns):
            # The clock was set since the last arming and nobody has read that. The kernel tells
            # it here and nowhere else: make the descriptor readable, and let `read` pass it on.
            self._unread_change = True
            self._set(_AT_ONCE_NS)

    def read(self) -> bool:
        """True: it fired. False: the clock was set, or the machine slept; arm it again.

        After a False the timer may be armed or not: the kernel drops an expiry that came together
        with the change. True also if there is nothing to read, because the timer was armed again
        since it fired: to look at what is due once too often does no harm.
        """
        fired = True
        try:
            os.read(self._descriptor, 8)
        except BlockingIOError:
            pass
        except OSError as error:
            if error.errno != errno.ECANCELED:
                raise
            fired = False
        if self._unread_change:
            self._unread_change = fired = False
        return fired

    def close(self) -> None:
        """Give the descriptor back. A second time does nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _set(self, instant_ns: int) -> bool:
        """Set the timer; False if the clock was set before, since anybody last read that."""
        value = _Itimerspec(value=_Timespec(*divmod(instant_ns, SECOND_NS)))
        flags = _TFD_TIMER_ABSTIME | _TFD_TIMER_CANCEL_ON_SET
        if _timerfd_settime(self._descriptor, flags, ctypes.byref(value), None) == 0:
            return True
        if ctypes.get_errno() == errno.ECANCELED:
            return False
        raise _error("timerfd_settime")


def _error(call: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{call}: {os.strerror(number)}")
