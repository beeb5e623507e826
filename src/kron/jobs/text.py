"""The bytes of a file as text, or the reason why it cannot be read.

cron itself knows only bytes. Crontabs that are not UTF-8 are refused all the same: names, logs and
messages contain their text, and a guess at the encoding would often be wrong.
"""

from __future__ import annotations

from kron.core.errors import Code, Problem
from kron.core.limits import Limits
from kron.jobs.finding import Finding
from kron.jobs.source import STANDARD_INPUT

_SHOWN_BYTES = 1_000


def read_text(data: bytes, path: str, limits: Limits) -> str | Finding:
    """The text, or the error that makes all of it unreadable."""
    if len(data) > limits.file_bytes:
        message = f"the file is longer than {limits.file_bytes} bytes"
        fix = "split it into several files"
        problem = Problem(Code.LIMIT, message, 0, 1, fix)
        return Finding.of_problem(problem, path=path, line=1, text="")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return _not_utf8(data, error.start, path)
    first = text.partition("\n")[0]
    if first.startswith("\ufeff"):
        message = "the file begins with a byte order mark"
        fix = _fix("remove it", "sed -i '1s/^\\xef\\xbb\\xbf//'", path)
        problem = Problem(Code.TEXT, message, 0, 1, fix)
    elif first.endswith("\r"):
        message = "the lines end with a carriage return, as on Windows"
        fix = _fix("remove them", "sed -i 's/\\r$//'", path)
        problem = Problem(Code.TEXT, message, len(first) - 1, len(first), fix)
    else:
        return text
    return Finding.of_problem(problem, path=path, line=1, text=first)


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
    problem = Problem(Code.TEXT, message, column, column + 1, fix)
    shown = data[start : place + _SHOWN_BYTES].split(b"\n", 1)[0].decode(errors="replace")
    line = before.count(b"\n") + 1
    return Finding.of_problem(problem, path=path, line=line, text=shown)
