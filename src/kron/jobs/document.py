"""A krontab file as text: its entries, its problems, and edits of it.

An edit changes one line. Comments, order, spacing and line breaks of all other lines stay the same,
byte for byte.

cron itself knows only bytes. Crontabs that are not UTF-8 are refused all the same: names, logs and
messages contain their text, and a guess at the encoding would often be wrong.
"""

from __future__ import annotations

from collections.abc import Callable

from kron.core.errors import Code, KronError, ParseError, did_you_mean, quoted
from kron.core.frozen import Frozen
from kron.core.limits import Limits
from kron.jobs.defaults import DEFAULTS, NO_DEFAULTS, Defaults, is_defaults
from kron.jobs.entry import Entry
from kron.jobs.finding import Finding, Severity, findings_of
from kron.jobs.identity import identity_of
from kron.jobs.line import LineReader
from kron.jobs.slots import Slot, is_slots, read_slots
from kron.jobs.source import STANDARD_INPUT
from kron.jobs.task import DEFAULT_SHELL
from kron.jobs.values import field_tokens

KEPT_FINDINGS = 1_000
"""How many errors of a file are kept: nobody reads more of a file of 8 MiB of junk."""
_SHOWN_BYTES = 1_000
_UNREADABLE = Defaults(values=(("shell", DEFAULT_SHELL),))
"""Holds below a defaults line with an error, so that the jobs get no errors because of it."""


class Document(Frozen):
    path: str
    text: str
    entries: tuple[Entry, ...]
    findings: tuple[Finding, ...]
    unshown: int = 0
    """Errors beyond the findings."""
    defaults: tuple[Defaults, ...] = ()
    """The defaults lines, in their order."""
    slots: tuple[Slot, ...] = ()
    """The names of the slots lines, in their order."""

    def entry(self, name: str) -> Entry:
        named = {entry.name: entry for entry in self.entries}
        if name in named:
            return named[name]
        message = f"{self.path} has no job {quoted(name)}"
        raise KronError(Code.JOB_UNKNOWN, message, fix=did_you_mean(name, named))

    def with_lines(self, lines: str) -> str:
        """The text with a line, or several, added at its end.

        They mean there what they mean alone: defaults that hold at the end are cleared first.
        """
        first = next((line for line in lines.split("\n") if not says_nothing(line)), "")
        if self.defaults and self.defaults[-1].parts and not is_defaults(first):
            lines = f"{DEFAULTS}\n{lines}"
        if self.text and not self.text.endswith("\n"):
            # It still ends without a line break, so that `without` is the inverse.
            return f"{self.text}\n{lines}"
        return f"{self.text}{lines}\n"

    def without(self, name: str) -> str:
        number = self.entry(name).line
        lines = self.text.split("\n")
        kept = number - 1
        if lines[:kept][-1:] == [DEFAULTS] and not any(lines[number:]):
            kept -= 1  # which `with_lines` wrote: nothing is left below it
        # Without a last line that has no line break, the file still ends without one.
        if number == len(lines) and number > 1:
            return "\n".join(lines[:kept])
        return "\n".join(lines[:kept] + lines[number:])


def read_document(
    data: bytes,
    path: str,
    *,
    node: str = "",
    reader: LineReader | None = None,
    jobs_before: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Document:
    """Read a file. `progress` is called with 1 for every line.

    `jobs_before` counts the jobs of earlier files: the limit is for all of them together.
    """
    reader = reader or LineReader()
    limits = reader.limits
    text = read_text(data, path, limits)
    if isinstance(text, Finding):
        return Document(path, "", (), (text,))
    scope = identity_of(path, "", node)
    entries: dict[str, Entry] = {}
    findings: list[Finding] = []
    defaults: list[Defaults] = []
    slots: list[Slot] = []
    holding = NO_DEFAULTS
    errors = 0
    for number, line in enumerate(text.split("\n"), start=1):
        if progress is not None:
            progress(1)
        if says_nothing(line):
            continue
        try:
            if is_defaults(line):
                holding = _UNREADABLE
                if len(defaults) >= limits.jobs:
                    message = f"there are more than {limits.jobs} lines of defaults"
                    raise ParseError.single(line, Code.LIMIT, message, fix="split the file")
                holding = reader.read_defaults(line, line=number)
                defaults.append(holding)
                continue
            if is_slots(line):
                slots += read_slots(line, limits, line=number)
                if len(slots) > limits.jobs:
                    message = f"there are more than {limits.jobs} slots"
                    raise ParseError.single(line, Code.LIMIT, message, fix="name fewer")
                continue
            entry = reader.read(line, path=path, line=number, scope=scope, defaults=holding)
            if jobs_before + len(entries) >= limits.jobs:
                message = f"there are more than {limits.jobs} jobs"
                raise ParseError.single(line, Code.LIMIT, message, fix="split them between hosts")
            if entry.name in entries:
                raise _repeated(line, entries[entry.name])
        except ParseError as error:
            errors += len(error.problems)
            if len(findings) < KEPT_FINDINGS:
                findings += findings_of(error, path=path, line=number)
            if error.code is Code.LIMIT and jobs_before + len(entries) >= limits.jobs:
                break
        else:
            entries[entry.name] = entry
    unshown = max(0, errors - KEPT_FINDINGS)
    kept = tuple(findings[:KEPT_FINDINGS])
    return Document(
        path, text, tuple(entries.values()), kept, unshown, tuple(defaults), tuple(slots)
    )


def _repeated(line: str, first: Entry) -> ParseError:
    message = f"the name {quoted(first.name)} is taken by line {first.line}"
    place, fix = field_tokens(line)["name"], "names are unique within a file"
    return ParseError(line, [place.problem(Code.NAME_REPEATED, message, fix=fix)])


def read_text(data: bytes, path: str, limits: Limits) -> str | Finding:
    """The text of a krontab file or a crontab, or the error that makes all of it unreadable."""
    if len(data) > limits.file_bytes:
        message = f"the file is longer than {limits.file_bytes} bytes"
        fix = "split it into several files"
        return Finding(Severity.ERROR, Code.LIMIT, message, path, 1, 0, 1, fix)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return _not_utf8(data, error.start, path)
    first = text.partition("\n")[0]
    if first.startswith("\ufeff"):
        message, start = "the file begins with a byte order mark", 0
        fix = _fix("remove it", "sed -i '1s/^\\xef\\xbb\\xbf//'", path)
    elif first.endswith("\r"):
        message, start = "the lines end with a carriage return, as on Windows", len(first) - 1
        fix = _fix("remove them", "sed -i 's/\\r$//'", path)
    else:
        return text
    return Finding(Severity.ERROR, Code.TEXT, message, path, 1, start, start + 1, fix, first)


def says_nothing(line: str) -> bool:
    """Whether a line is blank or a comment, in a krontab file or a crontab."""
    content = line.lstrip(" \t")
    return not content or content.startswith("#")


def _fix(what: str, command: str, path: str) -> str:
    """The command edits the file, so standard input has none."""
    return what if path == STANDARD_INPUT else f"{what}: {command} {path}"


def _not_utf8(data: bytes, place: int, path: str) -> Finding:
    before = data[:place]
    start = before.rfind(b"\n") + 1
    column = len(before[start:].decode())
    message = f"the byte 0x{data[place]:02x} is not UTF-8"
    fix = f"convert it, for example with iconv -f latin1 -t utf-8 {path}"
    shown = data[start : place + _SHOWN_BYTES].split(b"\n", 1)[0].decode(errors="replace")
    where = (path, before.count(b"\n") + 1, column, column + 1)
    return Finding(Severity.ERROR, Code.TEXT, message, *where, fix, shown)
