"""One line of a krontab file: `<schedule> <modifiers> <field>...`.

`kron.core` reads the schedule's text (`kron.fuzzy`, if it begins with a word); this module finds
where it ends and reads the fields. It reports all problems of a line together.
"""

from __future__ import annotations

import re

from kron.core.cron import KINDS
from kron.core.errors import (
    SHOWN_PROBLEMS,
    Code,
    KronError,
    ParseError,
    Problem,
    attempt,
    did_you_mean,
    is_showable,
    quoted,
)
from kron.core.frozen import Frozen
from kron.core.limits import DEFAULT_LIMITS, Limits
from kron.core.schedule import Schedule
from kron.core.tokens import STRING, TOKEN, Token, as_string, check_text, is_fuzzy, past_all
from kron.engine.job import check_open_periods
from kron.jobs.entry import Entry, read_schedule
from kron.jobs.fields import FIELDS, LIMIT_FIELDS, REPEATABLE, REQUIRED
from kron.jobs.quoting import quoted_value, split_words, unquoted
from kron.jobs.task import DEFAULT_GRACE_NS, Task

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NEXT_FIELD = re.compile(rf'[ \t]*+([^ \t="@]++)=({STRING}|[^ \t"]*+)(?![^ \t])').match
"""`key=value` or `key="value"`, whole, and the spaces before it."""
_STRAY_PIECE = re.compile(rf'[^ \t"]++|{STRING}')
_CHARACTER = re.compile(r"\\?.")
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*+")
_FIRST_FIELD = re.compile(r"([ \t])[A-Za-z_][A-Za-z0-9_]*+=").search
_ALIKE = (
    *("command", "argv", "shell", "user", "group", "cwd", "umask", "env_file"),
    *("stdout", "stderr", "nice"),
)
"""What a task has as the line says it."""
_EXAMPLE = 'command="/usr/bin/backup --all"'
_IMPORT = "krontab import turns a crontab into krontab lines"


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


class LineReader:
    """Reads lines. Equal schedules become one value, so that many jobs need little memory."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self.limits = limits
        self._schedules: dict[str, Schedule] = {}
        self._heads: set[str] = set()

    def read(self, text: str, *, path: str, line: int, scope: str) -> Entry:
        """The entry of a line (without its line break); a `ParseError` with all of its problems.

        `scope` is what the identity has before the name.
        """
        check_text(text, self.limits, "line")
        problems: list[Problem] = []
        schedule_text, fields_start = self._known_head(text) or _head(text, problems)
        values = _fields(text, fields_start, problems)
        name, description = values.get("name", ""), values.get("description", "")
        identity = f"{scope}{name or '-'}"
        schedule = self._schedule(schedule_text, identity, problems)
        if problems or schedule is None:
            problems.sort(key=lambda problem: problem.start)
            raise ParseError(text, problems[:SHOWN_PROBLEMS])
        self._heads.add(schedule_text)
        shown, task = schedule_text.strip(" \t"), _task(values)
        return Entry(name, identity, shown, schedule, task, path, line, description)

    def _known_head(self, text: str) -> tuple[str, int] | None:
        """The schedule's part, if an earlier line had the same: it is not split again.

        That line was valid, so its modifiers were closed, and no token here can go beyond them.
        """
        field = _FIRST_FIELD(text)
        if field is None or (head := text[: field.end(1)]) not in self._heads:
            return None
        return head, len(head)

    def _schedule(self, text: str, identity: str, problems: list[Problem]) -> Schedule | None:
        key = text.strip(" \t")
        if known := self._schedules.get(key):
            return known
        try:
            schedule = read_schedule(text, identity, self.limits)
            check_open_periods(schedule, "this job")
        except ParseError as error:
            problems.extend(error.problems)
            return None
        except KronError as error:
            problems.append(Problem(error.code, error.message, 0, len(text), error.fix))
            return None
        if not is_fuzzy(text):  # which depends on the identity
            self._schedules[key] = schedule
        return schedule


def compose(schedule_text: str, fields: list[tuple[str, str]]) -> str:
    """A line made from its parts, the fields in the order of `FIELDS`.

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
    line, and blanked out, so that the schedule's own problems keep their positions.
    """
    words, start = head_words(text)
    head = text[:start]
    if head and head[-1] not in " \t" and start < len(text):
        field = Token(text[start:].split(None, 1)[0], start)
        message = f"a space is missing before {quoted(field.text)}"
        problems.append(field.problem(Code.MODIFIER_FORM, message))
    extra = words[len(KINDS) :]
    if not extra or is_fuzzy(text) or extra[0].text[0] in "*0123456789":
        return head, start  # a fuzzy expression, or a sixth cron field, which its parser reports
    characters = list(head)
    for word in extra:
        characters[word.start : word.end] = " " * len(word.text)
    if start == len(text):
        rest = Token(text[extra[0].start :], extra[0].start)
        message = "this is a line of a crontab: a krontab line has fields, name=... and command=..."
        raise ParseError(text, [rest.problem(Code.FIELD_FORM, message, fix=_IMPORT)])
    problems.append(_stray(extra[0]))
    return "".join(characters), start


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


def _fields(text: str, start: int, problems: list[Problem]) -> dict[str, Any]:
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
        if problem := _misplaced(key, field.start(1), value, key in found):
            problems.append(problem)
        else:
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
    plain = attempt(problems, unquoted, token.text, token.start)
    return None if plain is None else Value(plain, token, is_quoted=True)


def _misplaced(key: str, start: int, value: Value, is_repeated: bool) -> Problem | None:
    """Why a field cannot stand here, whatever its value says."""
    if key not in FIELDS:
        if not _KEY.fullmatch(key):
            return _stray(Token(f"{key}={value.token.text}", start))
        known = ", ".join(FIELDS)
        code, message = Code.FIELD_UNKNOWN, f"unknown field {quoted(key)}: they are {known}"
        fix = did_you_mean(key, FIELDS)
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


def _task(values: dict[str, Any]) -> Task:
    alike = {key: values[key] for key in _ALIKE if key in values}
    limits = [(limit, values[key]) for key, limit in LIMIT_FIELDS.items() if key in values]
    return Task(
        env=tuple(values.get("env", {}).items()),
        timeout_ns=values.get("timeout"),
        grace_ns=values.get("grace", DEFAULT_GRACE_NS),
        inherits_env=values.get("environment", True),
        limits=tuple(limits),
        **alike,
    )


def _malformed(text: str, position: int) -> Problem:
    """The problem with a word that is not a field; it covers the text to skip."""
    end = max(past_all(_STRAY_PIECE, text, position), position + 1)
    word = Token(text[position:end], position)
    if word.text.startswith("#"):
        return _stray(Token(text[position:].rstrip(" \t"), position))
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
    return _stray(word)


def _stray(word: Token) -> Problem:
    message = f"{quoted(word.text)} is not key=value"
    fix = f"a value with spaces goes between double quotes: {_EXAMPLE}"
    if word.text.startswith("#"):
        fix = "write a comment on a separate line"
    return word.problem(Code.FIELD_FORM, message, fix=fix)


def _missing(key: str, text: str) -> Problem:
    message = f"the line has no {key}"
    end = len(text.rstrip(" \t"))
    return Problem(Code.FIELD_MISSING, message, end, end + 1, f"add {key}={FIELDS[key].example}")
