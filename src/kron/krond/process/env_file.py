"""A file of environment variables in the format of systemd's EnvironmentFile=, for `env_file=`.

It is read with krond's own rights, for a run that may have fewer. So nobody but root and krond's
user may lead krond to a file by a link, and the run's user gets no file that is not meant for it:
the file belongs to root, krond's user or the run's, and has one name. Its text is secret: an error
has the number of a line and nothing that the line says.
"""

from __future__ import annotations

import os
import re
import stat
from codecs import BOM_UTF8
from collections.abc import Mapping
from errno import ENOENT, ENXIO

from kron.core.duration import SECOND_NS
from kron.core.errors import visible
from kron.jobs.task import EnvFile
from kron.krond.process.account import Account
from kron.krond.process.child import as_bytes
from kron.krond.process.failure import PASSING, StartError, error_number
from kron.krond.process.walk import open_by_steps

LONGEST_BYTES = 1024 * 1024
MOST_VARIABLES = 10_000
"""They bound the time that krond spends on a file, when all its other jobs wait."""

Variables = Mapping[bytes, bytes]

_KIND = "it is not a regular file"
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_SETTLED_NS = SECOND_NS
"""A file that changed less than this ago may change once more without another time of change."""

_SILENT = re.compile(r"(?:[ \t\r\n]++|[#;][^\r\n]*+|[^\r\n=]++(?=[\r\n]|\Z))*")
"""Blank lines, comments and lines without an equals sign."""
_KEY = re.compile(r"([A-Za-z_][A-Za-z0-9_]*+)[ \t]*+=[ \t]*+")
_QUOTED = re.compile(r"""'([^']*+)'[ \t]*+|"((?:[^"\\]|\\.)*+)"[ \t]*+""", re.DOTALL)
_ESCAPE = re.compile(r"""\\(["\\`$]|\n)""")
_PLAIN = re.compile(r"(?:[^\r\n\\]++|\\.)*", re.DOTALL)
_ANY_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


class EnvFiles:
    """Remembers the file that was read last: in a burst, jobs that share one read it once."""

    def __init__(self) -> None:
        self._last: tuple[tuple[object, ...], Variables] | None = None

    def variables(self, file: EnvFile, account: Account | None, now_s: int) -> Variables:
        """What the file says now. A `StartError` if it cannot be read, or is not to be trusted."""
        try:
            return self._read(file.path, account, now_s)
        except (OSError, ValueError) as error:
            number = error_number(error)
            if number == ENOENT and file.may_lack:
                return {}
            why = error.strerror if isinstance(error, OSError) else str(error)
            why = "it does not exist" if number == ENOENT else _KIND if number == ENXIO else why
            text = f'the environment file "{visible(file.path)}" cannot be used: {why}'
            raise StartError(text, for_good=number not in PASSING) from None

    def _read(self, path: str, account: Account | None, now_s: int) -> Variables:
        own = os.geteuid()
        descriptor = open_by_steps(
            as_bytes(path), os.O_RDONLY, frozenset({0, own}), "root or krond's user"
        )
        try:
            status = os.fstat(descriptor)
            _check(status, {0, own, own if account is None else account.uid})
            state = (
                *(path, status.st_dev, status.st_ino, status.st_size),
                *(status.st_mtime_ns, status.st_ctime_ns),
            )
            if self._last is not None and self._last[0] == state:
                return self._last[1]
            variables = parse_env_file(_content(descriptor))
        finally:
            os.close(descriptor)
        is_settled = status.st_ctime_ns < now_s * SECOND_NS - _SETTLED_NS
        self._last = (state, variables) if is_settled else None
        return variables


def parse_env_file(data: bytes) -> Variables:
    """The variables of a file; a `ValueError` with the number of the line that does not read.

    The last of several values of a name holds, as for systemd. Unlike systemd, which ignores a
    name that no variable can have (`export A=b`), this refuses it.
    """
    if data.startswith(BOM_UTF8):
        raise ValueError("it begins with a byte order mark")
    if b"\0" in data:
        raise ValueError("it has a NUL byte")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"line {line} is not UTF-8") from None
    variables: dict[bytes, bytes] = {}
    found = 0
    position = _past(_SILENT, text, 0)
    while position < len(text):
        key = _KEY.match(text, position)
        if key is None:
            raise ValueError(f"line {_line(text, position)} does not begin with NAME=")
        value, position = _value(text, key.end())
        if position < 0:
            number = _line(text, key.start())
            raise ValueError(f"a quote in the value that begins in line {number} is never closed")
        found += 1
        if found > MOST_VARIABLES:
            raise ValueError(f"it has more than {MOST_VARIABLES:,} variables")
        variables[key[1].encode()] = value.encode()
        position = _past(_SILENT, text, position)
    return variables


def _value(text: str, position: int) -> tuple[str, int]:
    """The value that begins here, and where it ends; -1 if a quote is never closed."""
    pieces: list[str] = []
    while text.startswith(("'", '"'), position):
        quoted = _QUOTED.match(text, position)
        if quoted is None:
            return "", -1
        if quoted[1] is not None:
            pieces.append(quoted[1])
        else:
            pieces.append(_ESCAPE.sub(_unescaped, quoted[2]))
        position = quoted.end()
    end = _past(_PLAIN, text, position)
    pieces.append(_ANY_ESCAPE.sub(_unescaped, _without_blanks(text[position:end])))
    return "".join(pieces), end


def _without_blanks(plain: str) -> str:
    """A value without the blanks at its end, but with one that a backslash keeps."""
    stripped = plain.rstrip(" \t")
    is_escaped = (len(stripped) - len(stripped.rstrip("\\"))) % 2
    return plain[: len(stripped) + 1] if is_escaped else stripped


def _unescaped(escape: re.Match[str]) -> str:
    """The character after a backslash; nothing for a line that goes on."""
    return "" if escape[1] in "\r\n" else escape[1]


def _past(pattern: re.Pattern[str], text: str, position: int) -> int:
    found = pattern.match(text, position)
    return position if found is None else found.end()


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def _check(status: os.stat_result, owners: set[int]) -> None:
    mode = stat.S_IMODE(status.st_mode)
    if not stat.S_ISREG(status.st_mode):
        raise ValueError(_KIND)
    if status.st_uid not in owners:
        raise ValueError(
            f"it belongs to user {status.st_uid}, not to root, krond's user or the run's"
        )
    if mode & _OTHERS_WRITE:
        raise ValueError(f"others could write it (its mode is {mode:04o})")
    if status.st_nlink > 1:
        raise ValueError("it has another name elsewhere: it is one of several hard links")
    if status.st_size > LONGEST_BYTES:
        raise ValueError(f"it is longer than {LONGEST_BYTES:,} bytes")


def _content(descriptor: int) -> bytes:
    """All bytes of the file, which may have grown since it was looked at."""
    pieces: list[bytes] = []
    left = LONGEST_BYTES + 1
    while left > 0 and (piece := os.read(descriptor, left)):
        pieces.append(piece)
        left -= len(piece)
    if left <= 0:
        raise ValueError(f"it is longer than {LONGEST_BYTES:,} bytes")
    return b"".join(pieces)
