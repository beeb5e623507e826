"""A krontab file as text: its entries, its problems, and edits of it.

An edit changes one line. Comments, order, spacing and line breaks of all other lines stay the same,
byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable

from kron.core.errors import Code, KronError, ParseError, did_you_mean, quoted
from kron.core.frozen import Frozen
from kron.core.limits import DEFAULT_LIMITS, Limits
from kron.jobs.entry import Entry
from kron.jobs.finding import Finding, findings_of
from kron.jobs.identity import Node
from kron.jobs.line import LineReader, field_tokens
from kron.jobs.text import read_text, says_nothing

KEPT_FINDINGS = 1_000
"""How many errors of a file are kept: nobody reads more of a file of 8 MiB of junk."""


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
        if self.text and not self.text.endswith("\n"):
            # It still ends without a line break, so that `without` is the inverse.
            return f"{self.text}\n{lines}"
        return f"{self.text}{lines}\n"

    def without(self, name: str) -> str:
        """The text without the line of the job called `name`."""
        number = self.entry(name).line
        lines = self.text.split("\n")
        # Without a last line that has no line break, the file still ends without one.
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
    jobs_before: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Document:
    """Read a file. `progress` is called with 1 for every line.

    `jobs_before` counts the jobs of earlier files: the limit is for all of them together.
    """
    text = read_text(data, path, limits)
    if isinstance(text, Finding):
        return Document(path, "", (), (text,))
    reader = reader or LineReader(limits)
    nameless = node.identity(path, "")
    entries: dict[str, Entry] = {}
    findings: list[Finding] = []
    errors = 0
    for number, line in enumerate(text.split("\n"), start=1):
        if progress is not None:
            progress(1)
        if says_nothing(line):
            continue
        try:
            entry = reader.read(line, path=path, line=number, identify=nameless.__add__)
            _check_new(line, entry, entries, limits, jobs_before)
        except ParseError as error:
            errors += len(error.problems)
            if len(findings) < KEPT_FINDINGS:
                findings += findings_of(error, path=path, line=number)
            if error.code is Code.LIMIT and jobs_before + len(entries) >= limits.jobs:
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


def _check_new(
    line: str, entry: Entry, entries: dict[str, Entry], limits: Limits, jobs_before: int
) -> None:
    if jobs_before + len(entries) >= limits.jobs:
        message = f"there are more than {limits.jobs} jobs"
        raise ParseError.single(line, Code.LIMIT, message, fix="split them between hosts")
    if entry.name in entries:
        place = field_tokens(line)["name"]
        first = entries[entry.name].line
        message = f"the name {quoted(entry.name)} is taken by line {first}"
        raise ParseError.single(
            line,
            Code.NAME_REPEATED,
            message,
            start=place.start,
            end=place.end,
            fix="names are unique within a file",
        )
