"""From the text of a schedule to the schedule, or to all problems of the text together."""

from __future__ import annotations

from functools import partial

from kron.core.constraint import Constraints
from kron.core.cron import AT_BOOT, KINDS, REBOOT, Cron, Field, parse_field
from kron.core.errors import (
    SHOWN_PROBLEMS,
    Code,
    ParseError,
    Problem,
    attempt,
    did_you_mean,
    quoted,
)
from kron.core.limits import DEFAULT_LIMITS, Limits
from kron.core.modifiers import CLAUSED, FORMS, Reader
from kron.core.schedule import Schedule
from kron.core.tokens import Modifier, Token, check_text, scan

_PLAIN = f"leave it out: a job with {REBOOT} runs at once, and has no modifier but @policy"


def parse_schedule(text: str, limits: Limits = DEFAULT_LIMITS) -> Schedule:
    """The schedule that `text` says; a `ParseError` that lists all of its problems otherwise."""
    check_text(text, limits, "schedule")
    problems: list[Problem] = []
    words, found = scan(text, problems)
    modifiers = _each_once(found, problems)
    cron = _cron(text, words, problems)
    schedule = _schedule(cron, modifiers, Reader(limits, problems))
    if cron is AT_BOOT:
        problems += _of_clocks(modifiers)
    elif schedule is not None and schedule.nominals.wall.days.is_empty:
        message = "no day of any year matches this day of month, month and day of week"
        problems.append(Problem(Code.CRON_NEVER, message, words[0].start, words[4].end))
    if problems or schedule is None:
        problems.sort(key=lambda problem: problem.start)
        raise ParseError(text, problems[:SHOWN_PROBLEMS])
    return schedule


def _each_once(found: list[Modifier], problems: list[Problem]) -> dict[str, Modifier]:
    modifiers: dict[str, Modifier] = {}
    for modifier in found:
        name = modifier.name
        if name not in FORMS:
            message = f"unknown modifier {quoted('@' + name)}: they are @{', @'.join(FORMS)}"
            fix = did_you_mean(name, FORMS)
            problems.append(modifier.token.problem(Code.MODIFIER_UNKNOWN, message, fix=fix))
        elif name in modifiers:
            # Two @only could mean "and" as well as "or", so they are not merged either.
            fix = "put all clauses into one, with ; between them" if name in CLAUSED else ""
            message = f"@{name} is given twice"
            problems.append(modifier.token.problem(Code.MODIFIER_REPEATED, message, fix=fix))
        else:
            modifiers[name] = modifier
        if len(problems) >= SHOWN_PROBLEMS:
            break
    return modifiers


def _cron(text: str, words: list[Token], problems: list[Problem]) -> Cron | None:
    if len(problems) >= SHOWN_PROBLEMS:
        return None  # not all of the words have been read
    if [word.text for word in words] == [REBOOT]:
        return AT_BOOT
    if len(words) == len(KINDS):
        fields: list[Field] = []
        for kind, word in zip(KINDS, words, strict=True):
            if field := attempt(problems, partial(parse_field, kind), word.text, word.start):
                fields.append(field)
        return Cron(*fields) if len(fields) == len(KINDS) else None
    if not any(problem.code is Code.CRON_SHORTHAND for problem in problems):
        problems.append(_field_count_problem(text, words))
    return None


def _of_clocks(modifiers: dict[str, Modifier]) -> list[Problem]:
    """The modifiers that mean nothing, or not what they say, for a job that no clock starts."""
    return [
        modifier.token.problem(Code.MODIFIER_FORM, f"@{name} does not go with {REBOOT}", fix=_PLAIN)
        for name, modifier in modifiers.items()
        if name != "policy"
    ]


def _field_count_problem(text: str, words: list[Token]) -> Problem:
    for word in words:
        if word.text == REBOOT:
            message = f"{REBOOT} stands alone, in the place of the five fields"
            return word.problem(Code.CRON_FIELD_COUNT, message)
    rule = "a schedule begins with five fields: minute, hour, day of month, month, day of week"
    if len(words) > len(KINDS):
        extra = words[len(KINDS)]
        fix = "leave the field for seconds out" if len(words) == len(KINDS) + 1 else ""
        message = f"{quoted(extra.text)} is more than the five fields of a cron expression"
        return extra.problem(Code.CRON_FIELD_COUNT, message, fix=fix)
    start, end = (words[0].start, words[-1].end) if words else (0, len(text))
    return Problem(Code.CRON_FIELD_COUNT, f"{rule}; here are {len(words) or 'none'}", start, end)


def _schedule(cron: Cron | None, modifiers: dict[str, Modifier], reader: Reader) -> Schedule | None:
    """Every modifier is read, also when another one or the cron expression is wrong."""
    read = {FORMS[name].field: reader.read(modifier) for name, modifier in modifiers.items()}
    values = {field: value for field, value in read.items() if value is not None}
    if clauses := {name: values.pop(name) for name in CLAUSED if name in values}:
        values["constraints"] = Constraints(**clauses)
    return None if cron is None else Schedule(cron, **values)
