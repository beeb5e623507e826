"""The fast way to start a process: posix_spawn, for a run with krond's own user and limits.

The child shares krond's memory until its program begins, so a big krond costs nothing. posix_spawn
cannot set the directory, the umask, the limit of open files and the cgroup: krond changes its own
and restores them at once. It has one thread, so no other code is affected.
"""

from __future__ import annotations

import os
import resource
from errno import EAGAIN, EBADF, EEXIST, EINVAL, ENOMEM

from kron.krond.process import child
from kron.krond.process.child import PROOF_MODE, as_bytes, cause, enter_directory
from kron.krond.process.failure import NotStarted, StartStage, error_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kron.krond.process.launch import Launch


def suits(what: Launch, sources: tuple[int, ...] = ()) -> bool:
    """Whether posix_spawn can start it."""
    open_files = what.open_files
    return (
        what.account is None
        and not what.task.limits
        and what.task.nice is None
        # krond does not enter a cgroup whose limits might hit it.
        and not what.task.cgroup_limits
        # The proof is made with the run's umask, and krond still has to write to it.
        and (what.task.umask is None or not what.task.umask & PROOF_MODE)
        # A lowered hard limit, or an inaccessible directory of our own, could not be restored.
        and (open_files is None or open_files[1] == _own_limit()[1])
        # The C library refuses a descriptor beyond the limit, and krond may have many.
        and (open_files is None or max(sources, default=0) < open_files[0])
        and (not what.task.cwd or os.access(".", os.X_OK))
    )


def spawn(what: Launch, argv: list[bytes], sources: tuple[int, ...]) -> int:
    """The pid of the process, or `NotStarted`."""
    home = own_umask = own_limit = None
    try:
        if what.task.cwd:
            home = _open_home()
            _enter(what)
        if what.open_files is not None and (own := _own_limit()) != what.open_files:
            own_limit = own
            resource.setrlimit(resource.RLIMIT_NOFILE, what.open_files)
        if what.task.umask is not None:
            own_umask = os.umask(what.task.umask)
        return _spawn_in_cgroup(what, argv, sources)
    finally:
        if own_umask is not None:
            os.umask(own_umask)
        if own_limit is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, own_limit)
        if home is not None:
            _return_to(home)


def _spawn_in_cgroup(what: Launch, argv: list[bytes], sources: tuple[int, ...]) -> int:
    """A child is born in the cgroup of its parent, so that nothing it starts can be elsewhere."""
    if what.cgroup is None:
        return _spawn(what, argv, sources)
    try:
        what.cgroup.enter()
    except OSError as error:
        raise NotStarted(StartStage.CGROUP, error.errno or 0) from None
    try:
        return _spawn(what, argv, sources)
    finally:
        what.cgroup.leave()


def _spawn(what: Launch, argv: list[bytes], sources: tuple[int, ...]) -> int:
    try:
        program = child.find_program(argv[0], child.search_path(what.env))
    except OSError as error:
        raise NotStarted(StartStage.SEARCH, error.errno or 0) from None
    try:
        return child.spawn(program, argv, what.env, sources, what.proof)
    except (OSError, ValueError) as error:
        raise _failure(what.proof, program, error_number(error)) from None


def _failure(proof: str, program: bytes, error: int) -> NotStarted:
    """The stage at which posix_spawn failed: the proof shows how far it came."""
    if error == EEXIST:
        return NotStarted(StartStage.PROOF, error)
    if not proof or os.access(proof, os.F_OK, follow_symlinks=False):
        has_proof = bool(proof)
        if error == EBADF:
            return NotStarted(StartStage.DESCRIPTORS, error, left_proof=has_proof)
        return NotStarted(StartStage.PROGRAM, cause(program, error), left_proof=has_proof)
    if error == EINVAL:
        return NotStarted(StartStage.PROGRAM, error)  # Python refused it before the system call
    return NotStarted(StartStage.PROCESS if error in (EAGAIN, ENOMEM) else StartStage.PROOF, error)


def _own_limit() -> tuple[int, int]:
    return resource.getrlimit(resource.RLIMIT_NOFILE)


def _enter(what: Launch) -> None:
    try:
        enter_directory(as_bytes(what.task.cwd), may_lack=what.task.cwd_may_lack)
    except (OSError, ValueError) as error:
        raise NotStarted(StartStage.DIRECTORY, error_number(error)) from None


def _open_home() -> int:
    try:
        return os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise NotStarted(StartStage.PROCESS, error.errno or 0) from None


def _return_to(home: int) -> None:
    try:
        os.fchdir(home)
    except OSError:
        # It became inaccessible in this moment. krond must not stay in the run's directory.
        os.chdir("/")
    finally:
        os.close(home)
