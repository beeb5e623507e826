"""Starting a process: its description, and the one function that starts it or raises the reason.

There are three ways. A run with krond's own user, limits and niceness is spawned, which costs the
same for a small and a big krond. For any other the launcher is spawned, if Kron has it here; else
krond forks. A run cannot tell the difference, but for two signals of the C library.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from errno import EEXIST, EINVAL, ENOENT

from kron.core.errors import quoted
from kron.core.frozen import Frozen
from kron.jobs.task import Task
from kron.krond.process import forked, launched, spawned
from kron.krond.process.account import Account
from kron.krond.process.cgroup import Cgroup
from kron.krond.process.child import Sources, as_bytes, seal
from kron.krond.process.failure import PASSING, NotStarted, StartError, StartStage, reason
from kron.krond.process.report import Report


class Launch(Frozen):
    task: Task
    env: Mapping[bytes, bytes]
    """The whole environment of the child."""
    proof: str
    """The file that the child makes before its program begins, as a proof that it has begun; ''
    for a process that needs none."""
    account: Account | None
    """The account to run as. None: krond's own."""
    stdin: int
    stdout: int
    stderr: int
    open_files: tuple[int, int] | None = None
    """The soft and hard limit of open files, unless the task has another. None: krond's own."""
    locks: tuple[int, ...] = ()
    """Locked descriptors, which the child holds until its program begins."""
    cgroup: Cgroup | None = None
    """The cgroup to run in. None: krond's own."""


class Beginning:
    """A process that was started. Its program may not have begun yet."""

    def __init__(self, what: Launch, pid: int, report: Report | None) -> None:
        self.pid = pid
        self._what = what
        self._report = report

    def confirm(self) -> None:
        """Return when its program has begun. After a `StartError` nothing runs, and no proof is
        left. It must be called once."""
        if self._report is None:
            return
        try:
            self._report.wait(self.pid)
        except NotStarted as failure:
            raise _start_error(self._what, failure) from None


def begin(what: Launch) -> Beginning:
    """Start it. After a `StartError` nothing runs, and no proof is left."""
    try:
        return Beginning(what, *_begin(what))
    except NotStarted as failure:
        raise _start_error(what, failure) from None


def launch(what: Launch) -> int:
    """Start it, and return its pid when its program has begun."""
    beginning = begin(what)
    beginning.confirm()
    return beginning.pid


def _begin(what: Launch) -> tuple[int, Report | None]:
    argv = _words(what.task.argv)
    if what.proof and os.access(what.proof, os.F_OK, follow_symlinks=False):
        # From here on a proof that a failed start leaves is its own, and can be removed.
        raise NotStarted(StartStage.PROOF, EEXIST)
    seal()
    with Sources(what.stdin, what.stdout, what.stderr) as descriptors:
        if spawned.suits(what, descriptors):
            return spawned.spawn(what, argv, descriptors), None
        if launched.is_there() and (start := launched.start(what, argv, descriptors)):
            return start
        return forked.fork(what, argv, descriptors)


def _words(argv: tuple[str, ...]) -> list[bytes]:
    try:
        words = list(map(as_bytes, argv))
    except ValueError:
        raise NotStarted(StartStage.PROGRAM, EINVAL) from None
    if not words or not words[0]:
        raise NotStarted(StartStage.PROGRAM, ENOENT)
    if b"\0" in words[0]:
        raise NotStarted(StartStage.PROGRAM, EINVAL)
    return words


def _start_error(what: Launch, failure: NotStarted) -> StartError:
    text = reason(
        failure.stage,
        failure.error,
        program=quoted(what.task.argv[0] if what.task.argv else ""),
        user=quoted(what.account.name if what.account else ""),
        directory=quoted(what.task.cwd),
    )
    for_good = failure.stage is StartStage.HANGING or failure.error not in PASSING
    if failure.left_proof and what.proof:
        try:
            os.unlink(what.proof)  # noqa: PTH108
        except FileNotFoundError:
            pass
        except OSError as error:
            # Another attempt would find the proof of a run that never began.
            return StartError(f"{text}; its proof cannot be removed: {error.strerror}")
    refused = StartError(text, for_good=for_good)
    if failure.stage is StartStage.PROOF and failure.error != EEXIST and for_good:
        refused.state_error = failure.error
    return refused
