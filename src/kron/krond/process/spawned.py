"""The quick way to start a process: posix_spawn, for a run that is to be as krond itself.

The child shares krond's memory until its program begins, so that a big krond costs nothing. What
posix_spawn cannot set (directory, mask of file modes, limit of open files) krond sets for itself,
and takes back at once: it has one thread, so nobody sees it.
"""

from __future__ import annotations

import os
import resource
from errno import EAGAIN, EBADF, EEXIST, EINVAL, ENOMEM

from kron.krond.process.child import (
    PROOF_FLAGS,
    PROOF_MODE,
    SIGNALS,
    enter_directory,
)
from kron.krond.process.executable import cause, find_program, search_path
from kron.krond.process.failure import NotStarted, Stage, error_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kron.krond.process.launch import Launch


def suits(what: Launch, open_files: tuple[int, int] | None) -> bool:
    """Whether this way can start it."""
    return (
        what.account is None
        and not what.limits
        and what.nice is None
        # The proof is made under the run's mask, and krond still has to write to it.
        and (what.umask is None or not what.umask & PROOF_MODE)
        # A hard limit once lowered, or an own directory that is closed, could not be had back.
        and (open_files is None or open_files[1] == _own_limit()[1])
        and (not what.cwd or os.access(".", os.X_OK))
    )


def spawn(
    what: Launch,
    argv: list[bytes],
    sources: tuple[int, ...],
    open_files: tuple[int, int] | None,
) -> int:
    """The pid of the process, or `NotStarted`."""
    home = own_umask = own_limit = None
    try:
        if what.cwd:
            home = _open_home()
            enter_directory(what)
        if open_files is not None and (own := _own_limit()) != open_files:
            own_limit = own
            resource.setrlimit(resource.RLIMIT_NOFILE, open_files)
        if what.umask is not None:
            own_umask = os.umask(what.umask)
        return _spawn(what, argv, sources)
    finally:
        if own_umask is not None:
            os.umask(own_umask)
        if own_limit is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, own_limit)
        if home is not None:
            _return_to(home)


def _spawn(what: Launch, argv: list[bytes], sources: tuple[int, ...]) -> int:
    try:
        program = find_program(argv[0], search_path(what.env))
    except OSError as error:
        raise NotStarted(Stage.SEARCH, error.errno or 0) from None
    actions: list[tuple[object, ...]] = [
        # As descriptor 0, which posix_spawn closes first: there is room whatever the limit is.
        (os.POSIX_SPAWN_OPEN, 0, what.proof, PROOF_FLAGS, PROOF_MODE)
    ]
    for target, source in enumerate(sources):
        if source != target:
            actions.append((os.POSIX_SPAWN_DUP2, source, target))
    try:
        return os.posix_spawn(
            program,
            argv,
            what.env,
            file_actions=actions,
            setsid=True,
            setsigmask=(),
            setsigdef=SIGNALS,
        )
    except (OSError, ValueError) as error:
        raise _failure(what.proof, program, error_number(error)) from None


def _failure(proof: str, program: bytes, error: int) -> NotStarted:
    """Where posix_spawn failed. It does not say, but whether the proof is there by now does."""
    if error == EEXIST:
        return NotStarted(Stage.PROOF, error)
    if os.access(proof, os.F_OK, follow_symlinks=False):
        if error == EBADF:
            return NotStarted(Stage.DESCRIPTORS, error, left_proof=True)
        return NotStarted(Stage.PROGRAM, cause(program, error), left_proof=True)
    if error == EINVAL:
        return NotStarted(Stage.PROGRAM, error)  # Python did not even try
    return NotStarted(Stage.PROCESS if error in (EAGAIN, ENOMEM) else Stage.PROOF, error)


def _own_limit() -> tuple[int, int]:
    return resource.getrlimit(resource.RLIMIT_NOFILE)


def _open_home() -> int:
    try:
        return os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise NotStarted(Stage.PROCESS, error.errno or 0) from None


def _return_to(home: int) -> None:
    try:
        os.fchdir(home)
    except OSError:
        # Closed to krond within this very moment. The run's directory is no place to stay.
        os.chdir("/")
    finally:
        os.close(home)
