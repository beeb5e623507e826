"""A directory that is held open and that no other user can write.

All files in it are opened relative to its descriptor, so that putting another directory in its
place has no effect. Anybody may have put a file there: only a regular file of our own user, of
bounded size, is read.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from contextlib import suppress

from kron.core.errors import Code, KronError
from kron.core.frozen import Frozen
from kron.core.instant import to_text
from kron.krond.state.errors import PersistenceError, StateCorrupt, unreadable
from kron.krond.state.fields import MAX_BYTES

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Non-blocking, so that a pipe put there cannot block us before it is refused.
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
"""The errors that are the file's own. Any other (no descriptors, no memory) is not its fault."""


class Directory(Frozen):
    """An open directory: its path, for people, and its descriptor, for everything else."""

    path: str
    descriptor: int

    @classmethod
    def make(cls, path: str) -> Directory:
        """Open the directory at `path`. It and its parents are made if they do not exist."""
        path = os.path.abspath(path)  # noqa: PTH100 (a slash at its end would follow a link)
        try:
            _make_all(path)
            return cls._open(path, path)
        except OSError as error:
            raise _unusable(path, error) from None

    @classmethod
    def existing(cls, path: str, descriptor: int = -1) -> Directory:
        """Open the directory at `path`, or use this descriptor of it. Nothing is made."""
        try:
            if descriptor < 0:
                return cls._open(path, path)
            _check_directory(path, os.fstat(descriptor))
            return cls(path, descriptor)
        except OSError as error:
            raise _unusable(path, error) from None

    def make_inside(self, name: str) -> Directory:
        """Open the directory `name` in this one, made if it does not exist."""
        path = f"{self.path}/{name}"
        try:
            with suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=self.descriptor)
            os.fsync(self.descriptor)
            return self._open(path, name, self.descriptor)
        except OSError as error:
            raise _unusable(path, error) from None

    def names(self) -> list[str]:
        try:
            return os.listdir(self.descriptor)  # noqa: PTH208
        except OSError as error:
            raise unreadable(self.path, error) from None

    def has(self, name: str) -> bool:
        try:
            os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise unreadable(self.path, error) from None
        return True

    def read(self, name: str) -> bytes:
        """The bytes of a regular file of our own; `StateCorrupt` for anything else.

        `FileNotFoundError`: it does not exist.
        """
        try:
            descriptor = os.open(name, _READ, dir_fd=self.descriptor)
            try:
                status = os.fstat(descriptor)
                _check_file(status)
                return _read(descriptor, status.st_size)
            finally:
                os.close(descriptor)
        except FileNotFoundError:
            raise
        except OSError as error:
            if fault := _FAULTS.get(error.errno or 0):
                raise StateCorrupt(fault) from None
            raise unreadable(f"{self.path}/{name}", error) from None

    def set_aside(self, name: str, *companions: str) -> str:
        """Rename a file that does not read to a free name, and return its new path.

        The names of `companions`, which may not exist, begin with that of the file. `OSError`: it
        stays in place.
        """
        aside = f"{name}.corrupt.{to_text(int(time.time()))}"
        number, free = 1, aside
        while self.has(free):
            number += 1
            free = f"{aside}.{number}"
        within = self.descriptor
        os.rename(name, free, src_dir_fd=within, dst_dir_fd=within)
        for companion in companions:
            new = f"{free}{companion.removeprefix(name)}"
            with suppress(FileNotFoundError):
                os.rename(companion, new, src_dir_fd=within, dst_dir_fd=within)
        return f"{self.path}/{free}"

    def close(self) -> None:
        os.close(self.descriptor)

    @classmethod
    def _open(cls, path: str, name: str, within: int | None = None) -> Directory:
        directory = cls(path, os.open(name, _OPEN, dir_fd=within))
        try:
            _check_directory(path, os.fstat(directory.descriptor))
        except BaseException:
            directory.close()
            raise
        return directory


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
            f"other users can write the state directory {path} (its mode is {mode:04o})",
            fix=f"check that its files are yours, then chmod go-w {path}",
        )


def _check_file(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise StateCorrupt("it is not a regular file")
    if status.st_size > MAX_BYTES:
        raise StateCorrupt(f"it has {status.st_size:,} bytes, more than {MAX_BYTES:,}")
    if status.st_mode & _OTHERS_WRITE:
        mode = stat.S_IMODE(status.st_mode)
        raise StateCorrupt(f"other users can write it (its mode is {mode:04o})")
    if status.st_uid != os.geteuid():
        raise StateCorrupt(f"it belongs to user {status.st_uid}")


def _read(descriptor: int, size: int) -> bytes:
    data = os.read(descriptor, size + 1)
    while len(data) < size and (piece := os.read(descriptor, size + 1 - len(data))):
        data += piece
    if len(data) == size:
        return data
    raise StateCorrupt("its size changed while it was read")


def _make_all(path: str) -> None:
    """Make the directory and its parents, so that they survive a power failure.

    The parents are synced even if they existed: krond may have been killed right after making them.
    A parent that we may not open was made by another user.
    """
    parents = [path]
    while parents[-1] != "/":
        parents.append(os.path.dirname(parents[-1]))  # noqa: PTH120
    for parent in reversed(parents):
        try:
            os.mkdir(parent, 0o700 if parent == path else 0o755)  # noqa: PTH102
        except OSError as error:
            # If it exists in a read-only or foreign parent, the error is not EEXIST.
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
            f"{path} is not a directory, or a part of it is a symbolic link",
            fix="name the directory itself with --state-dir",
        )
    return PersistenceError(f"the state directory {path} cannot be made or opened", error)
