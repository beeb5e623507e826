"""The text of a schedule whose baseline may be a fuzzy expression instead of five cron fields.

`daily between 9:00 and 17:00 @win(after,10m)` is scattered with the identity of its job, and is
then an ordinary schedule. Text that begins with cron fields goes to the core as it is.
"""

from __future__ import annotations

import re
from functools import partial

from kron.core import parser
from kron.core.errors import SHOWN_PROBLEMS, Code, ParseError, Problem, attempt, quoted
from kron.core.frozen import Frozen
from kron.core.limits import DEFAULT_LIMITS, Limits
from kron.core.schedule import Schedule
from kron.core.tokens import check_text, is_fuzzy, scan
from kron.fuzzy.expression import Expression, parse
from kron.fuzzy.problem import FuzzyProblem
from kron.fuzzy.scatter import scattered

_FIRST_MODIFIER = re.compile(r"(?<![^ \t])@")
_ANY_CRON = "0 0 * * *"
_ROOM_FOR_CRON = 64


class Baseline(Frozen):
    """A schedule, and what its fuzzy baseline was; None where it was written in cron fields."""

    schedule: Schedule
    expression: Expression | None = None
    warnings: tuple[FuzzyProblem, ...] = ()


def parse_schedule(text: str, *, identity: str, limits: Limits = DEFAULT_LIMITS) -> Schedule:
    """The schedule that `text` says; a `ParseError` that lists all of its problems otherwise."""
    return read_baseline(text, identity=identity, limits=limits).schedule


def read_baseline(text: str, *, identity: str, limits: Limits = DEFAULT_LIMITS) -> Baseline:
    """The same, with the expression and the warnings of a fuzzy baseline."""
    if not is_fuzzy(text):
        return Baseline(parser.parse_schedule(text, limits))
    check_text(text, limits, "schedule")
    problems: list[Problem] = []
    modifier = _FIRST_MODIFIER.search(text)
    end = modifier.start() if modifier else len(text)
    expression = attempt(problems, parse, text[:end])
    result = scattered(expression, identity) if expression else None
    modifiers = _modifiers(" " * end + text[end:], problems)[end:]
    cron = result.cron if result else _ANY_CRON  # a bad expression hides no bad modifier
    roomy = limits.replace(line_bytes=limits.line_bytes + _ROOM_FOR_CRON)
    read = partial(parser.parse_schedule, limits=roomy)
    schedule = attempt(problems, read, f"{cron} {modifiers}", end - len(cron) - 1)
    if problems or schedule is None or result is None:
        problems.sort(key=lambda problem: problem.start)
        raise ParseError(text, problems[:SHOWN_PROBLEMS])
    return Baseline(schedule, expression, result.warnings)


def _modifiers(text: str, problems: list[Problem]) -> str:
    """The text with blanks where something other than a modifier was."""
    words, modifiers = scan(text, [])  # what is malformed the core will say
    zone = next((modifier.token for modifier in modifiers if modifier.name == "tz"), None)
    if zone:
        message = f"{quoted(zone.text)} cannot stand beside a fuzzy schedule"
        rule = f"{message}: its times are in UTC, or carry their own offset"
        fix = "leave it out and write the offset after the time: daily around 14:00 utc+9"
        problems.append(zone.problem(Code.FUZZY_WITH_TZ, rule, fix=fix))
    for word in words[:1]:
        message = f"{quoted(word.text)} stands after a modifier"
        fix = "put the whole fuzzy schedule before the modifiers"
        place = word.start, word.end
        problems.append(FuzzyProblem(Code.UNSUPPORTED_SYNTAX, message, *place, fix=fix))
    characters = list(text)
    for word in words:
        characters[word.start : word.end] = " " * len(word.text)
    return "".join(characters)
