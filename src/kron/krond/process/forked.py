"""Fork, for a run with its own user, limits or niceness where there is no launcher.

The child is a copy of krond and takes the steps in Python. If one fails, the child reports which
one and exits at once. Signals are blocked from before the fork to the last steps, so that no
handler of krond runs in the child.
"""

from __future__ import annotations

import gc
import os
import resource
import signal
from collections.abc import Callable
from errno import EINVAL, EPERM

from kron.krond.process.cgroup import write
from kron.krond.process.child import (
    PROOF_FLAGS,
    PROOF_MODE,
    SIGNALS,
    cause,
    enter_directory,
    find_program,
)
from kron.krond.process.failure import NotStarted, StartStage, error_number
from kron.krond.process.kernel import permitted_capabilities, prepared_execve
from kron.krond.process.report import Report, report_failure
from kron.krond.process.steps import PRIVATE, steps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from kron.krond.process.launch import Launch
    from kron.krond.process.steps import Step

    Act = Callable[..., object]

_FAILED = 127


def fork(what: Launch, argv: list[bytes], sources: tuple[int, ...]) -> tuple[int, Report]:
    """The pid of the process, and the report to wait for; or `NotStarted`."""
    try:
        acts = _acts(prepared_execve(argv, what.env))
    except ValueError:
        raise NotStarted(StartStage.PROGRAM, EINVAL) from None
    taken = steps(what, argv, sources)
    report = Report(taken, has_proof=False)
    own_mask = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        pid = os.fork()
        if pid == 0:
            _run(taken, acts, report.writing)
    except OSError as error:
        report.close()
        raise NotStarted(StartStage.PROCESS, error.errno or 0) from None
    finally:
        report.close_writing()
        signal.pthread_sigmask(signal.SIG_SETMASK, own_mask)
    return pid, report


def _acts(execve: Callable[[bytes], None]) -> dict[str, Act]:
    """How each step is taken, by its name."""
    program: list[bytes] = []
    return {
        "session": os.setsid,
        "cgroup": lambda file: write(file, "0"),
        "proof": _leave_proof,
        "descriptors": _take_descriptors,
        "limit": lambda name, soft, hard: resource.prlimit(0, name, (soft, hard)),
        "nice": lambda nice: os.setpriority(os.PRIO_PROCESS, 0, nice),
        "groups": os.setgroups,
        "group": lambda gid: os.setresgid(gid, gid, gid),
        "user": lambda uid: os.setresuid(uid, uid, uid),
        "verify": _verify,
        "umask": os.umask,
        "directory": enter_directory,
        "directory-or-root": lambda path: enter_directory(path, may_lack=True),
        "search": lambda name, path: program.append(find_program(name, path)),
        "signals": _default_signals,
        "program": lambda *_: _execute(execve, program[0]),
    }


def _run(taken: list[Step], acts: dict[str, Act], writing: int) -> NoReturn:
    """The child: its last step does not return. After a failed step it exits."""
    try:
        number = 0
        try:
            gc.disable()  # finalizers of krond's objects must not run here
            for number, step in enumerate(taken):  # noqa: B007 (the last one is reported below)
                acts[step.name](*step.given)
        except BaseException as error:
            report_failure(writing, error_number(error), number)
    finally:
        os._exit(_FAILED)


def _leave_proof(path: bytes) -> None:
    os.umask(PRIVATE)
    os.close(os.open(path, PROOF_FLAGS, PROOF_MODE))


def _take_descriptors(sources: tuple[int, ...]) -> None:
    for target, source in enumerate(sources):
        os.dup2(source, target, inheritable=True)


def _verify(uid: int, gid: int, groups: tuple[int, ...]) -> None:
    """Check the result instead of trusting the system calls."""
    if (
        os.getresuid() != (uid,) * 3
        or os.getresgid() != (gid,) * 3
        or sorted(os.getgroups()) != list(groups)
    ):
        raise OSError(EPERM, os.strerror(EPERM))
    if uid != 0 and (_can_become_root() or permitted_capabilities()):
        raise OSError(EPERM, os.strerror(EPERM))


def _can_become_root() -> bool:
    try:
        os.setuid(0)
    except PermissionError:
        return False
    return True


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
