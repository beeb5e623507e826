"""A text in the pieces that a YAML reader takes, which know where they stand in it.

All of YAML is one piece. Values of JSON, one after another as `jq` prints them, are one each, for
YAML wants a line between them; and their escapes of characters beyond 16 bits, which JSON writes as
two halves and YAML cannot, are replaced by the characters.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from kron.core.frozen import Frozen

_ESCAPE = re.compile(
    r"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
_BLANKS = re.compile(r"[ \t\r\n]*+")
_OPENING = ("{", "[")


class Piece(Frozen):
    """A part of a text."""

    text: str
    start: int = 0
    """Where it begins in the whole."""
    replaced: tuple[int, ...] = ()
    """In its text: the ends of characters that stand for a pair of escapes."""

    def offset_of(self, index: int) -> int:
        """Where a character of it stands in the whole text."""
        return self.start + index + _SAVED * bisect_right(self.replaced, index)


_SAVED = len("\\ud83d\\ude00") - 1


def pieces(text: str) -> Iterator[Piece]:
    """The values of JSON that a text is or, if it is none, the text.

    A value with something wrong is a piece as well, with all that follows: its reader says what.
    """
    start = 0
    if _is_json(text):
        while end := _end_of_value(text, start):
            yield _piece(text, start, end)
            start = _beyond_blanks(text, end)
    if not start or start < len(text):
        yield Piece(text[start:], start)


def _is_json(text: str) -> bool:
    """Whether a value of JSON comes first, and then nothing or another; not YAML that begins so."""
    end = _end_of_value(text, 0)
    rest = _beyond_blanks(text, end)
    return end > 0 and (rest == len(text) or text.startswith(_OPENING, rest))


def _beyond_blanks(text: str, start: int) -> int:
    blanks = _BLANKS.match(text, start)
    assert blanks is not None  # there may be none
    return blanks.end()


def _end_of_value(text: str, start: int) -> int:
    """Where the value of JSON that comes next ends; 0 if none does."""
    from json import JSONDecoder

    start = _beyond_blanks(text, start)
    try:
        return JSONDecoder().raw_decode(text, start)[1] if text.startswith(_OPENING, start) else 0
    except (ValueError, RecursionError):
        return 0


def _piece(text: str, start: int, end: int) -> Piece:
    parts: list[str] = []
    replaced: list[int] = []
    done, length = start, 0
    for escape in _ESCAPE.finditer(text, start, end):
        if escape[1] is not None:
            character = chr(
                0x10000 + (int(escape[1], 16) - 0xD800 << 10) + int(escape[2], 16) - 0xDC00
            )
            parts += [text[done : escape.start()], character]
            length += escape.start() - done + 1
            replaced.append(length)
            done = escape.end()
    parts.append(text[done:end])
    return Piece("".join(parts), start, tuple(replaced))
