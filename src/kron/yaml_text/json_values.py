"""The stretches of a text that a YAML parser can take, which know where they stand in it.

All of YAML is one stretch. JSON values in a row, as `jq` prints them, are one each, because YAML
needs a line between documents. JSON writes a character beyond 16 bits as two escapes, which YAML
cannot read: they are replaced by the character.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from kron.core.frozen import Frozen

_PAIR_OR_ESCAPE = re.compile(
    r"\\(?:(u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
_BLANKS = re.compile(r"[ \t\r\n]*+")
_OPENING = ("{", "[")
_SAVED = len("\\ud83d\\ude00") - 1


class Stretch(Frozen):
    """A part of a text, as the parser gets it."""

    text: str
    start: int = 0
    """Where it begins in the whole text."""
    replaced: tuple[int, ...] = ()
    """In its text: the ends of the characters that replace a pair of escapes."""

    def offset_of(self, index: int) -> int:
        """Where one of its characters stands in the whole text."""
        return self.start + index + _SAVED * bisect_right(self.replaced, index)


def json_values(text: str) -> Iterator[Stretch]:
    """The JSON values that a text consists of or, if it does not, the whole text.

    From a malformed value on, the rest is one stretch: its reader reports what is wrong.
    """
    start, end = 0, _end_of_value(text, 0)
    after = _beyond_blanks(text, end)
    if after < len(text) and not text.startswith(_OPENING, after):
        end = 0  # YAML that begins like JSON
    while end:
        yield _stretch(text, start, end)
        start = _beyond_blanks(text, end)
        end = _end_of_value(text, start)
    if not start or start < len(text):
        yield Stretch(text[start:], start)


def _beyond_blanks(text: str, start: int) -> int:
    blanks = _BLANKS.match(text, start)
    assert blanks is not None  # the pattern also matches nothing
    return blanks.end()


def _end_of_value(text: str, start: int) -> int:
    """Where the next JSON value ends; 0 if none follows."""
    from json import JSONDecoder

    start = _beyond_blanks(text, start)
    try:
        return JSONDecoder().raw_decode(text, start)[1] if text.startswith(_OPENING, start) else 0
    except (ValueError, RecursionError):
        return 0


def _stretch(text: str, start: int, end: int) -> Stretch:
    from json import loads

    replaced: list[int] = []

    def character(escape: re.Match[str]) -> str:
        if escape[1] is None:
            return escape[0]
        replaced.append(escape.start() - _SAVED * len(replaced) + 1)
        return str(loads(f'"{escape[0]}"'))

    return Stretch(_PAIR_OR_ESCAPE.sub(character, text[start:end]), start, tuple(replaced))
