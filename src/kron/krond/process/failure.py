"""Failures to start: the stage, the kernel's error, and the text for people.

The ways to start a process only report the stage and the kernel's error number. All texts are here;
they never contain more of a command line than the name of its program.
"""

from __future__ import annotations

import errno
import os
from enum import Enum, unique

PASSING = frozenset({errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE})
"""Errors because a resource is short, which may pass in a moment."""


class StartError(Exception):
    """A run cannot be started. `for_good`: another attempt would fail too."""

    def __init__(self, reason: str, *, for_good: bool = True) -> None:
        super().__init__(reason)
        self.reason = reason
        self.for_good = for_good
        self.state_error = 0
        """The kernel's error number, if the state directory cannot be written."""
        self.loggers: list[int] = []
        """Helper processes that were already started for the run, to be reaped."""


@unique
class StartStage(Enum):
    """The steps of a start, in order, each with the text for a failure."""

    PROCESS = "no process can be made: {why}"
    SESSION = "it cannot have a session of its own: {why}"
    CGROUP = "it cannot enter its cgroup: {why}"
    PROOF = "its proof cannot be written: {why}"
    DESCRIPTORS = "its input and output cannot be set up: {why}"
    LIMITS = "its limits cannot be set: {why}"
    NICE = "its niceness cannot be set: {why}"
    GROUPS = "krond cannot switch to user {user} (its groups): {why}"
    GROUP = "krond cannot switch to user {user} (its group): {why}"
    USER = "krond cannot switch to user {user} (its user): {why}"
    VERIFIED = "its privileges did not drop, so nothing was executed: {why}"
    DIRECTORY = "its directory {directory} cannot be entered: {why}"
    SEARCH = "its program cannot be searched for: {why}"
    SIGNALS = "its signals cannot be set up: {why}"
    PROGRAM = "the program {program} cannot be started: {why}"
    HANGING = "it hung before its program began (does a file system not answer?)"


class NotStarted(Exception):  # noqa: N818 (a fact from one module to the next, not for people)
    """Nothing runs. `left_proof`: this start has left its proof, which must be removed."""

    def __init__(self, stage: StartStage, error: int, *, left_proof: bool = False) -> None:
        super().__init__(stage, error)
        self.stage = stage
        self.error = error
        self.left_proof = left_proof


def error_number(error: BaseException) -> int:
    """The kernel's number for an error, or the closest one. 0: a bug in krond."""
    if isinstance(error, NotStarted):
        return error.error
    if isinstance(error, OSError):
        return error.errno or 0
    if isinstance(error, MemoryError):
        return errno.ENOMEM
    return errno.EINVAL if isinstance(error, ValueError | OverflowError) else 0


def reason(stage: StartStage, error: int, **names: str) -> str:
    """The text for people. The names of program, user and directory are already quoted."""
    why = os.strerror(error) if error else "an error within krond"
    return _KNOWN.get((stage, error), stage.value).format(why=why, **names)


_KNOWN = {
    (StartStage.PROOF, errno.EEXIST): "its proof exists already: it has been started before",
    (StartStage.LIMITS, errno.EPERM): (
        "a limit is higher than krond's own, and krond may not raise it"
    ),
    (StartStage.NICE, errno.EACCES): "its niceness is lower than krond may set",
    (StartStage.SEARCH, errno.ENOENT): "PATH has no program {program}",
    (StartStage.SEARCH, errno.EACCES): "the program {program} in PATH may not be executed",
    (StartStage.PROGRAM, errno.ENOENT): "the program {program} does not exist",
    (StartStage.PROGRAM, errno.EACCES): (
        "the program {program} may not be executed: check its mode, its directories and its mount"
    ),
    (StartStage.PROGRAM, errno.EISDIR): "{program} is a directory, not a program",
    (StartStage.PROGRAM, errno.ENOEXEC): (
        "{program} is not a program: a script needs a first line such as #!/bin/sh"
    ),
    (StartStage.PROGRAM, errno.ELIBACC): (
        "the interpreter of {program} is missing: a script names it in its first line"
    ),
    (StartStage.PROGRAM, errno.E2BIG): (
        "the command of {program} and its environment are too long together"
    ),
    (StartStage.PROGRAM, errno.EINVAL): (
        "the command of {program} or its environment has a NUL byte, or a variable has no name"
    ),
}
"""The texts for errors with a known cause."""
