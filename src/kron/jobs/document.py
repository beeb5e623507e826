"""A krontab file as text: its entries and its problems; and, without loss, its edits.

An edit changes the line that it is about. Comments, order, spacing and line breaks of all other
lines stay as they were, byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable

from kron.core.errors import Code, KronError, ParseError, Problem, did_you_mean, quoted
from kron.core.frozen import Frozen
from kron.core.limits import DEFAULT_LIMITS, Limits
from kron.jobs.entry import Entry
from kron.jobs.finding import Finding, findings_of
from kron.jobs.identity import Node
from kron.jobs.line import LineReader

KEPT_FINDINGS = 1_000
"""How many errors of a file are kept; a file of 8 MiB of junk has no reader of the next."""


class Document(Frozen):
    """The text of a file and what was read from it."""

    path: str
    text: str
    entries: tuple[Entry, ...]
    findings: tuple[Finding, ...]
    unshown: int = 0
    """Errors beyond the findings."""

    def entry(self, name: str) -> Entry:
        """The job called `name`."""
        for entry in self.entries:
            if entry.name == name:
                return entry
        raise KronError(
            Code.JOB_UNKNOWN,
            f"{self.path} has no job {quoted(name)}",
            fix=did_you_mean(name, (entry.name for entry in self.entries)),
        )

    def with_lines(self, lines: str) -> str:
        """The text with a line, or several, added at its end."""
        separator = "" if not self.text or self.text.endswith("\n") else "\n"
        return f"{self.text}{separator}{lines}\n"

    def without(self, name: str) -> str:
        """The text without the line of the job called `name`."""
        number = self.entry(name).line
        lines = self.text.split("\n")
        # What a last line without a line break leaves behind is a file that ends as it did.
        if number == len(lines) and number > 1:
            return "\n".join(lines[:-1])
        return "\n".join(lines[: number - 1] + lines[number:])


def read_document(
    data: bytes,
    path: str,
    *,
    node: Node = Node(),  # noqa: B008 (frozen)
    limits: Limits = DEFAULT_LIMITS,
    reader: LineReader | None = None,
    progress: Callable[[int], None] | None = None,
) -> Document:
    """Everything that a file's bytes say. `progress`, if given, is told of every line read."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return Document(path, "", (), (_not_utf8(data, error, path),))
    reader = reader or LineReader(limits)
    lines = text.split("\n")
    if finding := _foreign_line_ends(lines, path):
        return Document(path, text, (), (finding,))
    entries: dict[str, Entry] = {}
    findings: list[Finding] = []
    errors = 0
    for number, line in enumerate(lines, start=1):
        if progress is not None:
            progress(1)
        if _says_nothing(line):
            continue
        try:
            entry = reader.read(
                line, path=path, line=number, identify=lambda name: node.identity(path, name)
            )
            _check_new(line, entry, entries, limits)
        except ParseError as error:
            errors += len(error.problems)
            if len(findings) < KEPT_FINDINGS:
                findings += findings_of(error, path=path, line=number)
            if error.code is Code.LIMIT and len(entries) >= limits.jobs:
                break
        else:
            entries[entry.name] = entry
    return Document(
        path,
        text,
        tuple(entries.values()),
        tuple(findings[:KEPT_FINDINGS]),
        max(0, errors - KEPT_FINDINGS),
    )


def _says_nothing(line: str) -> bool:
    content = line.lstrip(" \t")
    return not content or content.startswith("#")


def _check_new(line: str, entry: Entry, entries: dict[str, Entry], limits: Limits) -> None:
    if len(entries) >= limits.jobs:
        message = f"there are more than {limits.jobs} jobs"
        raise ParseError.single(line, Code.LIMIT, message, fix="split them between hosts")
    if entry.name in entries:
        start = line.find("name=")
        first = entries[entry.name].line
        message = f"the name {quoted(entry.name)} is taken by line {first}"
        raise ParseError.single(
            line,
            Code.NAME_REPEATED,
            message,
            start=start,
            end=start + len("name=") + len(entry.name),
            fix="names are unique within a file",
        )


def _not_utf8(data: bytes, error: UnicodeDecodeError, path: str) -> Finding:
    before = data[: error.start]
    line = before.count(b"\n") + 1
    text = data.split(b"\n", line)[line - 1][:1000].decode(errors="replace")
    column = len(before[before.rfind(b"\n") + 1 :].decode())
    byte = f"0x{data[error.start]:02x}"
    message = f"the byte {byte} is not UTF-8, which a krontab file is written in"
    fix = f"convert it, for example with iconv -f latin1 -t utf-8 {path}"
    problem = Problem(Code.TEXT, message, column, column + 1, fix)
    return Finding.of_problem(problem, path=path, line=line, text=text)


def _foreign_line_ends(lines: list[str], path: str) -> Finding | None:
    """One finding for what would otherwise be one a line."""
    if lines[0].startswith("\ufeff"):
        message = "the file begins with a byte order mark"
        fix = f"take it out: sed -i '1s/^\\xef\\xbb\\xbf//' {path}"
        problem = Problem(Code.TEXT, message, 0, 1, fix)
    elif lines[0].endswith("\r"):
        message = "the lines end with a carriage return, as on Windows"
        fix = f"take them out: sed -i 's/\\r$//' {path}"
        problem = Problem(Code.TEXT, message, len(lines[0]) - 1, len(lines[0]), fix)
    else:
        return None
    return Finding.of_problem(problem, path=path, line=1, text=lines[0])
