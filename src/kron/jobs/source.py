"""Reads configuration files and directories so that nobody can swap them after the checks.

krond runs the commands of these files, perhaps as root. So a file is opened once, without following
a link, relative to a directory that is held open, and the descriptor that was checked is the one
that is read. Each refusal has its own message, because each needs another fix.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable

from kron.core.errors import Code, KronError, quoted
from kron.core.frozen import Frozen
from kron.core.limits import DEFAULT_LIMITS, Limits

SUFFIX = ".kron"
STANDARD_INPUT = "-"
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_TRUST_IT = "or pass --allow-insecure-config if this is intended, as in a container"


class FileAccess(Frozen):
    owner_uid: int
    """Files must belong to this user or to root."""
    insecure: bool = False
    """Trust all users and follow links: for containers, where a mount decides."""


def own_access(*, insecure: bool = False) -> FileAccess:
    """Trust root and the user of this process."""
    return FileAccess(os.geteuid(), insecure)


def is_krontab_name(name: str) -> bool:
    """Whether a file of a directory is read: `*.kron`, unless it is hidden."""
    return name.endswith(SUFFIX) and not name.startswith(".")


def list_directory(
    path: str,
    access: FileAccess,
    *,
    is_read: Callable[[str], object] = is_krontab_name,
    is_spool: bool = False,
) -> tuple[list[str], list[str]]:
    """The paths of the files of a directory, sorted: those whose names are read, and the others.

    A spool is a directory to which others may add files, but in which they cannot replace other
    users' files. Its files must be read with `read_file(..., user_uid=...)`.
    """
    directory = _open_directory(path, access, is_sticky_enough=is_spool)
    try:
        names = sorted(os.listdir(f"/proc/self/fd/{directory}"))  # noqa: PTH208 (of what was checked)
    except OSError as error:
        raise _unreadable(path, error) from None
    finally:
        os.close(directory)
    read: list[str] = []
    ignored: list[str] = []
    for name in names:
        (read if is_read(name) else ignored).append(os.path.join(path, name))  # noqa: PTH118
    return read, ignored


def check_path(path: str) -> None:
    """Refuse a path that cannot be a part of an identity or be printed."""
    if not path.isprintable():
        message = f"the path {quoted(path)} holds a control character or is not valid Unicode"
        raise KronError(Code.IDENTITY, message, fix="rename it: identities contain it")


def read_file(
    path: str, access: FileAccess, limits: Limits = DEFAULT_LIMITS, *, user_uid: int | None = None
) -> bytes:
    """The bytes of a configuration file that passes every check.

    `user_uid` is for a file in a spool: this user or root must own it, and it must have one name
    only. `access` still applies to the directory.
    """
    check_path(path)
    parent, name = os.path.split(os.path.abspath(path))  # noqa: PTH100
    directory = _open_directory(parent, access, is_sticky_enough=True)
    try:
        # Non-blocking, so that a pipe does not block before it is refused.
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
        flags |= 0 if access.insecure else os.O_NOFOLLOW
        try:
            descriptor = os.open(name, flags, dir_fd=directory)
        except OSError as error:
            raise _refused(path, error, access) from None
    finally:
        os.close(directory)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise KronError(Code.FILE_KIND, f"{path} is not a regular file")
        if user_uid is not None:
            access = access.replace(owner_uid=user_uid)
            _check_only_name(path, status, access)
        _check(path, "", status, access)
        return _read_all(path, descriptor, limits)
    finally:
        os.close(descriptor)


def _open_directory(path: str, access: FileAccess, *, is_sticky_enough: bool) -> int:
    check_path(path)
    path = os.path.abspath(path)  # noqa: PTH100 (a slash at its end would follow a link)
    flags = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
    flags |= 0 if access.insecure else os.O_NOFOLLOW
    try:
        descriptor = os.open(path, flags)
    except OSError as error:
        # With O_DIRECTORY the kernel reports a link as "not a directory".
        if error.errno == errno.ENOTDIR and os.path.islink(path):  # noqa: PTH114
            error = OSError(errno.ELOOP, "")
        raise _refused(path, error, access) from None
    try:
        status = os.fstat(descriptor)
        # In a sticky directory, such as /tmp, users cannot replace each other's files, but anyone
        # can add one. That is enough to read a named file, but not to read all files, unless a
        # file's owner and name must agree. The directory's owner can still replace every file.
        is_sticky = bool(is_sticky_enough and status.st_mode & stat.S_ISVTX)
        _check(path, "the directory ", status, access, is_sticky=is_sticky)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _check(
    path: str, what: str, status: os.stat_result, access: FileAccess, *, is_sticky: bool = False
) -> None:
    if access.insecure:
        return
    mode = stat.S_IMODE(status.st_mode)
    if mode & _OTHERS_WRITE and not is_sticky:
        message = f"others could write {what}{path} (its mode is {mode:04o})"
        raise KronError(Code.FILE_WRITABLE, message, fix=f"chmod go-w {path}, {_TRUST_IT}")
    owner, expected = status.st_uid, access.owner_uid
    if owner not in (0, expected):
        message = f"{what}{path} belongs to user {owner}, not to root or user {expected}"
        raise KronError(Code.FILE_OWNER, message, fix=f"chown it, {_TRUST_IT}")


def _check_only_name(path: str, status: os.stat_result, access: FileAccess) -> None:
    """In a spool, a hard link to any file of root would become a crontab of root."""
    if status.st_nlink > 1 and not access.insecure:
        message = f"{path} has another name elsewhere: it is one of {status.st_nlink} hard links"
        raise KronError(Code.FILE_KIND, message, fix="replace it with a copy")


def _read_all(path: str, descriptor: int, limits: Limits) -> bytes:
    pieces: list[bytes] = []
    left = limits.file_bytes + 1
    try:
        while left > 0 and (piece := os.read(descriptor, min(left, 1 << 20))):
            pieces.append(piece)
            left -= len(piece)
    except OSError as error:
        raise _unreadable(path, error) from None
    if left <= 0:
        message = f"{path} is longer than {limits.file_bytes} bytes"
        raise KronError(Code.LIMIT, message, fix="split it into several files")
    return b"".join(pieces)


def _refused(path: str, error: OSError, access: FileAccess) -> KronError:
    if error.errno == errno.ELOOP and not access.insecure:
        fix = f"name the file that it points to, {_TRUST_IT}"
        return KronError(Code.FILE_SYMLINK, f"{path} is a symbolic link", fix)
    if error.errno == errno.ENOENT:
        return KronError(Code.FILE_MISSING, f"there is no {path}")
    if error.errno == errno.ENXIO:  # a socket
        return KronError(Code.FILE_KIND, f"{path} is not a regular file")
    if error.errno == errno.ENOTDIR:
        return KronError(Code.FILE_KIND, f"{path} is not a directory, or is not in a directory")
    return _unreadable(path, error)


def _unreadable(path: str, error: OSError) -> KronError:
    return KronError(Code.FILE_UNREADABLE, f"{path} cannot be read: {error.strerror}")
