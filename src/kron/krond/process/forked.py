"""The other way to start a process: fork, for a run with a user, limits or a niceness of its own.

The child is a list of steps that is made before the fork. Whatever goes wrong in one of them, the
child tells which and is gone at once: no program begins unless every step before it succeeded, and
the privileges were found to have dropped. Signals are blocked from before the fork to the last
step, so that no handler of krond's runs in the child.
"""

from __future__ import annotations

import gc
import os
import resource
import select
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from errno import EINVAL, EPERM, ETIMEDOUT

from kron.jobs.task import UNLIMITED, Resource
from kron.krond.process.account import HIGHEST_ID, Account
from kron.krond.process.child import (
    PROOF_FLAGS,
    PROOF_MODE,
    SIGNALS,
    enter_directory,
)
from kron.krond.process.descriptors import lifted
from kron.krond.process.executable import cause, find_program, search_path
from kron.krond.process.failure import NotStarted, Stage, error_number
from kron.krond.process.kernel import permitted_capabilities, prepared_execve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from kron.krond.process.launch import Launch

    Step = tuple[Stage, Callable[[], object]]

PATIENCE_MS = 10_000
"""How long a child may take to its program. One in a directory of a dead server takes for ever."""

_DYING_MS = 1_000
_FAILED = 127
_PRIVATE = 0o077
_KERNEL_NAMES = {
    Resource.NOFILE: resource.RLIMIT_NOFILE,
    Resource.NPROC: resource.RLIMIT_NPROC,
    Resource.AS: resource.RLIMIT_AS,
    Resource.CORE: resource.RLIMIT_CORE,
}
_unreaped: list[int] = []


def fork(
    what: Launch,
    argv: list[bytes],
    sources: tuple[int, ...],
    open_files: tuple[int, int] | None,
) -> int:
    """The pid of the process, or `NotStarted`."""
    _reap_stragglers()
    steps = list(_steps(what, argv, sources, open_files))
    try:
        answers, telling = _pipe()
    except OSError as error:
        raise NotStarted(Stage.PROCESS, error.errno or 0) from None
    own_mask = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        pid = _fork(steps, telling)
        _await(pid, answers)
        return pid
    finally:
        os.close(answers)
        signal.pthread_sigmask(signal.SIG_SETMASK, own_mask)


def _fork(steps: list[Step], telling: int) -> int:
    """The pid of a child that is about to take the steps. The writing end is the child's alone."""
    try:
        pid = os.fork()
        if pid == 0:
            _run(steps, telling)
        return pid
    except OSError as error:
        raise NotStarted(Stage.PROCESS, error.errno or 0) from None
    finally:
        os.close(telling)


def _steps(
    what: Launch,
    argv: list[bytes],
    sources: tuple[int, ...],
    open_files: tuple[int, int] | None,
) -> Iterator[Step]:
    """What the child does, in order. Each step is one thing that may fail."""
    try:
        execve = prepared_execve(argv, what.env)
    except ValueError:
        raise NotStarted(Stage.PROGRAM, EINVAL) from None
    umask = what.umask if what.umask is not None else _own_umask()
    early, late = _limits(what.limits, open_files)
    yield Stage.SESSION, os.setsid
    yield Stage.PROOF, lambda: _leave_proof(what.proof)
    yield Stage.DESCRIPTORS, lambda: _take_descriptors(sources)
    for limit in early:
        yield Stage.LIMITS, _setting(limit)
    if what.nice is not None:
        nice = what.nice
        yield Stage.NICE, lambda: os.setpriority(os.PRIO_PROCESS, 0, nice)
    if what.account is not None:
        yield from _drop(what.account)
    yield Stage.DIRECTORY, lambda: os.umask(umask)
    if what.cwd:
        yield Stage.DIRECTORY, lambda: enter_directory(what)
    program: list[bytes] = []
    path = search_path(what.env)
    yield Stage.SEARCH, lambda: program.append(find_program(argv[0], path))
    yield Stage.SIGNALS, _default_signals
    for limit in late:
        yield Stage.LIMITS, _setting(limit)
    yield Stage.PROGRAM, lambda: _execute(execve, program[0])


def _drop(account: Account) -> Iterator[Step]:
    """Groups first, while krond still may; the user last; and then see whether it is true."""
    uid, gid, groups = account.uid, account.gid, list(account.groups)
    for number in (uid, gid, *groups):
        if not 0 <= number <= HIGHEST_ID:  # -1 would mean: leave it as it is
            raise NotStarted(Stage.USER, EINVAL)
    yield Stage.GROUPS, lambda: os.setgroups(groups)
    yield Stage.GROUP, lambda: os.setresgid(gid, gid, gid)
    yield Stage.USER, lambda: os.setresuid(uid, uid, uid)
    yield Stage.VERIFIED, lambda: _verify(account)


def _verify(account: Account) -> None:
    """Trust nothing that a system call returned: look."""
    if (
        os.getresuid() != (account.uid,) * 3
        or os.getresgid() != (account.gid,) * 3
        or set(os.getgroups()) != set(account.groups)
    ):
        raise OSError(EPERM, os.strerror(EPERM))
    if account.uid != 0 and (_can_become_root() or permitted_capabilities()):
        raise OSError(EPERM, os.strerror(EPERM))


def _can_become_root() -> bool:
    try:
        os.setuid(0)
    except PermissionError:
        return False
    return True


def _limits(
    limits: tuple[tuple[Resource, int], ...], open_files: tuple[int, int] | None
) -> tuple[list[tuple[int, int, int]], list[tuple[int, int, int]]]:
    """The limits to set before the user is switched, and those for the last moment.

    Only root may raise one, and that of processes has to hold when the user is switched. But an
    address space lowered below what the child has of krond's would leave it no memory to go on.
    """
    early: list[tuple[int, int, int]] = []
    late: list[tuple[int, int, int]] = []
    if open_files is not None and all(name is not Resource.NOFILE for name, _ in limits):
        early.append((resource.RLIMIT_NOFILE, *open_files))
    for name, value in limits:
        number = resource.RLIM_INFINITY if value == UNLIMITED else value
        _, own_hard = resource.getrlimit(_KERNEL_NAMES[name])
        is_lower = value != UNLIMITED and (own_hard == resource.RLIM_INFINITY or value <= own_hard)
        group = late if name is Resource.AS and is_lower else early
        group.append((_KERNEL_NAMES[name], number, number))
    return early, late


def _setting(limit: tuple[int, int, int]) -> Callable[[], object]:
    name, soft, hard = limit
    return lambda: resource.prlimit(0, name, (soft, hard))


def _leave_proof(path: str) -> None:
    os.umask(_PRIVATE)
    os.close(os.open(path, PROOF_FLAGS, PROOF_MODE))


def _take_descriptors(sources: tuple[int, ...]) -> None:
    for target, source in enumerate(sources):
        os.dup2(source, target, inheritable=True)


def _default_signals() -> None:
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _execute(execve: Callable[[bytes], None], program: bytes) -> None:
    try:
        execve(program)
    except OSError as error:
        number = cause(program, error.errno or 0)
        raise OSError(number, os.strerror(number)) from None


def _run(steps: list[Step], telling: int) -> NoReturn:
    """The child. Its last step does not return; a step that fails is the last thing it does."""
    try:
        stage = Stage.PROCESS
        try:
            gc.disable()  # no finalizer of krond's objects has anything to do here
            for stage, act in steps:  # noqa: B007 (the last one is told below)
                act()
        except NotStarted as failure:
            _tell(telling, stage, failure.error)
        except BaseException as error:
            _tell(telling, stage, error_number(error))
    finally:
        os._exit(_FAILED)


def _tell(telling: int, stage: Stage, error: int) -> None:
    os.write(telling, f"{error} {stage}".encode())


def _await(pid: int, answers: int) -> None:
    """Return when the program of the child has begun; otherwise see it gone and say why."""
    poller = select.poll()
    poller.register(answers, select.POLLIN)
    if not poller.poll(PATIENCE_MS):
        _kill(pid)
        raise NotStarted(Stage.HANGING, ETIMEDOUT, left_proof=True)
    told = os.read(answers, 64)
    if not told:
        return  # closed on exec
    number, _, name = told.decode().partition(" ")
    with suppress(ChildProcessError):  # where whoever started krond ignored SIGCHLD
        os.waitpid(pid, 0)  # it has nothing left to do but to exit
    stage = Stage(name)
    left_proof = stage not in (Stage.PROCESS, Stage.SESSION, Stage.PROOF)
    raise NotStarted(stage, int(number), left_proof=left_proof)


def _kill(pid: int) -> None:
    """End a child that hangs. One that is stuck in the kernel for longer is reaped later.

    Killed, it can no longer begin any program, even while the kernel holds it.
    """
    os.kill(pid, signal.SIGKILL)
    _unreaped.append(pid)
    try:
        watch = os.pidfd_open(pid)
    except OSError:
        return
    try:
        poller = select.poll()
        poller.register(watch, select.POLLIN)
        poller.poll(_DYING_MS)
    finally:
        os.close(watch)
    _reap_stragglers()


def _reap_stragglers() -> None:
    for pid in _unreaped.copy():
        try:
            ended, _ = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            ended = pid
        if ended:
            _unreaped.remove(pid)


def _own_umask() -> int:
    own = os.umask(_PRIVATE)
    os.umask(own)
    return own


def _pipe() -> tuple[int, int]:
    """A pipe whose writing end is none of the descriptors that the child gets."""
    answers, telling = os.pipe()
    if telling > 2:
        return answers, telling
    try:
        return answers, lifted(telling)
    except OSError:
        os.close(answers)
        raise
    finally:
        os.close(telling)
