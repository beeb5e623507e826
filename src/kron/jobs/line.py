"""One line of a krontab file: `<schedule> <modifiers> <field>...`, read whole or not at all.

The schedule's own text is read by `kron.core` (or `kron.fuzzy`, if it begins with a word); this
module finds where it ends and reads the fields. Every problem of a line is told at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from kron.core.cron import KINDS
from kron.core.errors import (
    SHOWN_PROBLEMS,
    Code,
    KronError,
    ParseError,
    Problem,
    did_you_mean,
    is_showable,
    quoted,
)
from kron.core.frozen import Frozen
from kron.core.limits import DEFAULT_LIMITS, Limits, is_longer
from kron.core.tokens import Token, forbidden_characters, is_fuzzy, past_all
from kron.engine.job import check_open_periods
from kron.jobs.entry import Entry, read_schedule
from kron.jobs.fields import FIELDS, LIMIT_FIELDS, REPEATABLE, REQUIRED
from kron.jobs.quoting import STRING, as_string, quoted_value, split_words, unquoted
from kron.jobs.task import DEFAULT_GRACE_NS, DEFAULT_SHELL, Output, Task

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kron.core.schedule import Schedule

TOKEN = re.compile(rf'@([^ \t"()]*+)\((?:[^"()]|{STRING})*+\)|[^ \t]++')
"""A modifier, which may hold quoted spaces, or a word."""
FIELD = re.compile(rf'([^ \t="@]++)=({STRING}|[^ \t"]*+)(?![^ \t])')
"""`key=value` or `key="value"`, whole."""
_NEXT_FIELD = re.compile(rf"[ \t]*+{FIELD.pattern}").match
_STRAY_PIECE = re.compile(rf'[^ \t"]++|{STRING}')
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*+")
_FIRST_FIELD = re.compile(r"([ \t])[A-Za-z_][A-Za-z0-9_]*+=").search
_INHERITED = Output()
_EXAMPLE = 'command="/usr/bin/backup --all"'
_IMPORT = "krontab import turns a crontab into krontab lines"

Identify = Callable[[str], str]
"""From a job's name to its identity."""


class Value(Frozen):
    """A field's value without its quotes, and where it stands in the line."""

    text: str
    token: Token
    is_quoted: bool

    def placed(self, problem: Problem) -> Problem:
        """A problem of the value, seen from the line. An escape takes two characters there."""
        if not self.is_quoted:
            return problem.shifted(self.token.start)
        places = _places(self.token.text)
        start = places[min(problem.start, len(places) - 1)]
        end = places[min(problem.end, len(places) - 1)]
        return problem.replace(start=self.token.start + start, end=self.token.start + end)


class LineReader:
    """Reads lines. Equal schedules become one value, so that a fleet stays small in memory."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self._limits = limits
        self._schedules: dict[str, Schedule] = {}
        self._heads: set[str] = set()

    def read(self, text: str, *, path: str, line: int, identify: Identify) -> Entry:
        """The entry that a line (without its line break) says; a `ParseError` otherwise."""
        if is_longer(text, self._limits.line_bytes):
            message = f"the line is longer than {self._limits.line_bytes} bytes"
            raise ParseError.single(text, Code.LIMIT, message, end=1)
        problems = forbidden_characters(text)
        if problems:
            raise ParseError(text, problems)
        schedule_text, fields_start = self._known_head(text) or _head(text, problems)
        values = _fields(text, fields_start, problems)
        name = values["name"] if isinstance(values.get("name"), str) else ""
        identity = identify(name or "-")
        schedule = self._schedule(schedule_text, identity, problems)
        task = _task(values, problems)
        if problems or schedule is None or task is None:
            problems.sort(key=lambda problem: problem.start)
            raise ParseError(text, problems[:SHOWN_PROBLEMS])
        self._heads.add(schedule_text)
        description = values.get("description", "")
        return Entry(
            name, identity, schedule_text.strip(" \t"), schedule, task, path, line, description
        )

    def _known_head(self, text: str) -> tuple[str, int] | None:
        """The schedule's part, if it is that of a line before: it need not be taken apart again.

        That line was right, so its modifiers were closed, and no token can go beyond them here.
        """
        field = _FIRST_FIELD(text)
        if field is None or (head := text[: field.end(1)]) not in self._heads:
            return None
        return head, len(head)

    def _schedule(self, text: str, identity: str, problems: list[Problem]) -> Schedule | None:
        try:
            return self._parsed(text, identity)
        except ParseError as error:
            problems.extend(error.problems)
        except KronError as error:
            problems.append(Problem(error.code, error.message, 0, len(text), error.fix))
        return None

    def _parsed(self, text: str, identity: str) -> Schedule:
        key = text.strip(" \t")
        schedule = self._schedules.get(key)
        if schedule is None:
            schedule = read_schedule(text, identity, self._limits)
            check_open_periods(schedule, "this job")
            if not is_fuzzy(text):  # which depends on the identity
                self._schedules[key] = schedule
        return schedule


def compose(schedule_text: str, fields: list[tuple[str, str]]) -> str:
    """A line from its parts, the fields in the order of `FIELDS`.

    A command is quoted unless it is one plain word: quoted, it is split into words.
    """
    order = {key: place for place, key in enumerate(FIELDS)}
    written = [
        f"{key}={quoted_value(value)}"
        for key, value in sorted(fields, key=lambda field: order.get(field[0], len(order)))
    ]
    return " ".join([schedule_text.strip(" \t"), *written])


def _head(text: str, problems: list[Problem]) -> tuple[str, int]:
    """The schedule's part of the line and where the fields begin.

    Words beyond the five of a cron expression are reported here, as what they are in a krontab
    line, and blanked out, so that the schedule's own problems keep their places.
    """
    words: list[Token] = []
    start = len(text)
    malformed = 0
    for match in TOKEN.finditer(text):
        token = Token(match[0], match.start())
        if token.text.startswith("@"):
            # Looking for the end of a modifier that has none costs a pass over the line.
            malformed += not token.text.endswith(")")
            if malformed > SHOWN_PROBLEMS:
                break
            continue
        if "=" in token.text:
            start = token.start
            break
        words.append(token)
    head = text[:start]
    if head and head[-1] not in " \t" and start < len(text):
        field = Token(text[start:].split(None, 1)[0], start)
        message = f"a space is missing before {quoted(field.text)}"
        problems.append(field.problem(Code.MODIFIER_FORM, message))
    extra = words[len(KINDS) :]
    if not extra or is_fuzzy(text) or extra[0].text[0] in "*0123456789":
        return head, start  # a fuzzy expression, or a sixth cron field: its parser will say so
    characters = list(head)
    for word in extra:
        characters[word.start : word.end] = " " * len(word.text)
    if start == len(text):
        rest = Token(text[extra[0].start :], extra[0].start)
        message = "this is a line of a crontab: a krontab line has fields, name=... and command=..."
        raise ParseError(text, [rest.problem(Code.FIELD_FORM, message, fix=_IMPORT)])
    problems.append(_stray(extra[0]))
    return "".join(characters), start


def _fields(text: str, start: int, problems: list[Problem]) -> dict[str, Any]:
    """The values by key, each read; `env` as a dict. What is wrong goes to `problems`."""
    found: dict[str, Value] = {}
    values: dict[str, Any] = {}
    tried: set[str] = set()
    unread = ""
    position = start
    while len(problems) < SHOWN_PROBLEMS:
        field = _NEXT_FIELD(text, position)
        if field is None:
            position = _after_spaces(text, position)
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
        if value is not None and _may_stand(key, field.start(1), value, found, problems):
            found[key] = value
            _read(key, value, values, problems)
    for required in REQUIRED:
        if required not in tried and f"{required}=" not in unread:
            problems.append(_missing(required, text))
    if "command" in values:
        values["argv"] = _argv(found["command"], values.get("shell", ""), problems)
    return values


def _value(token: Token, problems: list[Problem]) -> Value | None:
    if not token.text.startswith('"'):
        return Value(token.text, token, is_quoted=False)
    try:
        return Value(unquoted(token.text), token, is_quoted=True)
    except ParseError as error:
        problems.extend(problem.shifted(token.start) for problem in error.problems)
        return None


def _may_stand(
    name: str, start: int, value: Value, found: dict[str, Value], problems: list[Problem]
) -> bool:
    if name in FIELDS and name not in found and value.text:
        return True
    key = Token(name, start)
    if key.text not in FIELDS:
        if not _KEY.fullmatch(key.text):
            problems.append(_stray(Token(f"{key.text}={value.token.text}", key.start)))
            return False
        message = f"unknown field {quoted(key.text)}: they are {', '.join(FIELDS)}"
        fix = did_you_mean(key.text, FIELDS)
        problems.append(key.problem(Code.FIELD_UNKNOWN, message, fix=fix))
        return False
    if key.text in found and key.text not in REPEATABLE:
        message = f"the field {key.text} is given twice"
        problems.append(key.problem(Code.FIELD_REPEATED, message, fix="keep one of them"))
        return False
    if not value.text and key.text != "description":
        message = f"the field {key.text} is empty"
        example = f"write it like {key.text}={FIELDS[key.text].example}, or leave it out"
        problems.append(key.problem(Code.FIELD_VALUE, message, fix=example))
        return False
    return True


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
        return (DEFAULT_SHELL if shell == "true" else shell, "-c", command.text)
    if not command.is_quoted:
        return (command.text,)
    try:
        words = split_words(command.text)
    except ParseError as error:
        problems.extend(map(command.placed, error.problems))
        return ()
    if not words[0]:
        message = "the name of the program is empty"
        problems.append(command.token.problem(Code.FIELD_VALUE, message))
    return words


def _task(values: dict[str, Any], problems: list[Problem]) -> Task | None:
    if problems:
        return None
    shell = values.get("shell", "")
    return Task(
        command=values["command"],
        argv=values["argv"],
        shell=DEFAULT_SHELL if shell == "true" else shell,
        user=values.get("user", ""),
        group=values.get("group", ""),
        cwd=values.get("cwd", ""),
        umask=values.get("umask"),
        env=tuple(values.get("env", {}).items()),
        timeout_ns=values.get("timeout"),
        grace_ns=values.get("grace", DEFAULT_GRACE_NS),
        stdout=values.get("stdout", _INHERITED),
        stderr=values.get("stderr", _INHERITED),
        limits=tuple(
            [(resource, values[key]) for key, resource in LIMIT_FIELDS.items() if key in values]
        ),
        nice=values.get("nice"),
    )


def _malformed(text: str, position: int) -> Problem:
    """What is wrong with a word that is no field; it covers what to skip."""
    end = max(past_all(_STRAY_PIECE, text, position), position + 1)
    word = Token(text[position:end], position)
    if word.text.startswith("#"):
        return _stray(Token(text[position:].rstrip(" \t"), position))
    if word.text.startswith("@"):
        message = f"the modifier {quoted(word.text)} stands behind a field"
        fix = "modifiers come before the first field"
        return word.problem(Code.FIELD_FORM, message, fix=fix)
    key, equals, value = word.text.partition("=")
    if equals and (text[end : end + 1] == '"' or value == '"'):
        rest = Token(text[position:], position)
        return rest.problem(Code.FIELD_FORM, f"a quote in {quoted(key)} is never closed")
    if equals and '"' in value:
        message = f"{quoted(value)} is quoted in part"
        whole = f"{key}={as_string(value.replace(chr(34), ''))}"
        fix = "put the whole value between double quotes"
        fix = f"write {whole}" if is_showable(whole) else fix
        return word.problem(Code.FIELD_FORM, message, fix=fix)
    return _stray(word)


def place_of(key: str, text: str) -> Token:
    """Where a field stands in a line that has been read."""
    _, position = _head(text, [])
    while field := FIELD.match(text, _after_spaces(text, position)):
        if field[1] == key:
            return Token(field[0], field.start())
        position = field.end()
    return Token(text, 0)


def _stray(word: Token) -> Problem:
    message = f"{quoted(word.text)} is not key=value"
    fix = f"a value with spaces goes between double quotes: {_EXAMPLE}"
    if word.text.startswith("#"):
        fix = "a comment has a line of its own"
    return word.problem(Code.FIELD_FORM, message, fix=fix)


def _missing(key: str, text: str) -> Problem:
    message = f"the line has no {key}"
    end = len(text.rstrip(" \t"))
    return Problem(Code.FIELD_MISSING, message, end, end + 1, f"add {key}={FIELDS[key].example}")


def _places(string: str) -> list[int]:
    """Where each character of a quoted value stands, in the text with its quotes and escapes."""
    places: list[int] = []
    position = 1
    while position < len(string) - 1:
        places.append(position)
        position += 2 if string[position] == "\\" else 1
    places.append(position)
    return places


def _after_spaces(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t":
        position += 1
    return position
