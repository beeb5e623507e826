"""Ballast: a file that takes up room, to be dropped when the disk is full.

Other programs fill disks. What it frees is enough for krond to say so in its log, if that is on the
same file system, and to store the ends of runs.
"""

from __future__ import annotations

import os
from contextlib import suppress

from kron.krond.state.directory import Directory

NAME = "ballast"
BYTES = 1 << 20

_OPEN = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class Ballast:
    """The ballast of a directory; none where there was never room for it."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self._is_there = self._is_wanted = False
        self.take()
        self._is_wanted = self._is_there

    def take(self) -> bool:
        """Take up the room, all of it or none. True if it has it, or never could."""
        try:
            descriptor = os.open(NAME, _OPEN, 0o600, dir_fd=self._directory.descriptor)
        except OSError:
            return not self._is_wanted
        try:
            os.posix_fallocate(descriptor, 0, BYTES)
            self._is_there = True
        except OSError:
            self._remove()
        finally:
            os.close(descriptor)
        return self._is_there or not self._is_wanted

    def drop(self) -> bool:
        """Free the room. False if there was nothing to free."""
        was_there, self._is_there = self._is_there, False
        self._remove()
        return was_there

    def _remove(self) -> None:
        with suppress(OSError):
            os.unlink(NAME, dir_fd=self._directory.descriptor)
