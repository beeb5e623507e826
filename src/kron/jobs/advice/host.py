"""The host that jobs run on, as far as lint asks about it: programs, directories and accounts."""

from __future__ import annotations

import errno
import os
import stat
from abc import ABC, abstractmethod
from enum import StrEnum

_NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP)
_HEAD_BYTES = 256
"""What the kernel reads of a file to find out how to execute it."""


class Kind(StrEnum):
    """What there is at a path."""

    MISSING = "missing"
    DIRECTORY = "directory"
    PROGRAM = "program"
    """A file that somebody may execute."""
    FILE = "file"
    """A file that nobody may execute."""
    OTHER = "other"
    """A device, a pipe or a socket."""
    HIDDEN = "hidden"
    """Whoever asks may not look there, or looking failed."""


class Host(ABC):
    """What can be asked. Answers need not be quick: whoever asks remembers them."""

    @abstractmethod
    def look(self, path: str) -> Kind:
        """What there is at an absolute path, links followed."""

    @abstractmethod
    def head(self, path: str) -> bytes | None:
        """The first 256 bytes of a file; None if it cannot be read."""

    @abstractmethod
    def has_user(self, name: str) -> bool:
        """Whether there is a user of this name."""

    @abstractmethod
    def has_group(self, name: str) -> bool:
        """Whether there is a group of this name."""


class LocalHost(Host):
    """The host that this process runs on."""

    def look(self, path: str) -> Kind:
        try:
            mode = os.stat(path).st_mode  # noqa: PTH116
        except OSError as error:
            return Kind.MISSING if error.errno in _NOT_THERE else Kind.HIDDEN
        except ValueError:  # a name that the file system's encoding does not have
            return Kind.MISSING
        if stat.S_ISDIR(mode):
            return Kind.DIRECTORY
        if not stat.S_ISREG(mode):
            return Kind.OTHER
        return Kind.PROGRAM if mode & 0o111 else Kind.FILE

    def head(self, path: str) -> bytes | None:
        try:
            # Non-blocking, because a pipe may have taken the place of the file since `look`.
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except (OSError, ValueError):
            return None
        try:
            return os.read(descriptor, _HEAD_BYTES)
        except OSError:
            return None
        finally:
            os.close(descriptor)

    def has_user(self, name: str) -> bool:
        import pwd

        try:
            pwd.getpwnam(name)
        except KeyError:
            return False
        return True

    def has_group(self, name: str) -> bool:
        import grp

        try:
            grp.getgrnam(name)
        except KeyError:
            return False
        return True
