"""The schedule in a slot: fuzzy, compiled from a fuzzy one, or plain cron.

A fuzzy schedule is resolved with the identifier of its file. If a file has the same one several
times, `#2`, `#3` and so on are added to the identifier for the others: otherwise all of them would
run in the same minute.
"""

from __future__ import annotations

import re
from collections import Counter

from kron.core.cron import KINDS
from kron.core.errors import Code, ParseError, Problem, quoted
from kron.core.frozen import Frozen
from kron.core.parser import parse_schedule
from kron.core.schedule import Schedule
from kron.core.zone import load_zone
from kron.fuzzy import is_fuzzy, scattered
from kron.fuzzy.placeholder import write_placeholder
from kron.fuzzy.scatter import pattern_of
from kron.jobs.finding import Severity
from kron.krontab.workflows.remark import FuzzyRemark, FuzzyWords
from kron.krontab.workflows.slot import Slot
from kron.krontab.workflows.source import WorkflowCode, WorkflowSource

_UTC_NAMES = ("UTC", "Etc/UTC")
_OPEN_STEP = re.compile(r"(?<![^,])([0-9A-Za-z]++)/(?=[0-9])")


class WorkflowSchedule(Frozen):
    slot: Slot
    words: FuzzyWords | None
    """None for plain cron."""
    cron: str
    """The five fields that belong in the slot."""
    schedule: Schedule
    identifier: str = ""
    """What it was scattered by; empty for plain cron."""

    @property
    def expression(self) -> str:
        """The fuzzy schedule on one line; empty for plain cron."""
        return self.words.expression if self.words else ""

    @property
    def is_current(self) -> bool:
        if self.slot.is_bare or (self.words and not self.words.in_remark):
            return False
        return " ".join(self.slot.node.value.split()) == self.cron


def words_of_line(
    source: WorkflowSource, slots: list[Slot], remark: FuzzyRemark | None
) -> dict[int, FuzzyWords | None]:
    """The words of each slot of a line: in the slot or, if it has cron, in the remark."""
    nothing: list[FuzzyWords | None] = [None] * len(slots)
    said = nothing if remark is None or remark.said is None else list(remark.said)
    if len(said) != len(slots):
        if remark is not None and not all(is_fuzzy(slot.node.value) for slot in slots):
            message = (
                f"the remark names {len(said)} fuzzy schedules, and the line has "
                f"{len(slots)} cron expressions"
            )
            fix = "name one for each, separated by ;, and - for plain cron"
            source.report(WorkflowCode.COMMENT, message, remark.start, remark.end, fix)
        said = nothing
    return {
        slot.node.order: _words_in(source, slot) if is_fuzzy(slot.node.value) else words
        for slot, words in zip(slots, said, strict=True)
    }


def _words_in(source: WorkflowSource, slot: Slot) -> FuzzyWords:
    """The value of a slot; all of the slot if the text does not have it letter by letter."""
    value = slot.node.value
    start = slot.start + (1 if slot.node.style in ("'", '"') else 0)
    if slot.is_block or not source.text.startswith(value, start):
        return FuzzyWords(value, slot.start, slot.end, is_verbatim=False)
    return FuzzyWords(value, start, start + len(value))


def resolve(
    source: WorkflowSource, slots: list[Slot], words: dict[int, FuzzyWords | None], identifier: str
) -> list[WorkflowSchedule]:
    """Every schedule of a file; errors are reported."""
    seen: Counter[str] = Counter()
    resolved = [
        _fuzzy(source, slot, said, identifier, seen)
        if (said := words[slot.node.order])
        else _plain(source, slot)
        for slot in slots
    ]
    return [each for each in resolved if each is not None]


def _fuzzy(
    source: WorkflowSource, slot: Slot, words: FuzzyWords, identifier: str, seen: Counter[str]
) -> WorkflowSchedule | None:
    text = words.text.strip()
    try:
        placeholder = write_placeholder(pattern_of(text))
        seen[placeholder] += 1
        count = seen[placeholder]
        own = identifier if count == 1 else f"{identifier}#{count}"
        result = scattered(text, own)
    except ParseError as error:
        _report_words(source, words, error.problems, Severity.ERROR)
        return None
    if slot.zone and slot.zone not in _UTC_NAMES:
        message = f"a fuzzy schedule is in UTC, so it cannot have the timezone {quoted(slot.zone)}"
        fix = "delete it and write the offset after the time: daily around 14:00 utc+9"
        source.report(Code.FUZZY_WITH_TZ, message, slot.zone_start, slot.zone_end, fix)
        return None
    _report_words(source, words, result.warnings, Severity.WARNING)
    return WorkflowSchedule(slot, words, result.cron, parse_schedule(result.cron), own)


def _report_words(
    source: WorkflowSource, words: FuzzyWords, problems: tuple[Problem, ...], severity: Severity
) -> None:
    """Report problems of the words without the blanks around them."""
    base = words.start + len(words.text) - len(words.text.lstrip())
    for problem in problems:
        start, end = words.start, words.end
        if words.is_verbatim:
            start, end = base + problem.start, base + problem.end
        source.report(problem.code, problem.message, start, end, problem.fix, severity=severity)


def _plain(source: WorkflowSource, slot: Slot) -> WorkflowSchedule | None:
    """Plain cron is not changed, but it must be valid."""
    value = slot.node.value
    if "@" in value:
        message = f"{quoted(value)} is not five cron fields, and GitHub reads nothing else"
        fix = "write five fields, or a fuzzy schedule such as daily"
        source.report(WorkflowCode.FORM, message, slot.start, slot.end, fix)
        return None
    schedule = _cron(source, slot)
    if schedule is None:
        return None
    try:
        schedule = schedule.replace(zone=load_zone(slot.zone)) if slot.zone else schedule
    except ParseError as error:
        source.report(error.code, error.message, slot.zone_start, slot.zone_end, error.fix)
        return None
    return WorkflowSchedule(slot, None, " ".join(value.split()), schedule)


def _cron(source: WorkflowSource, slot: Slot) -> Schedule | None:
    value = (slot.node.value.replace("\n", " ") if slot.is_block else slot.node.value).strip()
    try:
        return parse_schedule(value)
    except ParseError as error:
        closed = _with_closed_steps(value)
        severity = Severity.ERROR if closed is None else Severity.WARNING
        _report_words(source, _words_in(source, slot), error.problems, severity)
        return closed


def _with_closed_steps(value: str) -> Schedule | None:
    """GitHub accepts `20/15`. Kron refuses it, because crons differ: so it is only a warning."""
    fields = value.split()
    if len(fields) != len(KINDS) or "/" not in value:
        return None
    closed = [
        _OPEN_STEP.sub(rf"\g<1>-{kind.high}/", field)
        for kind, field in zip(KINDS, fields, strict=True)
    ]
    try:
        return parse_schedule(" ".join(closed))
    except ParseError:
        return None
