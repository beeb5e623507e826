"""A check: one thing that was looked at, the verdict, and what to do next."""

from __future__ import annotations

from enum import StrEnum

from kron.core.frozen import Frozen


class Subject(StrEnum):
    """What was looked at. Scripts compare these."""

    DEFINITION = "definition"
    OWN_RIGHTS = "own-rights"
    OPERATOR_RIGHTS = "operator-rights"
    LEADER = "leader"
    OPERATOR_VERSION = "operator-version"
    OWN_CLOCK = "own-clock"
    OPERATOR_CLOCK = "operator-clock"
    KRONJOBS = "kronjobs"
    """All of them, as a whole."""
    READY = "kronjob-ready"
    SEEN = "kronjob-seen"
    DUE = "kronjob-due"
    RESULT = "kronjob-result"


class Verdict(StrEnum):
    OK = "ok"
    NOTE = "note"
    """Worth knowing, and no fault."""
    PROBLEM = "problem"
    UNKNOWN = "unknown"
    """It could not be checked."""


class Check(Frozen):
    subject: Subject
    verdict: Verdict
    message: str
    fix: str = ""
    """What to do next; '' if nothing."""
    kronjob: str = ""
    """NAMESPACE/NAME, if it is about one of them."""


def is_healthy(checks: list[Check]) -> bool:
    return all(each.verdict in (Verdict.OK, Verdict.NOTE) for each in checks)
