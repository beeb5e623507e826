"""A file's text with its lines, and findings at positions in it.

An offset counts characters of the whole text. A line ends at a line feed only.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from kron.core.errors import Code, KronError
from kron.jobs.finding import Finding, Severity

BYTE_ORDER_MARK = "\ufeff"


class FileText:
    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self._line = (1, 0, _line_end(text, 0))
        """The line asked for last. A list of all lines would take 300 MB for a file of blank
        lines that has the greatest length."""

    def line_at(self, offset: int) -> tuple[int, int, int]:
        """The line that holds the offset: its number, and [start, end) without the line feed.

        Quick for one that is near the last one asked for.
        """
        text, (number, start, end) = self.text, self._line
        if start <= offset <= end:
            return self._line
        if offset > end:
            number += text.count("\n", end, offset)
        else:
            number -= text.count("\n", offset, start)
        self._line = (number, text.rfind("\n", 0, offset) + 1, _line_end(text, offset))
        return self._line

    def line_of(self, offset: int) -> int:
        """The number of that line, counted from 1."""
        return self.line_at(offset)[0]

    def column_of(self, offset: int) -> int:
        """The column of the offset, counted from 0."""
        return offset - self.line_at(offset)[1]

    def line_end(self, offset: int) -> int:
        """Where the line that holds the offset ends, before its line break."""
        end = self.line_at(offset)[2]
        return end - 1 if end > offset and self.text[end - 1] == "\r" else end

    def finding(self, code: str, message: str, start: int, end: int, fix: str = "") -> Finding:
        """An error in [start, end), as far as it lies on the first line."""
        number, first, _ = self.line_at(start)
        last = self.line_end(start)
        place = (self.path, number, start - first, max(start + 1, min(end, last)) - first)
        return Finding(Severity.ERROR, code, message, *place, fix, self.text[first:last])


def _line_end(text: str, offset: int) -> int:
    end = text.find("\n", offset)
    return len(text) if end < 0 else end


def files_below(
    top: str, suffixes: Sequence[str], failures: list[Finding], *, shown: str = ""
) -> list[str]:
    """The files below a directory whose names end so, sorted; those that are hidden are skipped.

    `shown` is the one hidden directory that is searched, too. Errors go to `failures`.
    """

    def fail(error: OSError) -> None:
        failures.append(unreadable(str(error.filename), error))

    found: list[str] = []
    for directory, names, files in os.walk(top, onerror=fail):
        names[:] = [name for name in names if not name.startswith(".") or name == shown]
        found += [
            os.path.join(directory, name)  # noqa: PTH118
            for name in files
            if name.endswith(tuple(suffixes)) and not name.startswith(".")
        ]
    return sorted(found)


def unreadable(path: str, error: OSError | ValueError) -> Finding:
    """The finding for a file that the system does not let us read."""
    why = error.strerror if isinstance(error, OSError) else error  # a NUL in a path is a ValueError
    problem = KronError(Code.FILE_UNREADABLE, f"{path} cannot be read: {why}")
    return Finding.of_error(problem, path)
