"""Where a run's output goes without krond: a file opened with the rights of its user, or syslog.

The path is walked with the user's own rights, and a link is followed only if it belongs to root or
to that user: no file is opened that the user could not open.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from errno import EDQUOT, EINVAL, EISDIR, ENOENT, ENOSPC, ENXIO

from kron.core.errors import quoted, visible
from kron.krond.process.account import Account
from kron.krond.process.child import Sources, as_bytes, find_program, seal, search_path, spawn
from kron.krond.process.failure import PASSING, NotStarted, StartError, error_number
from kron.krond.process.kernel import become_for_files
from kron.krond.process.walk import open_by_steps

_OUTPUT = os.O_WRONLY | os.O_APPEND | os.O_CREAT
_FULL = frozenset({ENOSPC, EDQUOT})
_STUCK = 70  # as kron.krond.program has it
"""The exit status of a krond that could not get its own rights back."""


def open_output(path: str, account: Account | None, umask: int | None) -> int:
    """A descriptor that appends to the file. The file is created if missing, not its directory."""
    user_id = os.geteuid() if account is None else account.uid
    try:
        if not path.startswith("/"):
            raise OSError(EINVAL, "it is not an absolute path")
        with _rights_of(account), _mask(umask):
            whose = "root or the run's user"
            descriptor = open_by_steps(as_bytes(path), _OUTPUT, frozenset({0, user_id}), whose)
        return _checked(descriptor)
    except (OSError, ValueError) as error:
        number = error_number(error)
        text = f'the output file "{visible(path)}" cannot be opened: {_why(error, number)}'
        raise StartError(text, for_good=number not in PASSING | _FULL) from None


def open_syslog(tag: str, priority: str) -> tuple[int, int]:
    """The writing end of a pipe to syslog, and the pid of the `logger` that reads it.

    The logger has a session of its own: it ends with its last writer, not when a run or krond is
    stopped.
    """
    try:
        program = find_program(b"logger", search_path(os.environb))
    except OSError:
        raise StartError('PATH has no program "logger", which syslog needs') from None
    try:
        reading, writing = os.pipe()
    except OSError as error:
        raise _no_logger(error.errno or 0) from None
    try:
        return writing, _spawn_logger(program, ("logger", "-t", tag, "-p", priority), reading)
    except (NotStarted, OSError, ValueError) as error:
        os.close(writing)
        raise _no_logger(error_number(error)) from None
    finally:
        os.close(reading)


def _no_logger(error: int) -> StartError:
    text = f"the logger that syslog needs cannot be started: {os.strerror(error)}"
    return StartError(text, for_good=error not in PASSING)


def _spawn_logger(program: bytes, words: Sequence[str], reading: int) -> int:
    seal()
    nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    try:
        with Sources(reading, nowhere, nowhere) as descriptors:
            argv = list(map(as_bytes, words))
            return spawn(program, argv, {b"PATH": search_path(os.environb)}, descriptors)
    finally:
        os.close(nowhere)


def _checked(descriptor: int) -> int:
    """The descriptor, if it is a file or a character device; blocking, as a run expects."""
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISCHR(mode):
            raise OSError(EINVAL, _KIND)
        flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
        fcntl.fcntl(descriptor, fcntl.F_SETFL, flags & ~os.O_NONBLOCK)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


_KIND = "it is neither a regular file nor a character device"


def _why(error: BaseException, number: int) -> str:
    if number == ENOENT:
        return "its directory does not exist"
    if number in (ENXIO, EISDIR):  # a pipe that nobody reads, a socket, a directory
        return _KIND
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return "the path has a NUL byte, or is not valid Unicode"


@contextmanager
def _mask(umask: int | None) -> Iterator[None]:
    if umask is None:
        yield
        return
    own = os.umask(umask)
    try:
        yield
    finally:
        os.umask(own)


@contextmanager
def _rights_of(account: Account | None) -> Iterator[None]:
    """Have exactly the file rights of an account, for a moment.

    The effective user stays krond's own: another process with the same effective user could change
    krond's priority or affinity in that moment.
    """
    if account is None:
        yield
        return
    own = Account(os.geteuid(), os.getegid(), tuple(os.getgroups()), "krond")
    try:
        os.setgroups(account.groups)
    except OSError as error:  # nothing has changed, so there is nothing to restore
        text = f"krond cannot switch to the groups of user {quoted(account.name)}"
        raise StartError(f"{text}: {error.strerror}") from None
    try:
        if not _has_rights_of(account):
            raise StartError(f"krond cannot switch to the rights of user {quoted(account.name)}")
        yield
    finally:
        _take_back(own)


def _take_back(own: Account) -> None:
    """Restore krond's rights or exit: a krond with mixed rights must not go on."""
    try:
        os.setgroups(own.groups)
        if _has_rights_of(own):
            return
    except BaseException:
        os._exit(_STUCK)
    os._exit(_STUCK)


def _has_rights_of(account: Account) -> bool:
    """Switch to the account for files. Returns whether user, group and groups are right."""
    is_taken = become_for_files(account.uid, account.gid)
    return is_taken and set(os.getgroups()) == set(account.groups)
