"""The host that jobs run on: what lint asks about its programs, directories and accounts."""

from __future__ import annotations

import errno
import os
import stat
from enum import StrEnum

_NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP)
HEAD_BYTES = 256
"""What the kernel reads of a file to find out how to execute it."""


class PathKind(StrEnum):
    """What a path leads to."""

    MISSING = "missing"
    DIRECTORY = "directory"
    PROGRAM = "program"
    """A file that is executable for some user."""
    FILE = "file"
    """A file that is not executable."""
    OTHER = "other"
    """A device, a pipe or a socket."""
    HIDDEN = "hidden"
    """This process may not look at it, or looking failed."""


class Host:
    """The host that this process runs on; tests replace it."""

    def look(self, path: str) -> PathKind:
        """What an absolute path leads to, links followed."""
        try:
            mode = os.stat(path).st_mode  # noqa: PTH116
        except OSError as error:
            return PathKind.MISSING if error.errno in _NOT_THERE else PathKind.HIDDEN
        except ValueError:  # a name that the file system's encoding does not have
            return PathKind.MISSING
        if stat.S_ISDIR(mode):
            return PathKind.DIRECTORY
        if not stat.S_ISREG(mode):
            return PathKind.OTHER
        return PathKind.PROGRAM if mode & 0o111 else PathKind.FILE

    def head(self, path: str) -> bytes | None:
        """The first 256 bytes of a file; None if it cannot be read."""
        try:
            # Non-blocking, because a pipe may have taken the place of the file since `look`.
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except (OSError, ValueError):
            return None
        try:
            return os.read(descriptor, HEAD_BYTES)
        except OSError:
            return None
        finally:
            os.close(descriptor)

    def has_account(self, kind: str, name: str) -> bool:
        """Whether a user, or a group, of this name exists."""
        import grp
        import pwd

        try:
            if kind == "user":
                pwd.getpwnam(name)
            else:
                grp.getgrnam(name)
        except KeyError:
            return False
        return True
