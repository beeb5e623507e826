"""The tokens of a schedule's text: cron fields, and modifiers such as `@win(after,2h)`.

This module knows the shape of the text only: where a token starts and ends, what is quoted, what
the arguments of a modifier are. What they mean is in `modifiers`. Every pattern is possessive, so
that a hostile line costs one pass and no backtracking.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kron.core.cron import shorthand_fix
from kron.core.errors import SHOWN_PROBLEMS, Code, Problem, quoted
from kron.core.frozen import Frozen

_STRING = r'"(?:[^"\\]|\\.)*+"'
_WORD = re.compile(r"[^ \t]++")
_MODIFIER = re.compile(rf'@([^ \t"()]*+)\(((?:[^ \t"()]|{_STRING})*+)\)')
_QUOTED_VALUE = re.compile(r'"((?:[^"\\]|\\["\\])*+)"')
_FORBIDDEN = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")

# Not compiled at import: few texts need them, and `re` keeps what it has compiled.
_ARGUMENT = {separator: rf'(?:[^"{separator}]|{_STRING})*+' for separator in (",", ";")}
_SPACED_MODIFIER = rf'@[^ \t"()]*+\((?:[^"()]|{_STRING})*+\)'
_BODY_PIECE = rf'[^"()]++|{_STRING}'
_UNKNOWN_ESCAPE = r'\\[^"\\]'
_PLAIN_VALUE = r"[A-Za-z0-9._:/+-]+"


class Token(Frozen):
    """A piece of the text and where it starts."""

    text: str
    start: int

    @property
    def end(self) -> int:
        """Where it ends, exclusively."""
        return self.start + len(self.text)

    def problem(self, code: Code, message: str, *, fix: str = "") -> Problem:
        """A problem that covers this token."""
        return Problem(code, message, self.start, self.end, fix)


class Argument(Frozen):
    """`value` or `key=value` between a modifier's parentheses; the value without its quotes."""

    token: Token
    key: str | None
    value: str
    value_start: int


class Modifier(Frozen):
    """`@name(body)`, its body not yet split."""

    token: Token
    name: str
    body: Token

    def arguments(self, separator: str, problems: list[Problem]) -> Iterator[Argument]:
        """The arguments between the separators, until there are too many `problems`."""
        position = 0
        pattern = re.compile(_ARGUMENT[separator])
        while position <= len(self.body.text) and len(problems) < SHOWN_PROBLEMS:
            match = pattern.match(self.body.text, position)
            assert match is not None  # the pattern also matches nothing
            token = Token(match[0], self.body.start + position)
            argument = _argument(token, problems)
            if argument is not None:
                yield argument
            position = match.end() + 1


def forbidden_characters(text: str) -> list[Problem]:
    """A problem for each character that no schedule may hold, quoted or not."""
    if text.isascii() and text.isprintable():
        return []  # as nearly every text; at a tenth of the time
    return [
        Problem(
            Code.TEXT,
            f"the character {quoted(match[0])} cannot stand in a line: it is a control "
            "character, a line break or half a character",
            match.start(),
            match.end(),
        )
        for match, _ in zip(_FORBIDDEN.finditer(text), range(SHOWN_PROBLEMS), strict=False)
    ]


def scan(text: str, problems: list[Problem]) -> tuple[list[Token], list[Modifier]]:
    """The words and the well-formed modifiers of `text`; the rest goes to `problems`."""
    words: list[Token] = []
    modifiers: list[Modifier] = []
    word = _WORD.search(text)
    while word is not None and len(problems) < SHOWN_PROBLEMS:
        token = Token(word[0], word.start())
        end = token.end
        if not token.text.startswith("@"):
            words.append(token)
        elif match := _MODIFIER.match(text, token.start):
            end = match.end()
            body = Token(match[2], match.start(2))
            modifiers.append(Modifier(Token(match[0], token.start), match[1], body))
            if glued := _WORD.match(text, end):
                message = f"a space is missing before {quoted(glued[0])}"
                problems.append(Token(glued[0], end).problem(Code.MODIFIER_FORM, message))
                end = glued.end()
        else:
            problems.append(_malformed(text, token))
            end = problems[-1].end
        word = _WORD.search(text, end)
    return words, modifiers


def is_fuzzy(text: str) -> bool:
    """Whether a schedule begins with a word, as fuzzy ones do, and not with a cron field.

    Here and not in `kron.fuzzy`, so that who only reads cron need not load that.
    """
    start = text.lstrip(" \t")[:2]
    return len(start) == 2 and start.isascii() and start.isalpha()


def past_all(piece: re.Pattern[str], text: str, position: int) -> int:
    """Where a row of pieces ends that begins at `position`.

    One by one, because `(?:piece)*+` goes too far in Python before 3.11.5 (CPython 106052) if a
    piece fails half-way, as a string does that is never closed. Where a whole pattern fails then
    anyway, as in `_MODIFIER`, that does no harm.
    """
    while match := piece.match(text, position):
        position = match.end()
    return position


def written(value: str) -> str:
    """`value` as an argument writes it: bare where that is safe, else in double quotes."""
    if re.fullmatch(_PLAIN_VALUE, value):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _malformed(text: str, word: Token) -> Problem:
    """What is wrong with a modifier that is not `@name(arguments)`; it covers what to skip."""
    name, parenthesis, _ = word.text.partition("(")
    if fix := shorthand_fix(word.text):
        message = f"{word.text} is a shorthand that schedules do not have"
        return word.problem(Code.CRON_SHORTHAND, message, fix=fix)
    if not parenthesis:
        message = f"the modifier {quoted(word.text)} has no parentheses"
        return word.problem(Code.MODIFIER_FORM, message, fix="write it like @win(after,2h)")
    if match := re.compile(_SPACED_MODIFIER).match(text, word.start):
        return Token(match[0], word.start).problem(
            Code.MODIFIER_FORM,
            f"there is a space between the parentheses of {quoted(name)}",
            fix="take it out, or put the value between double quotes",
        )
    end = past_all(re.compile(_BODY_PIECE), text, word.start + len(name) + 1)
    if text[end : end + 1] == '"':
        rest = Token(text[word.start :], word.start)
        return rest.problem(Code.MODIFIER_FORM, f"a quote in {quoted(name)} is never closed")
    message = f"the parenthesis of {quoted(name)} is never closed, or another opens inside it"
    return word.problem(Code.MODIFIER_FORM, message)


def _argument(token: Token, problems: list[Problem]) -> Argument | None:
    key: str | None = None
    value = token.text
    before, equals, after = token.text.partition("=")
    if equals and '"' not in before:
        key, value = before, after
    start = token.end - len(value)
    if match := _QUOTED_VALUE.fullmatch(value):
        plain = re.sub(r"\\(.)", r"\1", match[1])
        return Argument(token, key, plain, start + 1)
    if value and '"' not in value and "\\" not in value:
        return Argument(token, key, value, start)
    problems.append(_quoting_problem(Token(value, start)))
    return None


def _quoting_problem(value: Token) -> Problem:
    if not value.text:
        return value.problem(Code.MODIFIER_FORM, "an argument is empty")
    if escape := re.search(_UNKNOWN_ESCAPE, value.text):
        place = Token(escape[0], value.start + escape.start())
        message = f'{quoted(escape[0])} is no escape: between double quotes there are \\" and \\\\'
        return place.problem(Code.MODIFIER_FORM, message)
    message = f"{quoted(value.text)} is quoted in part"
    fix = "put the whole value between double quotes"
    return value.problem(Code.MODIFIER_FORM, message, fix=fix)
