"""A remark: a warning of a rule about a job, and the part of the line that it is about.

Rules return remarks and know nothing of files and columns; `advisor` turns them into findings.
"""

from __future__ import annotations

from enum import StrEnum

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
    JOURNAL_MISSING = "journal-missing"
    TIMEOUT_LONG = "timeout-long"
    DEADLINE_NONE = "deadline-none"
    FUZZY_DOUBTFUL = "fuzzy-doubtful"
    ENV_FILE_MISSING = "env-file-missing"
    DEFAULTS_UNUSED = "defaults-unused"
    DEFAULTS_OVERRIDDEN = "defaults-overridden"
    SLOTS_DEADLINE = "slots-deadline"
    SLOTS_UNUSED = "slots-unused"
    SENDMAIL_MISSING = "sendmail-missing"
    RETRIES_MISSING = "retries-missing"
    MAIL_MISSING = "mail-missing"


SCHEDULE = "schedule"


class Remark(Frozen):
    advice: Advice
    part: str
    """What the line calls it: `schedule`, `hour`, `@win` or `timeout=`."""
    message: str
    fix: str = ""
    within: str = ""
    """A piece of the part, to point at nothing else."""
