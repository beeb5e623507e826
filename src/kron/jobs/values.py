"""The fields of a krontab line: where they begin, what they say, and all of their problems."""

from __future__ import annotations

import re

from kron.core.errors import (
    SHOWN_PROBLEMS,
    Code,
    ParseError,
    Problem,
    attempt,
    did_you_mean,
    is_showable,
    quoted,
)
from kron.core.frozen import Frozen
from kron.core.tokens import STRING, TOKEN, Token, as_string, past_all
from kron.jobs.defaults import OF_ONE_JOB
from kron.jobs.fields import FIELDS, REPEATABLE, REQUIRED
from kron.jobs.hooks import HOOK_FIELDS, is_url
from kron.jobs.quoting import split_words, unquoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kron.jobs.entry import Entry

_NEXT_FIELD = re.compile(rf'[ \t]*+([^ \t="@]++)=({STRING}|[^ \t"]*+)(?![^ \t])').match
"""`key=value` or `key="value"`, whole, and the spaces before it."""
_STRAY_PIECE = re.compile(rf'[^ \t"]++|{STRING}')
_CHARACTER = re.compile(r"\\?.")
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*+")
_EXAMPLE = 'command="/usr/bin/backup --all"'


class Value(Frozen):
    """A field's value without its quotes, and its position in the line."""

    text: str
    token: Token
    is_quoted: bool

    def placed(self, problem: Problem) -> Problem:
        """A problem of the value at its position in the line, where an escape takes two."""
        if not self.is_quoted:
            return problem.shifted(self.token.start)
        places = [match.start() for match in _CHARACTER.finditer(self.token.text, 1)]
        start, end = (places[min(at, len(places) - 1)] for at in (problem.start, problem.end))
        return problem.replace(start=start, end=end).shifted(self.token.start)


def head_words(text: str) -> tuple[list[Token], int]:
    """The words before the first field that are no modifiers, and where that field begins."""
    words: list[Token] = []
    malformed = 0
    for match in TOKEN.finditer(text):
        if match[0].startswith("@"):
            # Looking for the end of a modifier that has none costs a pass over the line.
            malformed += match[1] is None
            if malformed > SHOWN_PROBLEMS:
                break
        elif "=" in match[0]:
            return words, match.start()
        else:
            words.append(Token(match[0], match.start()))
    return words, len(text)


def field_tokens(text: str) -> dict[str, Token]:
    """The fields of a line that was read without an error, by key; the first of those repeated."""
    _, position = head_words(text)
    found: dict[str, Token] = {}
    while field := _NEXT_FIELD(text, position):
        found.setdefault(field[1], Token(field[0].lstrip(" \t"), field.start(1)))
        position = field.end()
    return found


def place_of(entry: Entry, key: str, lines: list[str]) -> tuple[int, Token]:
    """Where a job has a field from, in the lines of its file: its own line, or its defaults."""
    own = field_tokens(lines[entry.line - 1]).get(key)
    if own is not None:
        return entry.line, own
    assert entry.defaults is not None
    return entry.defaults.line, field_tokens(lines[entry.defaults.line - 1])[key]


def read_fields(
    text: str,
    start: int,
    problems: list[Problem],
    *,
    default_shell: str = "",
    is_defaults: bool = False,
) -> dict[str, Any]:
    """The values by key; `env` is a dict. Errors are added to `problems`."""
    found: dict[str, Value] = {}
    values: dict[str, Any] = {}
    tried: set[str] = set()
    unread = ""
    position = start
    while len(problems) < SHOWN_PROBLEMS:
        field = _NEXT_FIELD(text, position)
        if field is None:
            position = len(text) - len(text[position:].lstrip(" \t"))
            if position == len(text):
                break
            problems.append(_malformed(text, position))
            unread += text[position : problems[-1].end] + " "
            position = max(problems[-1].end, position + 1)
            continue
        position = field.end()
        key = field[1]
        tried.add(key)
        value = _value(Token(field[2], field.start(2)), problems)
        if value is None:
            continue
        if is_defaults and key in OF_ONE_JOB:
            message = f"the field {key} has no default: each job has its own"
            problems.append(Token(key, field.start(1)).problem(Code.FIELD_UNKNOWN, message))
        elif problem := _misplaced(key, field.start(1), value, key in found):
            problems.append(problem)
        else:
            found[key] = value
            _read(key, value, values, problems)
    for required in () if is_defaults else REQUIRED:
        if required not in tried and f"{required}=" not in unread:
            problems.append(_missing(required, text))
    shell = values.get("shell", default_shell)
    if "command" in values:
        values["argv"] = _argv(found["command"], shell, problems)
    for key in HOOK_FIELDS:
        if key in values and not is_url(values[key]):
            _argv(found[key], shell, problems)  # it must split
    return values


def _value(token: Token, problems: list[Problem]) -> Value | None:
    if not token.text.startswith('"'):
        return Value(token.text, token, is_quoted=False)
    plain = attempt(problems, unquoted, token.text, token.start)
    return None if plain is None else Value(plain, token, is_quoted=True)


def _misplaced(key: str, start: int, value: Value, is_repeated: bool) -> Problem | None:
    """Why a field cannot stand here, whatever its value says."""
    if key not in FIELDS:
        if not _KEY.fullmatch(key):
            return stray(Token(f"{key}={value.token.text}", start))
        code, message = Code.FIELD_UNKNOWN, f"unknown field {quoted(key)}"
        fix = did_you_mean(key, FIELDS) or f"the fields are {', '.join(FIELDS)}"
    elif is_repeated and key not in REPEATABLE:
        code, message = Code.FIELD_REPEATED, f"the field {key} is given twice"
        fix = "keep one of them"
    elif not value.text and key != "description":
        code, message = Code.FIELD_VALUE, f"the field {key} is empty"
        fix = f"write it like {key}={FIELDS[key].example}, or leave it out"
    else:
        return None
    return Token(key, start).problem(code, message, fix=fix)


def _read(key: str, value: Value, values: dict[str, Any], problems: list[Problem]) -> None:
    try:
        read = FIELDS[key].read(value.text)
    except ParseError as error:
        problems.extend(map(value.placed, error.problems))
        return
    if key != "env":
        values[key] = read
        return
    variables: dict[str, str] = values.setdefault("env", {})
    if read[0] in variables:
        message = f"the variable {quoted(read[0])} is set twice"
        problems.append(value.token.problem(Code.FIELD_REPEATED, message, fix="keep one of them"))
    variables[read[0]] = read[1]


def _argv(command: Value, shell: str, problems: list[Problem]) -> tuple[str, ...]:
    if shell:
        return (shell, "-c", command.text)
    if not command.is_quoted:
        return (command.text,)
    try:
        words = split_words(command.text)
    except ParseError as error:
        problems.extend(map(command.placed, error.problems))
        return ()
    if not words[0]:
        problems.append(command.token.problem(Code.FIELD_VALUE, "the name of the program is empty"))
    return words


def _malformed(text: str, position: int) -> Problem:
    """The problem with a word that is not a field; it covers the text to skip."""
    end = max(past_all(_STRAY_PIECE, text, position), position + 1)
    word = Token(text[position:end], position)
    if word.text.startswith("#"):
        return stray(Token(text[position:].rstrip(" \t"), position))
    if word.text.startswith("@"):
        message = f"the modifier {quoted(word.text)} comes after a field"
        fix = "modifiers come before the first field"
        return word.problem(Code.FIELD_FORM, message, fix=fix)
    key, equals, value = word.text.partition("=")
    if equals and (text[end : end + 1] == '"' or value == '"'):
        rest = Token(text[position:], position)
        return rest.problem(Code.FIELD_FORM, f"a quote in {quoted(key)} is never closed")
    if equals and '"' in value:
        whole = f"{key}={as_string(value.replace(chr(34), ''))}"
        is_plain = is_showable(whole) and "\\" not in value
        fix = f"write {whole}" if is_plain else "put the whole value between double quotes"
        return word.problem(Code.FIELD_FORM, f"{quoted(value)} is quoted in part", fix=fix)
    return stray(word)


def stray(word: Token) -> Problem:
    message = f"{quoted(word.text)} is not key=value"
    fix = f"a value with spaces goes between double quotes: {_EXAMPLE}"
    if word.text.startswith("#"):
        fix = "write a comment on a separate line"
    return word.problem(Code.FIELD_FORM, message, fix=fix)


def _missing(key: str, text: str) -> Problem:
    message = f"the line has no {key}"
    end = len(text.rstrip(" \t"))
    return Problem(Code.FIELD_MISSING, message, end, end + 1, f"add {key}={FIELDS[key].example}")
