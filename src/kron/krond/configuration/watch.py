"""Directories that are watched for edits, through inotify.

For `--source cron`, where people expect an edited crontab to take effect by itself. A watch only
reports that something changed: the reader decides what to read and whether to trust it. Edits of a
file that a watched directory only links to are not noticed.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Collection

_IN_ATTRIB = 0x4
_IN_CLOSE_WRITE = 0x8
_IN_MOVED_FROM = 0x40
_IN_MOVED_TO = 0x80
_IN_CREATE = 0x100
_IN_DELETE = 0x200
_IN_DELETE_SELF = 0x400
_IN_MOVE_SELF = 0x800
_IN_UNMOUNT = 0x2000
_IN_Q_OVERFLOW = 0x4000
_IN_IGNORED = 0x8000
_IN_ONLYDIR = 0x1000000

_ENTRIES = _IN_CLOSE_WRITE | _IN_MOVED_TO | _IN_MOVED_FROM | _IN_DELETE | _IN_CREATE | _IN_ATTRIB
_ITSELF = _IN_DELETE_SELF | _IN_MOVE_SELF
_ALWAYS_COUNTS = _ITSELF | _IN_UNMOUNT | _IN_Q_OVERFLOW

_HEADER = struct.Struct("iIII")  # watch, mask, cookie, length of the name
_READ_BYTES = 65_536
_MOST_READS = 64  # 20 or so empty the queue; a process that keeps filling it must not block us

_libc = ctypes.CDLL(None, use_errno=True)


class Watch:
    def __init__(self) -> None:
        descriptor: int = _libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        if descriptor < 0:
            raise _error("inotify_init1")
        self._descriptor = descriptor
        self._names: dict[int, frozenset[bytes]] = {}

    def fileno(self) -> int:
        """Readable when there may be a change."""
        return self._descriptor

    def add(self, directory: str, names: Collection[str] = ()) -> bool:
        """Watch a directory, or only these names in it. False: the directory does not exist.

        Add it again after every change: it may have been deleted and created again.
        """
        path = os.fsencode(directory)
        if b"\0" in path:
            raise ValueError("embedded null byte")  # as os.open would: C would see half the path
        watch: int = _libc.inotify_add_watch(
            self._descriptor, path, _ENTRIES | _ITSELF | _IN_ONLYDIR
        )
        if watch < 0:
            error = _error("inotify_add_watch", directory)
            if isinstance(error, FileNotFoundError | NotADirectoryError):
                return False
            raise error
        self._names[watch] = frozenset(map(os.fsencode, names))
        return True

    def read(self) -> bool:
        """Whether something changed since the last call. A queue that overflowed is a change."""
        is_changed = False
        for _ in range(_MOST_READS):
            try:
                events = os.read(self._descriptor, _READ_BYTES)
            except BlockingIOError:
                break
            is_changed |= self._take(events)
        return is_changed

    def _take(self, events: bytes) -> bool:
        is_changed = False
        place = 0
        while place < len(events):
            watch, mask, _, length = _HEADER.unpack_from(events, place)
            place += _HEADER.size + length
            if mask & _IN_IGNORED:
                self._names.pop(watch, None)  # the kernel has removed it
                continue
            names = self._names.get(watch, frozenset())
            name = events[place - length : place].rstrip(b"\0")
            is_changed |= bool(mask & _ALWAYS_COUNTS) or not names or name in names
            if mask & _IN_MOVE_SELF:
                # The path now belongs to another directory, or to none. If this fails, the watch
                # is already gone.
                _libc.inotify_rm_watch(self._descriptor, watch)
        return is_changed


def _error(call: str, path: str = "") -> OSError:
    number = ctypes.get_errno()
    text = f"{call}: {os.strerror(number)}"
    return OSError(number, text, path) if path else OSError(number, text)
