"""A remark: what a rule has to say about a job, and the part of its line that it is about.

Rules make remarks and know nothing of files and columns; `advisor` turns them into findings.
"""

from __future__ import annotations

from enum import StrEnum

from kron.core.cron import KINDS, FieldKind
from kron.core.frozen import Frozen


class Advice(StrEnum):
    """What a warning is about, in one stable word. Documented in docs/lint.md (a test compares)."""

    CONSTRAINT_NEVER = "constraint-never"
    CONSTRAINT_EXCLUDES = "constraint-excludes"
    CONSTRAINT_STARVES = "constraint-starves"
    WINDOW_OVERLAP = "window-overlap"
    WINDOW_NARROW = "window-narrow"
    WINDOW_MISSING = "window-missing"
    FLEET_SAME_SECOND = "fleet-same-second"
    FLEET_CROWDED = "fleet-crowded"
    DAYLIGHT_GAP = "daylight-gap"
    DAYLIGHT_FOLD = "daylight-fold"
    STEP_RESTARTS = "step-restarts"
    STEP_UNEVEN = "step-uneven"
    DAYS_EITHER = "days-either"
    DAYS_BOTH = "days-both"
    DAYS_LACKING = "days-lacking"
    COMMAND_MISSING = "command-missing"
    COMMAND_NOT_EXECUTABLE = "command-not-executable"
    COMMAND_INTERPRETER = "command-interpreter"
    COMMAND_RELATIVE = "command-relative"
    COMMAND_SHELL = "command-shell"
    USER_UNKNOWN = "user-unknown"
    GROUP_UNKNOWN = "group-unknown"
    DIRECTORY_MISSING = "directory-missing"
    TIMEOUT_LONG = "timeout-long"
    DEADLINE_NONE = "deadline-none"
    FUZZY_DOUBTFUL = "fuzzy-doubtful"


class PartKind(StrEnum):
    """The kinds of thing that a line is made of."""

    SCHEDULE = "schedule"
    CRON_FIELD = "cron field"
    MODIFIER = "modifier"
    FIELD = "field"


class Part(Frozen):
    """A part of a line by its name, wherever it stands; `within` narrows it to a piece of it."""

    kind: PartKind
    name: str = ""
    within: str = ""


SCHEDULE = Part(PartKind.SCHEDULE)
_CRON_FIELDS = {kind: Part(PartKind.CRON_FIELD, kind.name) for kind in KINDS}


def cron_field(kind: FieldKind) -> Part:
    """One of the five cron fields."""
    return _CRON_FIELDS[kind]


def modifier(name: str) -> Part:
    """`@name(...)`."""
    return Part(PartKind.MODIFIER, name)


def field(key: str, within: str = "") -> Part:
    """`key=...`, or a piece of its value."""
    return Part(PartKind.FIELD, key, within)


class Remark(Frozen):
    """One warning about one part of a line: the facts, and what to write instead."""

    advice: Advice
    part: Part
    message: str
    fix: str = ""
