"""What every child gets, however it is started: signals, descriptors, a directory, a program.

A child gets the descriptors 0, 1 and 2, and no other descriptor of krond's. Nothing is closed here:
all others are marked close-on-exec, so that a child holds krond's lock on the state directory
exactly until its program begins.

The search for a program follows PATH and runs in the calling process: for a run of another user
that is the child, after it has dropped its privileges. No shell is used, not even for a script
without #!.
"""

from __future__ import annotations

import fcntl
import os
import signal
import stat
from collections.abc import Mapping
from contextlib import suppress
from errno import EACCES, EISDIR, ELIBACC, ENOENT, ENOTDIR
from functools import lru_cache

from kron.jobs.task import DEFAULT_PATH
from kron.krond.process.failure import NotStarted, StartStage
from kron.krond.process.kernel import mark_close_on_exec

PROOF_FLAGS = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC
PROOF_MODE = 0o600

# SIGKILL and SIGSTOP have no disposition. The two that the C library uses for its threads cannot
# be named from Python; with glibc every spawned program begins with them ignored.
SIGNALS = tuple(sorted(map(int, signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})))

_FIRST = 3
"""The first descriptor that a child does not get."""
_MISSING_OR_CLOSED = frozenset({ENOENT, ENOTDIR, EACCES})
_DEFAULT_PATH = DEFAULT_PATH.encode()


def as_bytes(text: str) -> bytes:
    """Text of a configuration file as its original bytes, independent of krond's locale."""
    return text.encode("utf-8", "surrogateescape")


def enter_directory(path: bytes, *, may_lack: bool = False) -> None:
    """Enter it, or the root if it may lack and does."""
    try:
        os.chdir(path)
    except OSError as error:
        if not may_lack or error.errno not in _MISSING_OR_CLOSED:
            raise
        os.chdir("/")


def seal() -> None:
    """Mark every descriptor except 0, 1 and 2 close-on-exec."""
    if not mark_close_on_exec(_FIRST):
        _seal_inherited()


@lru_cache(maxsize=1)
def _seal_inherited() -> None:
    """The same on an old kernel, once: Python marks what it opens itself."""
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208
        descriptor = int(name)
        if descriptor >= _FIRST:
            with suppress(OSError):  # the descriptor of the listing, closed by now
                os.set_inheritable(descriptor, False)


class Sources:
    """The descriptors that become 0, 1 and 2, as copies above those three where necessary.

    So none is overwritten before it is copied, in any order: stdout may be 2 and stderr 1. One that
    is in its place already and not close-on-exec (krond's own output) is used without a copy. The
    copies are closed at the end of a `with`.
    """

    def __init__(self, stdin: int, stdout: int, stderr: int) -> None:
        self._given = (stdin, stdout, stderr)
        self._copies: dict[int, int] = {}

    def __enter__(self) -> tuple[int, ...]:
        given, copies = self._given, self._copies
        try:
            # A closed one fails here, before its number is reused.
            stay = [os.get_inheritable(descriptor) for descriptor in given]
            stay[0] = False  # the proof is opened as 0
            if min(given) >= _FIRST:
                return given
            if any(
                source < _FIRST and not (source == target and stay[target])
                for target, source in enumerate(given)
            ):
                for source in given:
                    if source < _FIRST and source not in copies:
                        copies[source] = lifted(source)
        except OSError as error:
            self.__exit__()
            raise NotStarted(StartStage.DESCRIPTORS, error.errno or 0) from None
        return tuple([copies.get(source, source) for source in given])

    def __exit__(self, *_: object) -> None:
        for copy in self._copies.values():
            os.close(copy)


def lifted(descriptor: int) -> int:
    """A copy of a descriptor above 0, 1 and 2, close-on-exec."""
    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _FIRST)


def spawn(
    program: bytes,
    argv: list[bytes],
    env: Mapping[bytes, bytes],
    descriptors: tuple[int, ...],
    proof: str = "",
) -> int:
    """The pid of a program in a session of its own, which has made its `proof` before it begins."""
    # As descriptor 0, which the C library closes first: so no limit of open files can prevent it.
    actions: list[tuple[object, ...]] = (
        [(os.POSIX_SPAWN_OPEN, 0, proof, PROOF_FLAGS, PROOF_MODE)] if proof else []
    )
    actions += [
        (os.POSIX_SPAWN_DUP2, source, target)
        for target, source in enumerate(descriptors)
        if source != target
    ]
    return os.posix_spawn(
        program, argv, env, file_actions=actions, setsid=True, setsigmask=(), setsigdef=SIGNALS
    )


def search_path(env: Mapping[bytes, bytes]) -> bytes:
    return env.get(b"PATH", _DEFAULT_PATH)


def find_program(name: bytes, path: bytes) -> bytes:
    """The file of a program: `name` itself if it has a slash, else the first one in `path`.

    `OSError`: no file has that name (ENOENT), or none of them may be executed (EACCES). An empty
    directory in `path` is the current one, as in a shell.
    """
    if b"/" in name:
        return name
    error = ENOENT
    for directory in path.split(b":"):
        file = b"%b/%b" % (directory or b".", name)
        try:
            is_file = stat.S_ISREG(os.stat(file).st_mode)  # noqa: PTH116
        except (OSError, ValueError):
            continue
        if is_file and os.access(file, os.X_OK):
            return file
        error = EACCES
    raise OSError(error, os.strerror(error))


def cause(file: bytes, error: int) -> int:
    """The most precise error for a failed execve: its ENOENT and EACCES have several causes."""
    with suppress(OSError, ValueError):
        if error == ENOENT:
            os.stat(file)  # noqa: PTH116
            return ELIBACC
        if error == EACCES and stat.S_ISDIR(os.stat(file).st_mode):  # noqa: PTH116
            return EISDIR
    return error
