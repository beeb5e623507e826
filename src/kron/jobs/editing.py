"""Changes a krontab file on disk: completely or not at all, one editor at a time.

The new text goes to a hidden file beside the old one, is synced and replaces it by a rename: a
reader sees the old file or the new one. Two `krontab add` at once wait for each other on a lock of
the directory; an editor that does not lock can still lose a race, as with any file.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress

from kron.core.errors import Code, KronError, quoted
from kron.jobs.source import FileAccess, check_path, read_file

_NEW_MODE = 0o644

Rewrite = Callable[[bytes], str]
"""From the old content of a file (empty if it does not exist) to the new."""


def edit_file(path: str, access: FileAccess, change: Rewrite) -> None:
    """Write what `change` returns to the file; if it raises, write nothing."""
    import fcntl

    check_path(path)
    # With links allowed, the link's target is edited: a rename would replace the link itself.
    target = os.path.realpath(path) if access.insecure else os.path.abspath(path)  # noqa: PTH100
    parent, name = os.path.split(target)
    try:
        directory = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(directory, fcntl.LOCK_EX)
            _replace(directory, name, _encoded(change(current_bytes(path, access))))
        finally:
            os.close(directory)
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror}"
        raise KronError(Code.FILE_UNWRITABLE, message) from None


def current_bytes(path: str, access: FileAccess) -> bytes:
    """The content of the file; empty if it does not exist."""
    try:
        return read_file(path, access)
    except KronError as error:
        if error.code is Code.FILE_MISSING:
            return b""
        raise


def stage(
    temporary: str, data: bytes, like: os.stat_result | None, *, directory: int | None = None
) -> None:
    """Write and sync a new file with the mode and owner of `like`; remove it after an error."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o600, dir_fd=directory)
    try:
        try:
            _take_after(descriptor, like)
            left = memoryview(data)
            while left:
                left = left[os.write(descriptor, left) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except BaseException:
        os.unlink(temporary, dir_fd=directory)
        raise


def temporary_name(name: str) -> str:
    """The hidden name of a file that is to replace the one called `name`."""
    return f".{name}.{os.getpid()}.new"


def _replace(directory: int, name: str, data: bytes) -> None:
    temporary = temporary_name(name)
    with suppress(FileNotFoundError):  # we hold the lock, so a killed process left it
        os.unlink(temporary, dir_fd=directory)
    try:
        old = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        old = None
    stage(temporary, data, old, directory=directory)
    try:
        os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        os.unlink(temporary, dir_fd=directory)
        raise
    os.fsync(directory)


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        message = f"{quoted(text[error.start])} is half a character, which no file holds"
        raise KronError(Code.TEXT, message) from None


def _take_after(descriptor: int, old: os.stat_result | None) -> None:
    if old is None:
        os.fchmod(descriptor, _NEW_MODE)
        return
    own = os.fstat(descriptor)
    if (old.st_uid, old.st_gid) != (own.st_uid, own.st_gid):
        os.fchown(descriptor, old.st_uid, old.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
