"""A workflow file that is being read: its text, the part of it that is YAML, and what is wrong.

Bytes that are not UTF-8 survive the way through the text unchanged: the body of a Markdown file is
nobody's business here. In the YAML part they are an error.
"""

from __future__ import annotations

import re
from enum import StrEnum

from kron.core.errors import SHOWN_PROBLEMS, Code, Problem
from kron.core.frozen import Frozen
from kron.jobs.finding import Finding, Severity

MARKDOWN_SUFFIX = ".md"
YAML_SUFFIXES = (".yml", ".yaml")
SUFFIXES = (MARKDOWN_SUFFIX, *YAML_SUFFIXES)

_ENCODING = ("utf-8", "surrogateescape")
_BYTE_ORDER_MARK = "\ufeff"
_FENCE = re.compile(r"---[ \t]*+(?:\r?\n|\Z)")
_CLOSING_FENCE = re.compile(r"^---[ \t]*+\r?$", re.MULTILINE)
_LIKELY = re.compile(r"""(?:^|[\s{,?"'])on["']?\s*+:""")

# What YAML has no place for; and what YAML 1.1 calls a line break, which editors, GitHub and
# YAML 1.2 do not.
_FORBIDDEN = re.compile(
    "[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|\r(?!\n)"
)


class WorkflowCode(StrEnum):
    """What is wrong with a workflow file, beside `kron.Code`. docs/fuzzy-compile.md lists them."""

    YAML = "yaml"
    FORM = "schedule-form"
    COMMENT = "schedule-comment"
    PLACE = "schedule-place"
    OUTDATED = "schedule-outdated"
    REPOSITORY = "repository"


class Part(Frozen):
    """Where the YAML of a file starts and ends."""

    start: int
    end: int
    is_closed: bool = True
    """False for front matter without its second `---`, which may be a line across the page."""


class TextLine(Frozen):
    """A line of the text: its number, and [start, end) without the line feed."""

    number: int
    start: int
    end: int


class Source:
    """A file's path, its text, and its findings. Offsets count characters of the whole text."""

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.text = data.decode(*_ENCODING)
        self.findings: list[Finding] = []
        self.unshown = 0
        """How many findings there are beyond these: a broken file has no 21st reader."""
        self._line = TextLine(1, 0, _line_end(self.text, 0))

    @property
    def is_markdown(self) -> bool:
        """Whether only its front matter is YAML."""
        return self.path.endswith(MARKDOWN_SUFFIX)

    @property
    def has_errors(self) -> bool:
        """Whether something is wrong, not only doubtful."""
        return any(finding.severity is Severity.ERROR for finding in self.findings)

    def line_at(self, offset: int) -> TextLine:
        """The line that holds the offset. Quick for one that is near the last one asked for."""
        text, line = self.text, self._line
        if line.start <= offset <= line.end:
            return line
        if offset > line.end:
            number = line.number + text.count("\n", line.end, offset)
        else:
            number = line.number - text.count("\n", offset, line.start)
        start = text.rfind("\n", 0, offset) + 1
        self._line = TextLine(number, start, _line_end(text, offset))
        return self._line

    def line_of(self, offset: int) -> int:
        """The number of that line, counted from 1."""
        return self.line_at(offset).number

    def column_of(self, offset: int) -> int:
        """The column of the offset, counted from 0."""
        return offset - self.line_at(offset).start

    def line_end(self, offset: int) -> int:
        """Where the line that holds the offset ends, before its line break."""
        end = self.line_at(offset).end
        return end - 1 if end > offset and self.text[end - 1] == "\r" else end

    def finding(
        self,
        code: str,
        message: str,
        start: int,
        end: int,
        fix: str = "",
        *,
        severity: Severity = Severity.ERROR,
    ) -> Finding:
        """Something about [start, end), as far as it lies on the first line."""
        line = self.line_at(start)
        first, last = line.start, self.line_end(start)
        stop = max(start + 1, min(end, last))
        return Finding(
            severity,
            code,
            message,
            self.path,
            line.number,
            start - first,
            stop - first,
            fix,
            self.text[first:last],
        )

    def report(
        self,
        code: str,
        message: str,
        start: int,
        end: int,
        fix: str = "",
        *,
        severity: Severity = Severity.ERROR,
    ) -> None:
        """Add such a finding to those of the file."""
        if sum(finding.severity is severity for finding in self.findings) >= SHOWN_PROBLEMS:
            self.unshown += 1
        else:
            self.findings.append(self.finding(code, message, start, end, fix, severity=severity))

    def report_problem(
        self, problem: Problem, base: int, severity: Severity = Severity.ERROR
    ) -> None:
        """A problem of a piece of text that begins at `base`."""
        self.report(
            problem.code,
            problem.message,
            base + problem.start,
            base + problem.end,
            problem.fix,
            severity=severity,
        )

    def report_file(self, code: str, message: str, fix: str = "") -> None:
        """Something about the file as a whole."""
        self.findings.append(Finding(Severity.ERROR, code, message, self.path, fix=fix))


def _line_end(text: str, offset: int) -> int:
    end = text.find("\n", offset)
    return len(text) if end < 0 else end


def encoded(text: str) -> bytes:
    """The bytes of a text that `Source` has read, or that was made from one."""
    return text.encode(*_ENCODING)


def yaml_part(source: Source) -> Part | None:
    """The YAML of a file; None for Markdown without front matter."""
    start = len(_BYTE_ORDER_MARK) if source.text.startswith(_BYTE_ORDER_MARK) else 0
    if not source.is_markdown:
        return Part(start, len(source.text))
    fence = _FENCE.match(source.text, start)
    if fence is None:
        return None
    closing = _CLOSING_FENCE.search(source.text, fence.end())
    if closing is None:
        return Part(fence.end(), len(source.text), is_closed=False)
    return Part(fence.end(), closing.start())


def is_likely(source: Source, part: Part) -> bool:
    """Whether it may hold a schedule under `on`: asked of files that nobody named."""
    text = source.text[part.start : part.end]
    return "schedule" in text and _LIKELY.search(text) is not None


def report_forbidden(source: Source, part: Part) -> None:
    """Report the first character of the YAML part that cannot be there."""
    match = _FORBIDDEN.search(source.text, part.start, part.end)
    if match is None:
        return
    point = ord(match[0])
    if 0xDC80 <= point <= 0xDCFF:
        message = f"the file is not UTF-8: it has the byte 0x{point - 0xDC00:02x}"
        source.report(Code.TEXT, message, *match.span(), "save it as UTF-8")
    elif match[0] == "\r":
        message = "a carriage return without a line feed is no line break for GitHub"
        source.report(Code.TEXT, message, *match.span(), "end lines with LF or CR LF")
    else:
        message = f"a workflow cannot hold the character U+{point:04X}"
        source.report(Code.TEXT, message, *match.span(), "delete it, or write it as an escape")
