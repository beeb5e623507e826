"""A finding: something wrong, or doubtful, at a place in a file."""

from __future__ import annotations

from enum import StrEnum

from kron.core.errors import KronError, ParseError, Problem, excerpt
from kron.core.frozen import Frozen


class Severity(StrEnum):
    """An error stops; a warning is for a person to judge."""

    ERROR = "error"
    WARNING = "warning"


class Finding(Frozen):
    """What, where and how to mend it. Line 0 means the file as a whole; columns count from 0."""

    severity: Severity
    code: str
    message: str
    path: str
    line: int = 0
    start: int = 0
    end: int = 0
    fix: str = ""
    text: str = ""
    """The line, for showing."""

    @classmethod
    def of_problem(cls, problem: Problem, *, path: str, line: int, text: str) -> Finding:
        """The error that a problem of a line's text is."""
        return cls(
            Severity.ERROR,
            problem.code,
            problem.message,
            path,
            line,
            problem.start,
            problem.end,
            problem.fix,
            text,
        )

    @classmethod
    def of_error(cls, error: KronError, path: str) -> Finding:
        """The finding for a file that cannot be had at all."""
        return cls(Severity.ERROR, error.code, error.message, path, fix=error.fix)

    @property
    def place(self) -> str:
        """`file:line:column`, as compilers write it and editors read it."""
        return f"{self.path}:{self.line}:{self.start + 1}" if self.line else self.path

    @property
    def head(self) -> str:
        """All but the line itself, which may have a password in it: for logs."""
        fix = f" ({self.fix})" if self.fix else ""
        return f"{self.place}: {self.severity}: {self.message}{fix} [{self.code}]"

    def __str__(self) -> str:
        shown = f"\n{excerpt(self.text, self.start, self.end)}" if self.line else ""
        return f"{self.head}{shown}"


def findings_of(error: ParseError, *, path: str, line: int) -> list[Finding]:
    """One finding for each problem of a line."""
    return [
        Finding.of_problem(problem, path=path, line=line, text=error.text)
        for problem in error.problems
    ]
