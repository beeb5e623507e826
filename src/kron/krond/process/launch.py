"""Starting a process: what it is to be, and the one function that starts it or says why not.

There are two ways. A run that is to be as krond itself is spawned, which costs the same however
big krond has grown; one that switches its user, its limits or its niceness is forked. Which way it
was cannot be seen from inside the run.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from errno import EEXIST, EINVAL, ENOENT

from kron.core.errors import quoted
from kron.core.frozen import Frozen
from kron.jobs.task import Resource
from kron.krond.process import forked, spawned
from kron.krond.process.account import Account
from kron.krond.process.child import as_bytes
from kron.krond.process.descriptors import Sources, seal
from kron.krond.process.failure import NotStarted, Stage, StartError, is_passing, reason

__all__ = ["Launch", "StartError", "launch"]


class Launch(Frozen):
    """Everything that a run's process is started with."""

    argv: tuple[str, ...]
    env: Mapping[bytes, bytes]
    """Exactly what the child gets."""
    proof: str
    """The file that the child makes, before its program begins, as the proof that it did."""
    account: Account | None
    """Whom it runs as. None: as krond is."""
    cwd: str
    """Empty: krond's own."""
    cwd_may_lack: bool
    """Whether / will do where cwd is missing or closed, as it does for cron."""
    umask: int | None
    limits: tuple[tuple[Resource, int], ...]
    """Soft and hard alike."""
    nice: int | None
    stdin: int
    stdout: int
    stderr: int


def launch(what: Launch, *, open_files: tuple[int, int] | None = None) -> int:
    """Start it and return its pid. After a `StartError` nothing runs, and there is no proof.

    `open_files` is the soft and hard limit of open files that it gets unless its limits say other.
    """
    try:
        return _launch(what, open_files)
    except NotStarted as failure:
        raise _start_error(what, failure) from None


def _launch(what: Launch, open_files: tuple[int, int] | None) -> int:
    argv = _words(what.argv)
    if os.access(what.proof, os.F_OK, follow_symlinks=False):
        # So the proof that a failed start leaves is its own, and can be removed.
        raise NotStarted(Stage.PROOF, EEXIST)
    seal()
    sources = Sources(what.stdin, what.stdout, what.stderr)
    try:
        if spawned.suits(what, open_files):
            return spawned.spawn(what, argv, sources.of, open_files)
        return forked.fork(what, argv, sources.of, open_files)
    finally:
        sources.close()


def _words(argv: tuple[str, ...]) -> list[bytes]:
    try:
        words = list(map(as_bytes, argv))
    except ValueError:
        raise NotStarted(Stage.PROGRAM, EINVAL) from None
    if not words or not words[0]:
        raise NotStarted(Stage.PROGRAM, ENOENT)
    if b"\0" in words[0]:
        raise NotStarted(Stage.PROGRAM, EINVAL)
    return words


def _start_error(what: Launch, failure: NotStarted) -> StartError:
    text = reason(
        failure.stage,
        failure.error,
        program=quoted(what.argv[0] if what.argv else ""),
        user=quoted(what.account.name if what.account else ""),
        directory=quoted(what.cwd),
    )
    for_good = failure.stage is Stage.HANGING or not is_passing(failure.error)
    if failure.left_proof:
        try:
            os.unlink(what.proof)  # noqa: PTH108
        except FileNotFoundError:
            pass
        except OSError as error:
            # Trying again would find the proof of a run that never was.
            return StartError(f"{text}; nor can its proof be removed: {error.strerror}")
    refused = StartError(text, for_good=for_good)
    if failure.stage is Stage.PROOF and failure.error != EEXIST and for_good:
        refused.state_error = failure.error
    return refused
