"""Changing a krontab file on disk: whole or not at all, one editor at a time.

The new text goes to a hidden file beside the old one, is synced, and takes its place by a rename:
whoever reads sees the old file or the new one. Two `krontab add` at once wait for each other on a
lock of the directory; an editor that does not lock can still lose a race, as with any file.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress

from kron.core.errors import Code, KronError, quoted
from kron.core.limits import DEFAULT_LIMITS, Limits
from kron.jobs.source import Access, check_path, read_file

_NEW_MODE = 0o644

Change = Callable[[bytes], str]
"""From what a file holds (nothing, if it is not there) to what it shall hold."""


def edit_file(
    path: str, access: Access, change: Change, *, limits: Limits = DEFAULT_LIMITS
) -> None:
    """Put what `change` returns into the file; if it raises, nothing is written."""
    import fcntl

    check_path(path)
    # Whoever follows links means the file at their end: a rename would replace the link itself.
    target = os.path.realpath(path) if access.insecure else os.path.abspath(path)  # noqa: PTH100
    parent, name = os.path.split(target)
    try:
        directory = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise _unwritable(path, error) from None
    try:
        try:
            fcntl.flock(directory, fcntl.LOCK_EX)
        except OSError as error:
            raise _unwritable(path, error) from None
        data = _encoded(change(current_bytes(path, access, limits)))
        try:
            _replace(directory, name, data)
        except OSError as error:
            raise _unwritable(path, error) from None
    finally:
        os.close(directory)


def current_bytes(path: str, access: Access, limits: Limits = DEFAULT_LIMITS) -> bytes:
    """What the file holds now: nothing, if it is not there."""
    try:
        return read_file(path, access, limits)
    except KronError as error:
        if error.code is Code.FILE_MISSING:
            return b""
        raise


def stage(
    temporary: str, data: bytes, like: os.stat_result | None, *, directory: int | None = None
) -> None:
    """Write and sync a new file with the mode and the owner of `like`, or leave nothing."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o600, dir_fd=directory)
    try:
        try:
            _take_after(descriptor, like)
            _write_all(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except BaseException:
        os.unlink(temporary, dir_fd=directory)
        raise


def temporary_name(name: str) -> str:
    """The hidden name under which a file waits to take the place of the one called `name`."""
    return f".{name}.{os.getpid()}.new"


def _replace(directory: int, name: str, data: bytes) -> None:
    temporary = temporary_name(name)
    with suppress(FileNotFoundError):  # the lock is ours: one of this name was left by a kill -9
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
        character = quoted(text[error.start])
        message = f"{character} is half a character, which no file holds"
        raise KronError(Code.TEXT, message) from None


def _take_after(descriptor: int, old: os.stat_result | None) -> None:
    if old is None:
        os.fchmod(descriptor, _NEW_MODE)
        return
    own = os.fstat(descriptor)
    if (old.st_uid, old.st_gid) != (own.st_uid, own.st_gid):
        os.fchown(descriptor, old.st_uid, old.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(old.st_mode))


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _unwritable(path: str, error: OSError) -> KronError:
    return KronError(Code.FILE_UNWRITABLE, f"{path} cannot be written: {error.strerror}")
