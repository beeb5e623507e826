"""The directory of kept outputs, where nothing that anybody has put there leads elsewhere.

Every step is taken relative to an open directory, and follows no link. A directory for outputs must
belong to krond's user, and nobody else may write it. An output is a regular file with one name.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EDQUOT, EEXIST, EIO, ELOOP, ENOSPC, ENOTDIR, EPERM, EROFS

from kron.krond.output.names import OutputName

DIRECTORY_MODE = 0o750
FILE_MODE = 0o640
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_ITSELF = os.O_NOFOLLOW | os.O_CLOEXEC
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | _ITSELF
# Non-blocking, so that a pipe put there cannot block us before it is refused.
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | _ITSELF
_WRITE = os.O_RDWR | os.O_NONBLOCK | os.O_NOCTTY | _ITSELF
_PASSING = (ENOSPC, EDQUOT, EROFS, EIO)
"""A disk that fails may recover."""


def check_usable(path: str) -> None:
    """Make the directory at `path` and one inside for a moment. `OSError`: no output can be kept.

    A disk that is full or fails is no reason.
    """
    inside = f".krond-{os.getpid()}"
    try:
        with _made_root(path) as root:
            os.mkdir(inside, DIRECTORY_MODE, dir_fd=root)
            os.rmdir(inside, dir_fd=root)
    except OSError as error:
        if error.errno not in _PASSING:
            raise


@contextmanager
def made_directory(path: str, job: str) -> Iterator[int]:
    """The open directory `job` in the one at `path`, both made if they do not exist."""
    with _made_root(path) as root:
        with suppress(FileExistsError):
            os.mkdir(job, DIRECTORY_MODE, dir_fd=root)
        with opened_directory(job, root) as directory:
            _check_directory(directory)
            yield directory


@contextmanager
def _made_root(path: str) -> Iterator[int]:
    with suppress(FileExistsError):
        os.makedirs(os.path.dirname(path), 0o755, exist_ok=True)  # noqa: PTH103, PTH120
        os.mkdir(path, DIRECTORY_MODE)  # noqa: PTH102
    with opened_directory(path) as root:
        _check_directory(root)
        yield root


@contextmanager
def opened_directory(path: str, within: int | None = None) -> Iterator[int]:
    try:
        descriptor = os.open(path, _DIRECTORY, dir_fd=within)
    except OSError as error:
        if error.errno in (ELOOP, ENOTDIR):
            raise OSError(error.errno, "it is a symbolic link, or not a directory", path) from None
        raise
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def open_for_writing(name: str, directory: int) -> int:
    """The open file, new or an output that another process has begun."""
    try:
        return os.open(name, _WRITE | os.O_CREAT | os.O_EXCL, FILE_MODE, dir_fd=directory)
    except FileExistsError:
        descriptor = os.open(name, _WRITE, dir_fd=directory)
    if is_output(os.fstat(descriptor)):
        return descriptor
    os.close(descriptor)
    raise OSError(EEXIST, "another file has its name")


def open_for_reading(name: str, directory: int) -> int:
    descriptor = os.open(name, _READ, dir_fd=directory)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(EEXIST, "it is not a regular file", name)


def outputs_in(directory: int) -> list[str]:
    """The names of outputs, the oldest first."""
    return sorted(name for name in os.listdir(directory) if OutputName.read(name))


def is_output(status: os.stat_result) -> bool:
    """Whether it can be a file that krond has made."""
    is_own = status.st_uid == os.geteuid() and status.st_nlink == 1
    return is_own and stat.S_ISREG(status.st_mode)


def _check_directory(descriptor: int) -> None:
    status = os.fstat(descriptor)
    if status.st_uid != os.geteuid():
        raise OSError(EPERM, f"the directory belongs to user {status.st_uid}, not to krond's")
    if status.st_mode & _OTHERS_WRITE:
        mode = stat.S_IMODE(status.st_mode)
        raise OSError(EPERM, f"other users can write the directory (its mode is {mode:04o})")
