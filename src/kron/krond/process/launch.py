"""Starting a process: its description, and the one function that starts it or raises the reason.

There are two ways. A run with krond's own user, limits and niceness is spawned, which costs the
same for a small and a big krond; any other is forked. A run cannot tell the difference.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from errno import EEXIST, EINVAL, ENOENT

from kron.core.errors import quoted
from kron.core.frozen import Frozen
from kron.jobs.task import Task
from kron.krond.process import forked, spawned
from kron.krond.process.account import Account
from kron.krond.process.cgroup import Cgroup
from kron.krond.process.child import as_bytes, seal, sources
from kron.krond.process.failure import PASSING, NotStarted, StartError, StartStage, reason


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
    cgroup: Cgroup | None = None
    """The cgroup to run in. None: krond's own."""


def launch(what: Launch) -> int:
    """Start it and return its pid. After a `StartError` nothing runs, and no proof is left."""
    try:
        return _launch(what)
    except NotStarted as failure:
        raise _start_error(what, failure) from None


def _launch(what: Launch) -> int:
    argv = _words(what.task.argv)
    if what.proof and os.access(what.proof, os.F_OK, follow_symlinks=False):
        # From here on a proof that a failed start leaves is its own, and can be removed.
        raise NotStarted(StartStage.PROOF, EEXIST)
    seal()
    with sources(what.stdin, what.stdout, what.stderr) as descriptors:
        if spawned.suits(what, descriptors):
            return spawned.spawn(what, argv, descriptors)
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
