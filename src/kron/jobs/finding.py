"""A finding: an error or a warning at a position in a file."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from kron.core.errors import KronError, ParseError, excerpt
from kron.core.frozen import Frozen


class Severity(StrEnum):
    """An error makes a file invalid; a warning is for a person to judge."""

    ERROR = "error"
    WARNING = "warning"


class Finding(Frozen):
    """What, where and how to fix it. Line 0 means the whole file; columns count from 0."""

    severity: Severity
    code: str
    message: str
    path: str
    line: int = 0
    start: int = 0
    end: int = 0
    fix: str = ""
    text: str = ""
    """The line, to show it."""

    @classmethod
    def of_error(cls, error: KronError, path: str) -> Finding:
        """The error for a file that cannot be read."""
        return cls(Severity.ERROR, error.code, error.message, path, fix=error.fix)

    @property
    def place(self) -> str:
        """`file:line:column`, as compilers write it and editors read it."""
        return f"{self.path}:{self.line}:{self.start + 1}" if self.line else self.path

    @property
    def head(self) -> str:
        """The finding without the line, which may contain a password: for logs."""
        fix = f" ({self.fix})" if self.fix else ""
        return f"{self.place}: {self.severity}: {self.message}{fix} [{self.code}]"

    def __str__(self) -> str:
        shown = f"\n{excerpt(self.text, self.start, self.end)}" if self.line else ""
        return f"{self.head}{shown}"


def findings_of(error: ParseError, *, path: str, line: int) -> Iterator[Finding]:
    """One finding for each problem of a line."""
    for problem in error.problems:
        where = (path, line, problem.start, problem.end)
        yield Finding(
            Severity.ERROR, problem.code, problem.message, *where, problem.fix, error.text
        )
