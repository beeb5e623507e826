"""The other way to start a process: fork, for a run with its own user, limits or niceness.

The child executes a list of steps that is made before the fork. If a step fails, the child reports
which one and exits at once: the program begins only if every step succeeded and the dropped
privileges were verified. Signals are blocked from before the fork to the last step, so that no
handler of krond runs in the child.
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

from kron.jobs.task import UNLIMITED, LimitedResource
from kron.krond.process.account import HIGHEST_ID, Account
from kron.krond.process.child import (
    PROOF_FLAGS,
    PROOF_MODE,
    SIGNALS,
    cause,
    enter_directory,
    find_program,
    lifted,
    search_path,
)
from kron.krond.process.failure import NotStarted, StartStage, error_number
from kron.krond.process.kernel import permitted_capabilities, prepared_execve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from kron.krond.process.launch import Launch

    Step = tuple[StartStage, Callable[[], object]]

PATIENCE_MS = 10_000
"""How long a child may take until its program begins. With a dead file server it may hang."""

_DYING_MS = 1_000
_FAILED = 127
_PRIVATE = 0o077
_KERNEL_NAMES = {
    LimitedResource.NOFILE: resource.RLIMIT_NOFILE,
    LimitedResource.NPROC: resource.RLIMIT_NPROC,
    LimitedResource.AS: resource.RLIMIT_AS,
    LimitedResource.CORE: resource.RLIMIT_CORE,
}
_BEFORE_PROOF = (StartStage.PROCESS, StartStage.SESSION, StartStage.CGROUP, StartStage.PROOF)
_unreaped: list[int] = []


def fork(what: Launch, argv: list[bytes], sources: tuple[int, ...]) -> int:
    """The pid of the process, or `NotStarted`."""
    _reap_stragglers()
    steps = list(_steps(what, argv, sources))
    try:
        reading, writing = _pipe()
    except OSError as error:
        raise NotStarted(StartStage.PROCESS, error.errno or 0) from None
    own_mask = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        pid = _fork(steps, writing)
        _await(pid, reading)
        return pid
    finally:
        os.close(reading)
        signal.pthread_sigmask(signal.SIG_SETMASK, own_mask)


def _fork(steps: list[Step], writing: int) -> int:
    """The pid of a child that executes the steps. Only the child keeps the writing end."""
    try:
        pid = os.fork()
        if pid == 0:
            _run(steps, writing)
        return pid
    except OSError as error:
        raise NotStarted(StartStage.PROCESS, error.errno or 0) from None
    finally:
        os.close(writing)


def _steps(what: Launch, argv: list[bytes], sources: tuple[int, ...]) -> Iterator[Step]:
    """The steps of the child, in order. Each step does one thing that may fail."""
    try:
        execve = prepared_execve(argv, what.env)
    except ValueError:
        raise NotStarted(StartStage.PROGRAM, EINVAL) from None
    umask = what.task.umask if what.task.umask is not None else _own_umask()
    early, late = _limits(what)
    yield StartStage.SESSION, os.setsid
    if what.cgroup is not None:
        yield StartStage.CGROUP, what.cgroup.enter
    if what.proof:
        yield StartStage.PROOF, lambda: _leave_proof(what.proof)
    yield StartStage.DESCRIPTORS, lambda: _take_descriptors(sources)
    yield from early
    if what.task.nice is not None:
        nice = what.task.nice
        yield StartStage.NICE, lambda: os.setpriority(os.PRIO_PROCESS, 0, nice)
    if what.account is not None:
        yield from _drop(what.account)
    yield StartStage.DIRECTORY, lambda: os.umask(umask)
    if what.task.cwd:
        yield StartStage.DIRECTORY, lambda: enter_directory(what)
    program: list[bytes] = []
    path = search_path(what.env)
    yield StartStage.SEARCH, lambda: program.append(find_program(argv[0], path))
    yield StartStage.SIGNALS, _default_signals
    yield from late
    yield StartStage.PROGRAM, lambda: _execute(execve, program[0])


def _drop(account: Account) -> Iterator[Step]:
    """Drop the groups while that is still allowed, then the user; then verify."""
    uid, gid, groups = account.uid, account.gid, list(account.groups)
    for number in (uid, gid, *groups):
        if not 0 <= number <= HIGHEST_ID:  # -1 would mean: do not change it
            raise NotStarted(StartStage.USER, EINVAL)
    yield StartStage.GROUPS, lambda: os.setgroups(groups)
    yield StartStage.GROUP, lambda: os.setresgid(gid, gid, gid)
    yield StartStage.USER, lambda: os.setresuid(uid, uid, uid)
    yield StartStage.VERIFIED, lambda: _verify(account)


def _verify(account: Account) -> None:
    """Check the result instead of trusting the system calls."""
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


def _limits(what: Launch) -> tuple[list[Step], list[Step]]:
    """The limits to set before the switch of the user, and those to set at the end.

    Only root may raise a limit, and the limit of processes must hold during the switch. But an
    address space below what the child inherits from krond would leave it no memory to go on.
    """
    early: list[Step] = []
    late: list[Step] = []
    if what.open_files is not None and LimitedResource.NOFILE not in dict(what.task.limits):
        early.append(_limit(resource.RLIMIT_NOFILE, *what.open_files))
    for name, value in what.task.limits:
        number = resource.RLIM_INFINITY if value == UNLIMITED else value
        _, own_hard = resource.getrlimit(_KERNEL_NAMES[name])
        is_lower = value != UNLIMITED and (own_hard == resource.RLIM_INFINITY or value <= own_hard)
        group = late if name is LimitedResource.AS and is_lower else early
        group.append(_limit(_KERNEL_NAMES[name], number, number))
    return early, late


def _limit(name: int, soft: int, hard: int) -> Step:
    return StartStage.LIMITS, lambda: resource.prlimit(0, name, (soft, hard))


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


def _run(steps: list[Step], writing: int) -> NoReturn:
    """The child: its last step does not return. After a failed step it exits."""
    try:
        stage = StartStage.PROCESS
        try:
            gc.disable()  # finalizers of krond's objects must not run here
            for stage, act in steps:  # noqa: B007 (the last one is reported below)
                act()
        except BaseException as error:
            os.write(writing, f"{error_number(error)} {stage.name}".encode())
    finally:
        os._exit(_FAILED)


def _await(pid: int, reading: int) -> None:
    """Return when the program of the child has begun; raise `NotStarted` if it does not."""
    if not _is_readable(reading, PATIENCE_MS):
        _kill(pid)
        raise NotStarted(StartStage.HANGING, ETIMEDOUT, left_proof=True)
    report = os.read(reading, 64)
    if not report:
        return  # closed by exec: the program has begun
    number, _, name = report.decode().partition(" ")
    with suppress(ChildProcessError):  # if the parent of krond ignored SIGCHLD
        os.waitpid(pid, 0)  # it is about to exit
    stage = StartStage[name]
    left_proof = stage not in _BEFORE_PROOF
    raise NotStarted(stage, int(number), left_proof=left_proof)


def _kill(pid: int) -> None:
    """Kill a child that hangs. One that is stuck in the kernel is reaped later.

    After the kill it can never begin its program, even while it is stuck.
    """
    os.kill(pid, signal.SIGKILL)
    _unreaped.append(pid)
    with suppress(OSError):
        watch = os.pidfd_open(pid)
        try:
            _is_readable(watch, _DYING_MS)
        finally:
            os.close(watch)
    _reap_stragglers()


def _is_readable(descriptor: int, patience_ms: int) -> bool:
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    return bool(poller.poll(patience_ms))


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
    """A pipe whose writing end is above 2: the child replaces 0, 1 and 2."""
    reading, writing = os.pipe()
    if writing > 2:
        return reading, writing
    try:
        return reading, lifted(writing)
    except OSError:
        os.close(reading)
        raise
    finally:
        os.close(writing)
