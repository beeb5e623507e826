"""Fields that only say how, and need another one that says that: `retry_delay` needs `retries`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kron.core.frozen import Frozen
from kron.jobs.document import Document
from kron.jobs.entry import Entry
from kron.jobs.fields import FIELDS
from kron.jobs.finding import Finding, Severity
from kron.jobs.task import Task
from kron.jobs.values import field_tokens
from kron.lint.remark import Advice


class _Rule(Frozen):
    advice: Advice
    keys: tuple[str, ...]
    needed: str
    """The field that they need."""
    is_met: Callable[[Task], bool]


_RULES = (
    _Rule(
        Advice.RETRIES_MISSING,
        ("retry_delay", "retry_within"),
        "retries",
        lambda task: task.retries > 0,
    ),
    _Rule(
        Advice.MAIL_MISSING,
        ("mail_on", "mail_from"),
        "mail",
        lambda task: task.hooks is not None and task.hooks.mail is not None,
    ),
)


def companion_findings(document: Document, lines: list[str]) -> Iterator[Finding]:
    """A field of a job that lacks the other one; of defaults, if every job that has it does."""
    for rule in _RULES:
        for key in rule.keys:
            users: dict[int, list[Entry]] = {}
            for entry in document.entries:
                if number := _line_of(entry, key, lines):
                    users.setdefault(number, []).append(entry)
            for number, entries in users.items():
                if not any(rule.is_met(entry.task) for entry in entries):
                    is_said = any(_line_of(entry, rule.needed, lines) for entry in entries)
                    is_own = number == entries[0].line
                    message, fix = _wording(key, rule.needed, is_said=is_said, is_own=is_own)
                    text = lines[number - 1]
                    token = field_tokens(text)[key]
                    where = (document.path, number, token.start, token.end, fix, text)
                    yield Finding(Severity.WARNING, rule.advice, message, *where)


def _wording(key: str, needed: str, *, is_said: bool, is_own: bool) -> tuple[str, str]:
    """The message and the fix. `is_said`: the needed field is there, with 0 as its value."""
    if not is_said:
        fix = f"add {needed}={FIELDS[needed].example}, or remove {key}"
        return f"{key} has no effect without {needed}", fix
    which = "" if is_own else " in every job with these defaults"
    return f"{key} has no effect: {needed} is 0{which}", f"raise {needed}, or remove {key}"


def _line_of(entry: Entry, key: str, lines: list[str]) -> int:
    """The line from which a job has a field: its own, or its defaults; 0 if it has none."""
    own = lines[entry.line - 1]
    if f"{key}=" in own and key in field_tokens(own):
        return entry.line
    return entry.defaults.line if entry.defaults and key in entry.defaults.defaults.keys else 0
