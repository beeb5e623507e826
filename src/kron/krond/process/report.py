"""The report of a child: which of its steps failed, or that its program has begun.

It comes through a pipe, whose writing end only the child has. The exec closes it: an end without a
word means that the program has begun.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from errno import ETIMEDOUT

from kron.krond.process.child import lifted
from kron.krond.process.failure import NotStarted, StartStage
from kron.krond.process.steps import Step

PATIENCE_S = 10.0
"""How long a child may take until its program begins. With a dead file server it may hang."""

_DYING_S = 1.0
_BEFORE_PROOF = (StartStage.SESSION, StartStage.CGROUP, StartStage.PROOF)
_unreaped: list[int] = []


class Report:
    """The pipe for the report of a child that takes these steps.

    `has_proof`: its proof is made before the first of them.
    """

    def __init__(self, steps: Sequence[Step], *, has_proof: bool) -> None:
        reap_stragglers()
        self._deadline_s = time.monotonic() + PATIENCE_S
        self._steps = steps
        self._has_proof = has_proof
        try:
            self._reading, self.writing = _pipe()
        except OSError as error:
            raise NotStarted(StartStage.PROCESS, error.errno or 0) from None

    def close_writing(self) -> None:
        """Only the child has it from now on."""
        os.close(self.writing)

    def close(self) -> None:
        """No child was made."""
        os.close(self._reading)

    def wait(self, pid: int) -> None:
        """Return when the program of the child has begun; raise `NotStarted` if it does not."""
        try:
            if not _is_readable(self._reading, self._deadline_s - time.monotonic()):
                _end(pid)
                raise NotStarted(StartStage.HANGING, ETIMEDOUT, left_proof=True)
            report = os.read(self._reading, 64)
        finally:
            os.close(self._reading)
        if not report:
            return
        _end(pid)
        error, step = map(int, report.split())
        stage = self._steps[step].stage
        left_proof = self._has_proof or stage not in _BEFORE_PROOF
        raise NotStarted(stage, error, left_proof=left_proof)


def report_failure(writing: int, error: int, step: int) -> None:
    """What the child says before it exits. The launcher says the same in C."""
    os.write(writing, f"{error} {step}".encode())


def reap_stragglers() -> None:
    for pid in _unreaped.copy():
        try:
            ended, _ = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            ended = pid
        if ended:
            _unreaped.remove(pid)


def _end(pid: int) -> None:
    """End a child that hangs, or has failed. One that is stuck in the kernel is reaped later.

    After the kill it can never begin its program, even while it is stuck. And its user cannot keep
    krond waiting by stopping it.
    """
    with suppress(ProcessLookupError):  # reaped already, if the parent of krond ignored SIGCHLD
        os.kill(pid, signal.SIGKILL)
    _unreaped.append(pid)
    with suppress(OSError):
        watch = os.pidfd_open(pid)
        try:
            _is_readable(watch, _DYING_S)
        finally:
            os.close(watch)
    reap_stragglers()


def _is_readable(descriptor: int, patience_s: float) -> bool:
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    return bool(poller.poll(max(0.0, patience_s) * 1000))


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
