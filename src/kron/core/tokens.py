"""The tokens of a schedule's text: cron fields, and modifiers such as `@win(after,2h)`.

This module knows the shape of the text only: where a token starts and ends, what is quoted, what
the arguments of a modifier are. What they mean is in `modifiers`. The lines of a krontab file are
split with the same patterns. Every pattern is possessive, so that a hostile line costs one pass and
no backtracking.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from kron.core.cron import REBOOT, shorthand_fix
from kron.core.duration import format_duration
from kron.core.errors import SHOWN_PROBLEMS, Code, ParseError, Problem, quoted
from kron.core.frozen import Frozen
from kron.core.limits import Limits, is_longer

STRING = r'"(?:[^"\\]|\\.)*+"'
"""A quoted text, as a part of other patterns."""
TOKEN = re.compile(rf'@([^ \t"()]*+)\(((?:[^"()]|{STRING})*+)\)|[^ \t]++')
"""A modifier, with its name and what its parentheses hold (spaces too), or a word."""
_WORD = re.compile(r"[^ \t]++")
_QUOTED_VALUE = re.compile(r'"((?:[^"\\]|\\["\\])*+)"')
_FORBIDDEN = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")

# Not compiled at import: few texts need them, and `re` keeps what it has compiled.
_ARGUMENT = {separator: rf'(?:[^"{separator}]|{STRING})*+' for separator in (",", ";")}
_UNSPACED = rf'(?:[^ \t"]|{STRING})*+'
_BODY_PIECE = rf'[^"()]++|{STRING}'
_UNKNOWN_ESCAPE = r'\\[^"\\]'
_PLAIN_VALUE = r"[A-Za-z0-9._:/+-]+"


class Token(Frozen):
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    def problem(self, code: Code, message: str, *, fix: str = "") -> Problem:
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
    found = islice(_FORBIDDEN.finditer(text), SHOWN_PROBLEMS)
    return [
        Token(match[0], match.start()).problem(
            Code.TEXT,
            f"the character {quoted(match[0])} cannot stand in a line: it is a control "
            "character, a line break or half a character",
        )
        for match in found
    ]


def check_text(text: str, limits: Limits, what: str) -> None:
    """A `ParseError` for a text that is too long, or holds what no line may hold."""
    if is_longer(text, limits.line_bytes):
        message = f"the {what} is longer than {limits.line_bytes} bytes"
        raise ParseError.single(text, Code.LIMIT, message, end=1)
    if problems := forbidden_characters(text):
        raise ParseError(text, problems)


def scan(text: str, problems: list[Problem]) -> tuple[list[Token], list[Modifier]]:
    """The words and the well-formed modifiers of `text`; the rest goes to `problems`."""
    words: list[Token] = []
    modifiers: list[Modifier] = []
    match = TOKEN.search(text)
    while match is not None and len(problems) < SHOWN_PROBLEMS:
        token = Token(match[0], match.start())
        end = match.end()
        if not match[0].startswith("@") or match[0] == REBOOT:
            words.append(token)
        elif match[1] is None:
            problems.append(_malformed(text, token))
            end = problems[-1].end
        elif _has_bare_space(match[2]):
            message = f"there is a space between the parentheses of {quoted('@' + match[1])}"
            fix = "take it out, or put the value between double quotes"
            problems.append(token.problem(Code.MODIFIER_FORM, message, fix=fix))
        else:
            modifiers.append(Modifier(token, match[1], Token(match[2], match.start(2))))
            if glued := _WORD.match(text, end):
                message = f"a space is missing before {quoted(glued[0])}"
                problems.append(Token(glued[0], end).problem(Code.MODIFIER_FORM, message))
                end = glued.end()
        match = TOKEN.search(text, end)
    return words, modifiers


def _has_bare_space(body: str) -> bool:
    return (" " in body or "\t" in body) and not re.fullmatch(_UNSPACED, body)


def is_fuzzy(text: str) -> bool:
    """Whether a schedule begins with a word, as fuzzy ones do, and not with a cron field.

    One letter alone is no word: other crons have H, L and W, which the core refuses. This is not in
    `kron.fuzzy`, so that reading cron does not load that package.
    """
    start = text.lstrip(" \t")[:2]
    return len(start) == 2 and start.isascii() and start.isalpha()


def past_all(piece: re.Pattern[str], text: str, position: int) -> int:
    """Where a row of pieces ends that begins at `position`.

    One by one, because `(?:piece)*+` goes too far in Python before 3.11.5 (CPython 106052) if a
    piece fails half-way, as a string does that is never closed. Where a whole pattern fails then
    anyway, as in `TOKEN`, that does no harm.
    """
    while match := piece.match(text, position):
        position = match.end()
    return position


def written(value: str) -> str:
    """`value` as an argument writes it: bare where that is safe, else in double quotes."""
    return value if re.fullmatch(_PLAIN_VALUE, value) else as_string(value)


def as_string(value: str) -> str:
    """`value` between double quotes, whatever it holds."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def format_number(value: float) -> str:
    """The shortest text that reads back as `value`, without a trailing `.0`."""
    return repr(value).removesuffix(".0")


def written_keys(value: object, keys: Iterable[tuple[str, str]]) -> str:
    """`key=value,key=value` for the fields of a value that are not at their defaults.

    Each key comes with its field. A field that holds a whole number is a duration.
    """
    default = type(value)()
    return ",".join(
        f"{key}={_written_field(getattr(value, field))}"
        for key, field in keys
        if getattr(value, field) != getattr(default, field)
    )


def _written_field(value: bool | int | float | str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return format_duration(value)
    return format_number(value) if isinstance(value, float) else written(value)


def _malformed(text: str, word: Token) -> Problem:
    """What is wrong with a modifier that is not `@name(arguments)`; it covers what to skip."""
    name, parenthesis, _ = word.text.partition("(")
    if fix := shorthand_fix(word.text):
        message = f"{word.text} is a shorthand that schedules do not have"
        return word.problem(Code.CRON_SHORTHAND, message, fix=fix)
    if not parenthesis:
        message = f"the modifier {quoted(word.text)} has no parentheses"
        return word.problem(Code.MODIFIER_FORM, message, fix="write it like @win(after,2h)")
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
