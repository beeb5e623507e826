"""Quoting, the one way that krontab files have it: double quotes, `\\"` and `\\\\`, nothing else.

The same rules hold for a field's value and for the words inside a quoted command. There is no
shell in them: a single quote, a dollar sign and a star are characters like any other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kron.core.errors import Code, ParseError, quoted

STRING = r'"(?:[^"\\]|\\.)*+"'
_ESCAPE = re.compile(r"\\(.)")
_BARE = re.compile(r'[^ \t"\\]++')
_WORD_PART = re.compile(rf'[^ \t"]++|{STRING}')
_SPACES = re.compile(r"[ \t]*+")
_UNQUOTED_WORD = re.compile(r"[^ \t]++")


def unquoted(string: str) -> str:
    """What `"..."` says; a `ParseError` for an escape that does not exist."""
    inner = string[1:-1]
    if "\\" not in inner:
        return inner
    for escape in _ESCAPE.finditer(inner):
        if escape[1] not in '"\\':
            raise ParseError.single(
                string,
                Code.FIELD_FORM,
                f'{quoted(escape[0])} is no escape: between double quotes there are \\" and \\\\',
                start=escape.start() + 1,
                end=escape.end() + 1,
                fix="write \\\\ for a backslash",
            )
    return _ESCAPE.sub(r"\1", inner)


def quoted_value(value: str) -> str:
    """`value` as a field writes it: bare where that is safe, else between double quotes."""
    return value if _BARE.fullmatch(value) else as_string(value)


def as_string(value: str) -> str:
    """`value` between double quotes, whatever it holds."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def split_words(text: str) -> tuple[str, ...]:
    """The words of a command: spaces separate them, except between double quotes."""
    if '"' not in text:
        return tuple(_UNQUOTED_WORD.findall(text))
    words: list[str] = []
    position = _end_of(_SPACES, text, 0)
    while position < len(text):
        word: list[str] = []
        while part := _WORD_PART.match(text, position):
            if part[0][0] == '"':
                word.append(_unquoted_at(text, part[0], position))
            else:
                word.append(part[0])
            position = part.end()
        words.append("".join(word))
        if position < len(text) and text[position] == '"':
            message = "a quote in the command is never closed"
            raise ParseError.single(text, Code.FIELD_VALUE, message, start=position)
        position = _end_of(_SPACES, text, position)
    return tuple(words)


def join_words(words: Sequence[str]) -> str:
    """The inverse of `split_words`."""
    return " ".join(word if _BARE.fullmatch(word) else as_string(word) for word in words)


def _unquoted_at(text: str, string: str, position: int) -> str:
    try:
        return unquoted(string)
    except ParseError as error:
        shifted = [problem.shifted(position) for problem in error.problems]
        raise ParseError(text, shifted) from None


def _end_of(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    assert match is not None  # the pattern also matches nothing
    return match.end()
