"""A directory that is held open and that nobody else can write.

Everything in it is reached relative to its descriptor, so that putting another directory in its
place does nothing. What is read may have been put there by anybody: only a regular file of ours,
of bounded size, is read.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress

from kron.core.errors import Code, KronError
from kron.krond.state.errors import PersistenceError
from kron.krond.state.fields import MAX_BYTES, corrupt

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Non-blocking, so that a pipe put there cannot hold us up before it is refused.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_FAULTS = {
    errno.ELOOP: "it is a symbolic link",
    errno.ENXIO: "it is a socket or a device",
    errno.ENODEV: "it is a device",
    errno.EACCES: "it may not be read",
    errno.EPERM: "it may not be read",
    errno.EIO: "the disk cannot read it",
    errno.EUCLEAN: "the file system finds it damaged",
    errno.EBADMSG: "the file system finds it damaged",
}
"""The failures that are the file's own. Any other (no descriptors, no memory) is not its fault."""


class Directory:
    """An open directory: its path, for people, and its descriptor, for everything else."""

    __slots__ = ("descriptor", "path")

    def __init__(self, path: str, descriptor: int) -> None:
        self.path = path
        self.descriptor = descriptor

    @classmethod
    def make(cls, path: str) -> Directory:
        """Open the directory at `path`. It and its parents are made if they are not there."""
        path = os.path.abspath(path)  # noqa: PTH100 (a slash at its end would follow a link)
        try:
            _make_all(path)
            directory = cls(path, os.open(path, _OPEN))
        except OSError as error:
            raise _unusable(path, error) from None
        directory._check_or_close()
        return directory

    def make_inside(self, name: str) -> Directory:
        """Open the directory `name` in this one, made if it is not there."""
        path = f"{self.path}/{name}"
        try:
            with suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=self.descriptor)
            os.fsync(self.descriptor)
            directory = Directory(path, os.open(name, _OPEN, dir_fd=self.descriptor))
        except OSError as error:
            raise _unusable(path, error) from None
        directory._check_or_close()
        return directory

    def names(self) -> list[str]:
        """What is in it."""
        return os.listdir(self.descriptor)  # noqa: PTH208

    def read(self, name: str) -> bytes:
        """The bytes of a regular file of ours: `StateCorrupt` if it is anything else."""
        try:
            descriptor = os.open(name, _READ, dir_fd=self.descriptor)
        except OSError as error:
            raise _own_fault(error) from None
        try:
            status = os.fstat(descriptor)
            _check_file(status)
            return _read(descriptor, status.st_size)
        except OSError as error:
            raise _own_fault(error) from None
        finally:
            os.close(descriptor)

    def close(self) -> None:
        """Let go of it."""
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _check_or_close(self) -> None:
        try:
            _check_directory(self.path, os.fstat(self.descriptor))
        except BaseException:
            self.close()
            raise


def _check_directory(path: str, status: os.stat_result) -> None:
    own = os.geteuid()
    mode = stat.S_IMODE(status.st_mode)
    if status.st_uid != own:
        raise KronError(
            Code.STATE,
            f"the state directory {path} belongs to user {status.st_uid}, and krond runs as {own}",
            fix=f"chown -R {own} {path}, or name another one with --state-dir",
        )
    if mode & _OTHERS_WRITE:
        raise KronError(
            Code.STATE,
            f"others could write the state directory {path} (its mode is {mode:04o})",
            fix=f"chmod go-w {path}, once you know that what is in it is yours",
        )


def _check_file(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise corrupt("it is not a regular file")
    if status.st_size > MAX_BYTES:
        raise corrupt(f"it has {status.st_size:,} bytes, more than {MAX_BYTES:,}")
    if status.st_mode & _OTHERS_WRITE:
        raise corrupt(f"others could write it (its mode is {stat.S_IMODE(status.st_mode):04o})")
    if status.st_uid != os.geteuid():
        raise corrupt(f"it belongs to user {status.st_uid}")


def _read(descriptor: int, size: int) -> bytes:
    data = os.read(descriptor, size + 1)
    while len(data) < size and (piece := os.read(descriptor, size + 1 - len(data))):
        data += piece
    if len(data) == size:
        return data
    raise corrupt("its size changes while it is read")


def _own_fault(error: OSError) -> Exception:
    """`StateCorrupt` where the file itself is at fault, the error as it is where it is not."""
    fault = _FAULTS.get(error.errno or 0)
    return corrupt(fault) if fault else error


def _make_all(path: str) -> None:
    """Make the directory and its parents, so that they are there after a power failure too.

    The parents are synced whether or not they were made now: krond may have been killed right
    after making them. Where that is not allowed, somebody else made them.
    """
    parents = [path]
    while parents[-1] != "/":
        parents.append(os.path.dirname(parents[-1]))  # noqa: PTH120
    for parent in reversed(parents):
        try:
            os.mkdir(parent, 0o700 if parent == path else 0o755)  # noqa: PTH102
        except OSError as error:
            # Of one that exists, a read-only or foreign parent answers otherwise than EEXIST.
            if not os.path.lexists(parent):
                raise error from None
    for parent in parents[1:]:
        try:
            descriptor = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            continue
        with suppress(OSError):
            os.fsync(descriptor)
        os.close(descriptor)


def _unusable(path: str, error: OSError) -> KronError:
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return KronError(
            Code.STATE,
            f"{path} is no directory, or a symbolic link stands where a directory belongs",
            fix="name the directory itself with --state-dir",
        )
    return PersistenceError(f"the state directory {path} cannot be made or opened", error)
