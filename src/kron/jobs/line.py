"""One line of a krontab file: `<schedule> <modifiers> <field>...`, or `defaults: ...`.

`kron.core` reads the schedule's text (`kron.fuzzy`, if it begins with a word); `values` finds
where it ends and reads the fields. All problems of a line are reported together.
"""

from __future__ import annotations

import re

from kron.core.cron import KINDS, REBOOT
from kron.core.errors import (
    SHOWN_PROBLEMS,
    Code,
    KronError,
    ParseError,
    Problem,
    did_you_mean,
    quoted,
)
from kron.core.limits import DEFAULT_LIMITS, Limits
from kron.core.modifiers import Reader
from kron.core.schedule import Schedule
from kron.core.tokens import (
    Modifier,
    Token,
    check_text,
    is_fuzzy,
    scan,
)
from kron.engine.job import check_open_periods
from kron.jobs.defaults import (
    DEFAULTS,
    MOST_VARIABLES,
    NO_DEFAULTS,
    Applied,
    Defaults,
    Part,
)
from kron.jobs.entry import Entry, read_schedule
from kron.jobs.fields import CGROUP_FIELDS, FIELDS, LIMIT_FIELDS
from kron.jobs.hooks import hooks_of
from kron.jobs.quoting import quoted_value
from kron.jobs.slots import SLOTS
from kron.jobs.task import DEFAULT_GRACE_NS, DEFAULT_RETRY_DELAY_NS, Task
from kron.jobs.values import field_tokens, head_words, read_fields, stray

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_FIRST_FIELD = re.compile(r"([ \t])[A-Za-z_][A-Za-z0-9_]*+=").search
_ALIKE = (
    *("command", "argv", "shell", "user", "group", "cwd", "umask", "env_file"),
    *("retries", "slots", "stdout", "stderr", "output_limit", "nice"),
)
"""What a task has as the line says it."""
_IMPORT = "krontab import turns a crontab into krontab lines"


class LineReader:
    """Reads lines. Equal schedules become one value, so that many jobs need little memory."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self.limits = limits
        self._schedules: dict[str, Schedule] = {}
        self._heads: set[str] = set()
        self._applied: dict[tuple[int, frozenset[str]], Applied] = {}
        self._variables = 0

    def read(
        self, text: str, *, path: str, line: int, scope: str, defaults: Defaults = NO_DEFAULTS
    ) -> Entry:
        """The entry of a line (without its line break); a `ParseError` with all of its problems.

        `scope` is what the identity has before the name.
        """
        check_text(text, self.limits, "line")
        problems: list[Problem] = []
        schedule_text, fields_start = self._known_head(text) or _head(text, problems)
        values = read_fields(text, fields_start, problems, default_shell=defaults.shell)
        name, description = values.get("name", ""), values.get("description", "")
        identity = f"{scope}{name or '-'}"
        schedule = self._schedule(schedule_text, identity, problems)
        applied = None
        if defaults.parts and not problems:
            applied = self._apply(defaults, defaults.overridden(values, schedule_text))
            values = self._completed(values, defaults, problems)
        if defaults.policy and not problems:
            schedule_text = defaults.with_policy(schedule_text.rstrip(" \t"))
            schedule = self._schedule(schedule_text, identity, problems)
        if schedule is None and is_fuzzy(text):
            _check_first_word(text)
        if problems or schedule is None:
            problems.sort(key=lambda problem: problem.start)
            raise ParseError(text, problems[:SHOWN_PROBLEMS])
        self._heads.add(text[:fields_start])
        shown, task = schedule_text.strip(" \t"), _task(values)
        return Entry(name, identity, shown, schedule, task, path, line, description, applied)

    def read_defaults(self, text: str, *, line: int) -> Defaults:
        """What a `defaults:` line says; a `ParseError` with all of its problems."""
        check_text(text, self.limits, "line")
        problems: list[Problem] = []
        words, fields_start = head_words(text)
        if not words or words[0].text != DEFAULTS:
            word = _first_word(text)
            message = f"a space is missing after {quoted(DEFAULTS)}"
            raise ParseError(text, [word.problem(Code.FIELD_FORM, message)])
        policy = self._policy_of(text[:fields_start], problems)
        values = read_fields(text, fields_start, problems, is_defaults=True)
        if problems:
            problems.sort(key=lambda problem: problem.start)
            raise ParseError(text, problems[:SHOWN_PROBLEMS])
        parts = [Part(f"@policy {key}", f"@policy({written})") for key, written in policy]
        env: dict[str, str] = values.pop("env", {})
        tokens = field_tokens(text)
        parts += [Part(key, tokens[key].text) for key in values]
        parts += [Part(f"env {name}", f"env={name}") for name in env]
        return Defaults(line, tuple(parts), tuple(values.items()), tuple(env.items()), policy)

    def _policy_of(self, head: str, problems: list[Problem]) -> tuple[tuple[str, str], ...]:
        """The keys of the @policy of a defaults line. No other modifier may stand there."""
        words, modifiers = scan(head, problems)
        problems += map(stray, words[1:])
        policies: list[Modifier] = []
        for modifier in modifiers:
            if modifier.name == "policy" and not policies:
                policies.append(modifier)
                Reader(self.limits, problems).read(modifier)
            elif modifier.name == "policy":
                message = "@policy is given twice"
                problems.append(modifier.token.problem(Code.MODIFIER_REPEATED, message))
            else:
                message = f"{quoted('@' + modifier.name)} has no default: only @policy has one"
                fix = "write it in the line of each job, whose times it may change"
                problems.append(modifier.token.problem(Code.MODIFIER_UNKNOWN, message, fix=fix))
        arguments = [each for policy in policies for each in policy.arguments(",", [])]
        return tuple((each.key or "", each.token.text) for each in arguments)

    def _apply(self, defaults: Defaults, overridden: frozenset[str]) -> Applied:
        """One value for all jobs that have the same from the same line."""
        key = (id(defaults), overridden)  # of an object that the value keeps alive
        if key not in self._applied:
            self._applied[key] = Applied(defaults, overridden)
        return self._applied[key]

    def _completed(
        self, own: dict[str, Any], defaults: Defaults, problems: list[Problem]
    ) -> dict[str, Any]:
        """The values of a line with those of the defaults that it does not set itself."""
        values = {**dict(defaults.values), **own}
        if "env" not in own:
            return {**values, "env": defaults.env}
        if defaults.env:
            values["env"] = {**dict(defaults.env), **own["env"]}
            self._variables += len(values["env"])
            if self._variables > MOST_VARIABLES:
                message = f"the jobs so far have more than {MOST_VARIABLES} variables between them"
                fix = "set fewer by defaults"
                problems.append(Problem(Code.LIMIT, message, 0, 1, fix))
        return values

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
    extra = words if text.split(None, 1)[:1] == [REBOOT] else words[len(KINDS) :]
    if not extra or is_fuzzy(text) or extra[0].text[0] in "*0123456789":
        return head, start  # a fuzzy expression, or a sixth cron field, which its parser reports
    characters = list(head)
    for word in extra:
        characters[word.start : word.end] = " " * len(word.text)
    if start == len(text):
        rest = Token(text[extra[0].start :], extra[0].start)
        message = "this is a line of a crontab: a krontab line has fields, name=... and command=..."
        raise ParseError(text, [rest.problem(Code.FIELD_FORM, message, fix=_IMPORT)])
    problems.append(stray(extra[0]))
    return "".join(characters), start


def _check_first_word(text: str) -> None:
    """A `ParseError` if a line that does not read was meant to be one of defaults or slots."""
    word = _first_word(text)
    if near := did_you_mean(word.text.lower(), [DEFAULTS, SLOTS]):
        message = f"{quoted(word.text)} begins neither a schedule, nor defaults, nor slots"
        raise ParseError(text, [word.problem(Code.UNKNOWN_KEYWORD, message, fix=near)])


def _first_word(text: str) -> Token:
    return Token(text.split(None, 1)[0], len(text) - len(text.lstrip(" \t")))


def _task(values: dict[str, Any]) -> Task:
    alike = {key: values[key] for key in _ALIKE if key in values}
    env = values.get("env", ())
    limits = [(limit, values[key]) for key, limit in LIMIT_FIELDS.items() if key in values]
    cgroup_limits = [(limit, values[key]) for key, limit in CGROUP_FIELDS.items() if key in values]
    return Task(
        env=tuple(env.items()) if isinstance(env, dict) else env,
        timeout_ns=values.get("timeout"),
        grace_ns=values.get("grace", DEFAULT_GRACE_NS),
        retry_delay_ns=values.get("retry_delay", DEFAULT_RETRY_DELAY_NS),
        retry_within_ns=values.get("retry_within"),
        inherits_env=values.get("environment", True),
        limits=tuple(limits),
        cgroup_limits=tuple(cgroup_limits),
        hooks=hooks_of(values),
        **alike,
    )
