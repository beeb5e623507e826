"""Quoting in krontab files: double quotes with the escapes `\\"` and `\\\\`, nothing else.

The same rules apply to a field's value and to the words of a quoted command. No shell reads them: a
single quote, a dollar sign and a star are characters like any other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kron.core.errors import Code, ParseError, quoted
from kron.core.tokens import STRING, Token, as_string

_ESCAPE = re.compile(r"\\(.)")
_BARE = re.compile(r'[^ \t"\\]++')
_PART = re.compile(rf'[^ \t"]++|{STRING}')
_WORD = re.compile(rf'(?:[^ \t"]++|{STRING})+|"')
"""A word, or a quote that is never closed. Not `++`, for the reason that `past_all` gives."""


def unquoted(string: str) -> str:
    """The text of `"..."`; a `ParseError` for an unknown escape."""
    inner = string[1:-1]
    if "\\" not in inner:
        return inner
    for escape in _ESCAPE.finditer(inner):
        if escape[1] not in '"\\':
            place = Token(escape[0], escape.start() + 1)
            shown, fix = quoted(place.text), "write \\\\ for a backslash"
            message = f'{shown} is no escape: between double quotes there are \\" and \\\\'
            raise ParseError(string, [place.problem(Code.FIELD_FORM, message, fix=fix)])
    return _ESCAPE.sub(r"\1", inner)


def quoted_value(value: str) -> str:
    """`value` as a field has it: bare where that is safe, else between double quotes."""
    return value if _BARE.fullmatch(value) else as_string(value)


def split_words(text: str) -> tuple[str, ...]:
    """The words of a command: spaces separate them, except between double quotes."""
    if '"' not in text:
        return tuple(_WORD.findall(text))
    words: list[str] = []
    for word in _WORD.finditer(text):
        if word[0] == '"':
            message = "a quote in the command is never closed"
            raise ParseError.single(text, Code.FIELD_VALUE, message, start=word.start())
        parts = _PART.finditer(text, word.start(), word.end())
        words.append("".join(_unquoted_part(part) for part in parts))
    return tuple(words)


def join_words(words: Sequence[str]) -> str:
    """The inverse of `split_words`."""
    return " ".join(map(quoted_value, words))


def _unquoted_part(part: re.Match[str]) -> str:
    if part[0][0] != '"':
        return part[0]
    try:
        return unquoted(part[0])
    except ParseError as error:
        shifted = [problem.shifted(part.start()) for problem in error.problems]
        raise ParseError(part.string, shifted) from None
