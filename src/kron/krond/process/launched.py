"""The launcher, for a run with its own user, limits or niceness: a small program takes the steps.

It is spawned, so a big krond costs nothing, and it takes in C what `forked` takes in Python. It
comes with Kron where a C compiler built it (`launcher.c`). Without it, or if it is damaged, krond
forks.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from errno import EEXIST, EINVAL
from functools import lru_cache
from pathlib import Path

from kron.krond.process import child
from kron.krond.process.failure import NotStarted, StartStage, error_number
from kron.krond.process.report import Report
from kron.krond.process.steps import PRIVATE, Step, steps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kron.krond.process.launch import Launch
    from kron.krond.process.steps import Given

LAUNCHER = Path(__file__).with_name("launcher")
_BY_SPAWN = frozenset({"session", "proof", "descriptors", "signals"})
"""The steps that the C library takes while it spawns."""
_program = os.fsencode(LAUNCHER)


@lru_cache(maxsize=1)
def is_there() -> bool:
    """Whether there is a launcher that works: a damaged one would end as if it were the run.

    krond asks when it starts, and not when a run is due.
    """
    if not os.access(LAUNCHER, os.X_OK):
        return False
    unknown = [Step(StartStage.PROGRAM, "nothing", b"")]
    try:
        report = Report(unknown, has_proof=False)
    except NotStarted:
        return False
    try:
        os.set_inheritable(report.writing, True)
        pid = os.posix_spawn(_program, _words(report, (), unknown), {})
    except OSError:
        report.close()
        return False
    finally:
        report.close_writing()
    try:
        report.wait(pid)
    except NotStarted as failure:
        return failure.error == EINVAL
    os.waitpid(pid, 0)
    return False


def start(what: Launch, argv: list[bytes], sources: tuple[int, ...]) -> tuple[int, Report] | None:
    """The pid of the process, and the report to wait for; or `NotStarted`.

    None: the launcher cannot be spawned. A fork may still work, and knows the reason if not.
    """
    taken = [step for step in steps(what, argv, sources) if step.name not in _BY_SPAWN]
    report = Report(taken, has_proof=bool(what.proof))
    words = _words(report, what.locks, taken)
    kept = (report.writing, *what.locks)
    own_umask = os.umask(PRIVATE)  # for the proof
    try:
        for descriptor in kept:
            os.set_inheritable(descriptor, True)
        return child.spawn(_program, words, what.env, sources, what.proof), report
    except (OSError, ValueError) as error:
        report.close()
        _remove(what.proof, error_number(error))
        return None
    finally:
        os.umask(own_umask)
        for descriptor in kept:
            os.set_inheritable(descriptor, False)
        report.close_writing()


def _remove(proof: str, error: int) -> None:
    """Remove the proof, if the attempt to spawn has made it."""
    if not proof:
        return
    if error == EEXIST:
        raise NotStarted(StartStage.PROOF, error)
    try:
        os.unlink(proof)  # noqa: PTH108
    except FileNotFoundError:
        pass
    except OSError:
        raise NotStarted(StartStage.PROCESS, error, left_proof=True) from None


def _words(report: Report, locks: tuple[int, ...], taken: Sequence[Step]) -> list[bytes]:
    words = [_program, b"%d" % report.writing, _word(locks)]
    for step in taken:
        words += [step.name.encode(), *map(_word, step.given)]
    return words


def _word(given: Given) -> bytes:
    if isinstance(given, bytes):
        return given
    if isinstance(given, int):
        return b"%d" % given
    return b",".join(b"%d" % number for number in given)
