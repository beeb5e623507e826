"""What a replay has found: what is wrong with which line, and how much was looked at."""

from __future__ import annotations

from enum import StrEnum

from kron.core.errors import quoted
from kron.core.frozen import Frozen


class Kind(StrEnum):
    """What a finding says."""

    MISMATCH = "mismatch"
    """A field is not what it must be."""
    UNCHECKED = "unchecked"
    """A decision cannot be made again from its line."""
    UNREADABLE = "unreadable"
    """A line is no event, or the file is damaged."""


class Finding(Frozen):
    """One thing to say about a line. What does not apply to its kind is '' or None."""

    line: int
    kind: Kind
    message: str
    """The finding in words, without the line and the job."""
    event: str = ""
    namespace: str = ""
    name: str = ""
    period: str = ""
    field: str = ""
    logged: str | None = None
    """What the log says; None if the line lacks the field."""
    expected: str | None = None
    """What it must say: what was recomputed, or what the decision before it said."""

    def __str__(self) -> str:
        of = f" {self.event} of {shown(self.namespace)} {shown(self.name)},"
        period = f" period {shown(self.period)}:"
        return f"line {self.line}:{of + period if self.event else ''} {self.message}"


class Counts(Frozen):
    """How much was read, and how much of it agrees."""

    lines: int = 0
    """Lines that are not blank."""
    decisions: int = 0
    """Lines `decision` and `constraint_unsatisfiable`: agreed + mismatched + unchecked."""
    agreed: int = 0
    mismatched: int = 0
    unchecked: int = 0
    unreadable: int = 0
    """Lines that are no events, and damage to the file."""
    chosen_checked: int = 0
    """Lines `trigger` and the like whose chosen time was compared with the decision before."""
    chosen_mismatched: int = 0

    def plus(self, other: Counts) -> Counts:
        """Both together."""
        return Counts(*map(sum, zip(self._values(), other._values(), strict=True)))


def shown(value: str) -> str:
    """A value of a log on a terminal: quoted if there is anything odd about it."""
    odd = not value.isprintable() or not value or " " in value or '"' in value or len(value) > 60
    return quoted(value) if odd else value
