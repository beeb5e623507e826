"""Failures to start: at which stage, with which error, and what to say to people about it.

A way of starting a process only names the stage and the kernel's error number. The words are
here, in one place, and never hold more of a command line than the name of its program.
"""

from __future__ import annotations

import os
from enum import StrEnum
from errno import (
    E2BIG,
    EACCES,
    EAGAIN,
    EEXIST,
    EINVAL,
    EISDIR,
    ELIBACC,
    EMFILE,
    ENFILE,
    ENOENT,
    ENOEXEC,
    ENOMEM,
    EPERM,
)

PASSING = frozenset({EAGAIN, ENOMEM, EMFILE, ENFILE})
"""Errors for want of something that may be there again in a moment."""


class StartError(Exception):
    """A run cannot be started: why, and whether trying again is of no use."""

    def __init__(self, reason: str, *, for_good: bool = True) -> None:
        super().__init__(reason)
        self.reason = reason
        self.for_good = for_good
        self.state_error = 0
        """The kernel's number, if it is the state directory that cannot be written."""
        self.loggers: list[int] = []
        """The processes that were to serve the run, and are there all the same: to be reaped."""


class Stage(StrEnum):
    """How far a start had come, in the order of things."""

    PROCESS = "process"
    SESSION = "session"
    PROOF = "proof"
    DESCRIPTORS = "descriptors"
    LIMITS = "limits"
    NICE = "nice"
    GROUPS = "groups"
    GROUP = "group"
    USER = "user"
    VERIFIED = "verified"
    DIRECTORY = "directory"
    SEARCH = "search"
    SIGNALS = "signals"
    PROGRAM = "program"
    HANGING = "hanging"


class NotStarted(Exception):  # noqa: N818 (a fact from one module to the next, not for people)
    """Nothing runs. `left_proof`: the proof of this very start is there and is to be removed."""

    def __init__(self, stage: Stage, error: int, *, left_proof: bool = False) -> None:
        super().__init__(stage, error)
        self.stage = stage
        self.error = error
        self.left_proof = left_proof


def is_passing(error: int) -> bool:
    """Whether the same start may succeed in a moment."""
    return error in PASSING


def error_number(error: BaseException) -> int:
    """The kernel's number for an error, or the one that fits best. 0: it is a mistake of ours."""
    if isinstance(error, OSError):
        return error.errno or 0
    if isinstance(error, MemoryError):
        return ENOMEM
    return EINVAL if isinstance(error, ValueError | OverflowError) else 0


def reason(stage: Stage, error: int, *, program: str, user: str, directory: str) -> str:
    """What to tell people; the names come quoted."""
    why = os.strerror(error) if error else "of an error within krond"
    if stage is Stage.PROGRAM:
        return _PROGRAM.get(error, "the program {} cannot be started: {}").format(program, why)
    if (stage, error) in _KNOWN:
        return _KNOWN[stage, error].format(program)
    match stage:
        case Stage.DIRECTORY:
            return f"its directory {directory} cannot be entered: {why}"
        case Stage.USER | Stage.GROUP | Stage.GROUPS:
            return f"krond cannot switch to user {user} (its {stage}): {why}"
        case _:
            return _STAGES[stage].format(why)


_PROGRAM = {
    ENOENT: "there is no program {}",
    EACCES: "the program {} may not be executed: look at its mode, its directories and its mount",
    EISDIR: "{} is a directory, not a program",
    ENOEXEC: "{} is no program: a script needs a first line such as #!/bin/sh",
    ELIBACC: "the interpreter of {} is missing: a script names it in its first line",
    E2BIG: "the command of {} and its environment are too long together",
    EINVAL: "the command of {} or its environment holds a NUL byte, or a variable has no name",
}
_KNOWN = {
    (Stage.PROOF, EEXIST): "its proof is there already: it has been started before",
    (Stage.SEARCH, ENOENT): "there is no program {} in PATH",
    (Stage.SEARCH, EACCES): "the program {} in PATH may not be executed",
    (Stage.LIMITS, EPERM): "a limit is higher than krond's own, and krond may not raise it",
    (Stage.NICE, EACCES): "its niceness is lower than krond may set",
}
_STAGES = {
    Stage.PROCESS: "no process can be made: {}",
    Stage.SESSION: "it cannot have a session of its own: {}",
    Stage.PROOF: "its proof cannot be written: {}",
    Stage.DESCRIPTORS: "its input and output cannot be set up: {}",
    Stage.LIMITS: "its limits cannot be set: {}",
    Stage.NICE: "its niceness cannot be set: {}",
    Stage.VERIFIED: "its privileges did not drop, so nothing was executed: {}",
    Stage.SEARCH: "its program cannot be searched for: {}",
    Stage.SIGNALS: "its signals cannot be set up: {}",
    Stage.HANGING: "it hung before its program was executed (a file system that does not answer?)",
}
