"""What is wrong, or unwise, in a fuzzy schedule.

The specification has two sets of error codes. The names of its E-table (`UNKNOWN_KEYWORD`) are the
ones that errors carry: they are members of `kron.Code`. The code of its ERR-table
(`ERR-SYNTAX-001`) is beside each, in `ERR_CODES` and as `problem.err_code`. Both are shown in
square brackets after the message. Kron's own codes, which the specification lacks, and warnings
have no such code.
"""

from __future__ import annotations

from kron.core.errors import Code, Problem

ERR_CODES = {
    Code.UNKNOWN_KEYWORD: "ERR-SYNTAX-001",
    Code.HOUR_OUT_OF_RANGE: "ERR-TIME-001",
    Code.MINUTE_OUT_OF_RANGE: "ERR-TIME-002",
    Code.MISSING_TIME_SPEC: "ERR-SYNTAX-004",
    Code.INCOMPLETE_RANGE: "ERR-SYNTAX-004",
    Code.ZERO_DURATION_RANGE: "ERR-SYNTAX-005",
    Code.UNKNOWN_WEEKDAY: "ERR-SYNTAX-003",
    Code.UNKNOWN_UNIT: "ERR-INTERVAL-002",
    Code.INTERVAL_TOO_SMALL: "ERR-INTERVAL-001",
    Code.NON_INTEGER_INTERVAL: "ERR-INTERVAL-001",
    Code.UNSUPPORTED_INTERVAL: "ERR-INTERVAL-002",
    Code.INVALID_TIME: "ERR-SYNTAX-002",
    Code.HOUR_12_OUT_OF_RANGE: "ERR-TIME-003",
    Code.OFFSET_OUT_OF_RANGE: "ERR-TZ-001",
    Code.MALFORMED_OFFSET: "ERR-TZ-002",
    Code.MISSING_COMPONENT: "ERR-SYNTAX-004",
    Code.UNSUPPORTED_SYNTAX: "ERR-SYNTAX-005",
}


class FuzzyProblem(Problem):
    """A problem or a warning, with the code that the ERR-table has for it."""

    @property
    def err_code(self) -> str:
        """The code of the ERR-table, or '' where it has none."""
        return ERR_CODES.get(self.code, "")

    def __str__(self) -> str:
        err_code = f" [{self.code}, {self.err_code}]" if self.err_code else f" [{self.code}]"
        fix = f" ({self.fix})" if self.fix else ""
        return f"column {self.column}: {self.message}{err_code}{fix}"
