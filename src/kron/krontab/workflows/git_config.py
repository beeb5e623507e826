"""The one value that is wanted of a git configuration: the URL of the remote `origin`.

The file is read here and not by `git config`: krontab then needs no git, starts no process, and
gives the same answer inside a hook, where git's own variables point elsewhere. Included files are
not followed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_HEADER = re.compile(
    r'[ \t]*+\[[ \t]*+([A-Za-z0-9.-]++)(?:[ \t]++"((?:[^"\\\n]|\\.)*+)")?+[ \t]*+\]'
)
_ESCAPED = re.compile(r"\\(.)")
_KEY = re.compile(r"[ \t]*+([A-Za-z][A-Za-z0-9-]*+)[ \t]*+(?:=[ \t]*+|(?=[\n#;]|\Z))")
_VALUE_PIECE = re.compile(
    r'(?P<quoted>"(?:[^"\\\n]|\\(?s:.))*+")|(?P<escape>\\(?:\r\n|(?s:.)))|(?P<plain>[^"\\\n#;]++)'
)
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", '"': '"', "\\": "\\", "\n": "", "\r\n": ""}


def origin_url(text: str) -> str | None:
    """The URL that the configuration gives for `origin`, the first if there are several."""
    for section, key, value in _settings(text):
        if section == ("remote", "origin") and key == "url":
            return value
    return None


def _settings(text: str) -> Iterator[tuple[tuple[str, str], str, str]]:
    """(section, sub-section), key and value, one by one; what git would refuse is passed over."""
    section = ("", "")
    position = 0
    while position < len(text):
        header = _HEADER.match(text, position)
        if header is not None:
            section = (header[1].lower(), _ESCAPED.sub(r"\1", header[2] or ""))
            position = header.end()
            continue
        key = _KEY.match(text, position)
        if key is None:
            position = _next_line(text, position)
            continue
        value, position = _value(text, key.end())
        yield section, key[1].lower(), value
        position = _next_line(text, position)


def _value(text: str, position: int) -> tuple[str, int]:
    """The value that begins here, without its quotes and escapes, and where it ends."""
    pieces: list[str] = []
    kept = 0
    """How many characters are safe from trimming: quoted ones, and what stands before them."""
    length = 0
    while piece := _VALUE_PIECE.match(text, position):
        position = piece.end()
        if piece["plain"] is not None:
            added = piece["plain"].replace("\r", "")
            visible = len(added.rstrip(" \t"))
            kept = length + visible if visible else kept
        elif piece["escape"] is not None:
            added = _ESCAPES.get(piece["escape"][1:], "")
            kept = length + len(added) if added else kept
        else:
            added = re.sub(
                r"\\(\r\n|(?s:.))", lambda match: _ESCAPES.get(match[1], ""), piece["quoted"][1:-1]
            )
            kept = length + len(added)
        pieces.append(added)
        length += len(added)
    return "".join(pieces)[:kept], position


def _next_line(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end + 1
