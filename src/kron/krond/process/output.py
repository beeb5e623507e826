"""Where a run's output goes: a file that is opened with the rights of its user, syslog, a relay.

The path leads through directories that the user may own and swap for links at any moment. So it is
walked one name at a time, with the user's own rights, and a link is followed only if root or that
user made it: nothing is opened that the user could not have opened.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from errno import EDQUOT, EINVAL, EISDIR, ELOOP, ENOENT, ENOSPC, ENOTDIR, ENXIO

from kron.core.errors import quoted, visible
from kron.krond.process.account import Account
from kron.krond.process.child import SIGNALS, as_bytes
from kron.krond.process.descriptors import Sources, seal
from kron.krond.process.executable import find_program, search_path
from kron.krond.process.failure import NotStarted, StartError, error_number, is_passing
from kron.krond.process.kernel import become_for_files

MOST_LINKS = 40

_DIRECTORY = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ENTRY = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
# Non-blocking, so that neither a pipe without a reader nor a lease can hold krond up.
_OUTPUT = (
    os.O_WRONLY
    | os.O_APPEND
    | os.O_CREAT
    | os.O_NOFOLLOW
    | os.O_NOCTTY
    | os.O_NONBLOCK
    | os.O_CLOEXEC
)
_MODE = 0o666
_FULL = frozenset({ENOSPC, EDQUOT})
_STUCK = 70  # as kron.krond.program has it
"""The exit status of a krond that could not take its own rights back."""


def open_output(path: str, account: Account | None, umask: int | None) -> int:
    """A descriptor that appends to the file. It is made if missing; its directories are not."""
    user_id = os.geteuid() if account is None else account.uid
    try:
        if not path.startswith("/"):
            raise OSError(EINVAL, "it is not an absolute path")
        with _rights_of(account), _mask(umask):
            descriptor = _walk(as_bytes(path), frozenset({0, user_id}))
        return _checked(descriptor)
    except (OSError, ValueError) as error:
        number = error_number(error)
        text = f'the output file "{visible(path)}" cannot be opened: {_why(error, number)}'
        raise StartError(text, for_good=not is_passing(number) and number not in _FULL) from None


def open_syslog(tag: str, priority: str) -> tuple[int, int]:
    """The writing end of a pipe to syslog, and the pid of the `logger` that reads it."""
    return _open_helper(("logger", "-t", tag, "-p", priority), None, "syslog")


def open_relay(target: int) -> tuple[int, int]:
    """The writing end of a pipe to the file that is open as `target`, and the pid of its reader.

    For a run of another user: whoever has a file open may also truncate it, or write over what is
    there. Through a pipe there is only the end. `tee` rather than `cat`, because it reads on when
    the disk is full: the run loses its output then, and does not die of it.
    """
    return _open_helper(("tee", os.devnull), target, "the output of another user")


def _open_helper(words: Sequence[str], target: int | None, need: str) -> tuple[int, int]:
    """The writing end of a pipe to a program that writes to `target`, if anywhere, and its pid.

    It has a session of its own: it ends when the last writer does, not when a run is stopped or
    krond is.
    """
    name = words[0]
    try:
        program = find_program(as_bytes(name), search_path(os.environb))
    except OSError:
        raise StartError(f'there is no program "{name}" in PATH, which {need} needs') from None
    try:
        reading, writing = os.pipe()
    except OSError as error:
        raise _no_helper(name, need, error.errno or 0) from None
    try:
        return writing, _spawn_helper(program, words, reading, target)
    except NotStarted as failure:
        os.close(writing)
        raise _no_helper(name, need, failure.error) from None
    except (OSError, ValueError) as error:
        os.close(writing)
        raise _no_helper(name, need, error_number(error)) from None
    finally:
        os.close(reading)


def _no_helper(name: str, need: str, error: int) -> StartError:
    text = f"the {name} that {need} needs cannot be started: {os.strerror(error)}"
    return StartError(text, for_good=not is_passing(error))


def _spawn_helper(program: bytes, words: Sequence[str], reading: int, target: int | None) -> int:
    seal()
    nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    try:
        sources = Sources(reading, nowhere if target is None else target, nowhere)
        try:
            return os.posix_spawn(
                program,
                tuple(map(as_bytes, words)),
                {b"PATH": search_path(os.environb)},
                file_actions=tuple(
                    (os.POSIX_SPAWN_DUP2, source, number)
                    for number, source in enumerate(sources.of)
                ),
                setsid=True,
                setsigmask=(),
                setsigdef=SIGNALS,
            )
        finally:
            sources.close()
    finally:
        os.close(nowhere)


def _walk(path: bytes, trusted: frozenset[int]) -> int:
    """Open the file at the end of `path`, going from directory to directory."""
    names = path.split(b"/")[::-1]
    links = 0
    directory = os.open(b"/", _DIRECTORY)
    try:
        while True:
            name = names.pop() or b"."
            target = b""
            if names:
                inner, target = _step(name, directory, trusted)
            else:
                opened, target = _open_last(name, directory, trusted)
                if opened is not None:
                    return opened
                inner = None
            if inner is None and target.startswith(b"/"):
                inner = os.open(b"/", _DIRECTORY)
            if inner is not None:
                os.close(directory)
                directory = inner
            if target:
                links += 1
                if links > MOST_LINKS:
                    raise OSError(ELOOP, f"more than {MOST_LINKS} symbolic links lead to it")
                names += target.split(b"/")[::-1]
    finally:
        os.close(directory)


def _step(name: bytes, directory: int, trusted: frozenset[int]) -> tuple[int | None, bytes]:
    """The directory of that name, or else where the link of that name points."""
    try:
        return os.open(name, _DIRECTORY, dir_fd=directory), b""
    except NotADirectoryError:
        return None, _target(name, directory, trusted)


def _open_last(name: bytes, directory: int, trusted: frozenset[int]) -> tuple[int | None, bytes]:
    """The file of that name, or else where the link of that name points."""
    try:
        return os.open(name, _OUTPUT, _MODE, dir_fd=directory), b""
    except OSError as error:
        if error.errno != ELOOP:
            raise
    return None, _target(name, directory, trusted)


def _target(name: bytes, directory: int, trusted: frozenset[int]) -> bytes:
    """Where a link points. What is asked about and what is read is one and the same link."""
    entry = os.open(name, _ENTRY, dir_fd=directory)
    try:
        status = os.fstat(entry)
        if not stat.S_ISLNK(status.st_mode):
            raise OSError(ENOTDIR, os.strerror(ENOTDIR))
        if status.st_uid not in trusted:
            text = f"a symbolic link on the way belongs to user {status.st_uid}"
            raise OSError(ELOOP, f"{text}, neither to root nor to the run's user")
        return os.readlink(b"", dir_fd=entry)
    finally:
        os.close(entry)


def _checked(descriptor: int) -> int:
    """The descriptor of a file or a device that takes characters, now blocking as a run expects."""
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
        return "its directory is missing, and is not made"
    if number in (ENXIO, EISDIR):  # a pipe that nobody reads, a socket, a directory
        return _KIND
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return "the path holds a NUL byte, or is not valid Unicode"


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
    """Have the rights of an account to files for a moment, and no others.

    The effective user stays krond's own: whoever has the effective user of a process may slow it
    down or tie it to a processor, and a moment is enough for that.
    """
    if account is None:
        yield
        return
    own = Account(os.geteuid(), os.getegid(), tuple(os.getgroups()), "krond")
    try:
        os.setgroups(account.groups)
    except OSError as error:  # nothing was taken on, so there is nothing to take back
        text = f"krond cannot take on the groups of user {quoted(account.name)}"
        raise StartError(f"{text}: {error.strerror}") from None
    try:
        if not _has_rights_of(account):
            raise StartError(f"krond cannot take on the rights of user {quoted(account.name)}")
        yield
    finally:
        _take_back(own)


def _take_back(own: Account) -> None:
    """Be krond again, or be nothing: nobody knows what a krond of mixed rights would do."""
    try:
        os.setgroups(own.groups)
        if _has_rights_of(own):
            return
    except BaseException:
        os._exit(_STUCK)
    os._exit(_STUCK)


def _has_rights_of(account: Account) -> bool:
    """Take on the user and the group for files. Whether they, and the groups, are the account's."""
    is_taken = become_for_files(account.uid, account.gid)
    return is_taken and set(os.getgroups()) == set(account.groups)
