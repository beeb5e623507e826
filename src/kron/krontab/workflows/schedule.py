"""What stands in a slot: a fuzzy schedule, what one was compiled to, or plain cron.

A fuzzy schedule is resolved with the identifier of its file. The first of several that are the
same in one file has that identifier itself; the others have `#2`, `#3` and so on behind it, for
they would run in the same minute otherwise.
"""

from __future__ import annotations

import re
from collections import Counter
from enum import StrEnum

from kron.core.cron import KINDS
from kron.core.errors import Code, ParseError, Problem, quoted
from kron.core.frozen import Frozen
from kron.core.parser import parse_schedule
from kron.core.schedule import Schedule
from kron.core.zone import load_zone
from kron.fuzzy import Scattered, is_fuzzy, scattered
from kron.fuzzy.placeholder import write_placeholder
from kron.fuzzy.scatter import pattern_of
from kron.jobs.finding import Severity
from kron.krontab.workflows.remark import PLAIN, Remark, Said
from kron.krontab.workflows.slot import Slot
from kron.krontab.workflows.source import Source, WorkflowCode

_UTC_NAMES = ("UTC", "Etc/UTC")
_OPEN_STEP = re.compile(r"(?<![^,])([0-9A-Za-z]++)/(?=[0-9])")


class Origin(StrEnum):
    """Where the words of a schedule stand."""

    VALUE = "value"
    REMARK = "remark"
    NONE = "none"


class Wording(Frozen):
    """The words of a fuzzy schedule and where they begin; none for plain cron."""

    origin: Origin
    text: str = ""
    start: int = 0
    end: int = 0
    is_verbatim: bool = True
    """Whether the text stands in the file as it is here, so that columns can be told."""


class WorkflowSchedule(Frozen):
    """One schedule of a workflow, resolved."""

    slot: Slot
    wording: Wording
    cron: str
    """The five fields that belong into the slot."""
    schedule: Schedule
    identifier: str = ""
    """What it was scattered by; empty for plain cron."""

    @property
    def expression(self) -> str:
        """The fuzzy schedule on one line; empty for plain cron."""
        return " ".join(self.wording.text.split())

    @property
    def is_current(self) -> bool:
        """Whether the file has what it should have."""
        if self.slot.is_bare or self.wording.origin is Origin.VALUE:
            return False
        return " ".join(self.slot.value.split()) == self.cron


def wording_of(source: Source, slot: Slot, said: Said | None) -> Wording:
    """The words in the slot or, where it holds cron, in the remark behind it."""
    if is_fuzzy(slot.value):
        start = slot.value_start(source.text)
        if start is None:
            return Wording(Origin.VALUE, slot.value, slot.start, slot.end, is_verbatim=False)
        return Wording(Origin.VALUE, slot.value, start, start + len(slot.value))
    if said is None or said.text == PLAIN:
        return Wording(Origin.NONE)
    return Wording(Origin.REMARK, said.text, said.start, said.start + len(said.text))


def said_of_line(source: Source, slots: list[Slot], remark: Remark | None) -> list[Said | None]:
    """What the remark of a line says about each of its slots."""
    if remark is None or remark.said is None:
        return [None] * len(slots)
    if len(remark.said) == len(slots):
        return list(remark.said)
    if not all(is_fuzzy(slot.value) for slot in slots):
        message = (
            f"the remark names {len(remark.said)} fuzzy schedules, and the line has "
            f"{len(slots)} cron expressions"
        )
        fix = "name one for each, with ; between and - for plain cron"
        source.report(WorkflowCode.COMMENT, message, remark.start, remark.end, fix)
    return [None] * len(slots)


def resolve(
    source: Source, slots: list[Slot], wordings: list[Wording], identifier: str
) -> list[WorkflowSchedule]:
    """Every schedule of a file; the ones that are wrong are reported."""
    resolved: list[WorkflowSchedule | None] = []
    seen: Counter[str] = Counter()
    for slot, wording in zip(slots, wordings, strict=True):
        if wording.origin is Origin.NONE:
            resolved.append(_plain(source, slot))
        else:
            resolved.append(_fuzzy(source, slot, wording, identifier, seen))
    return [each for each in resolved if each is not None]


def _fuzzy(
    source: Source, slot: Slot, wording: Wording, identifier: str, seen: Counter[str]
) -> WorkflowSchedule | None:
    words = wording.text.strip()
    lead = len(wording.text) - len(wording.text.lstrip())
    try:
        placeholder = write_placeholder(pattern_of(words))
        seen[placeholder] += 1
        count = seen[placeholder]
        own = identifier if count == 1 else f"{identifier}#{count}"
        result = scattered(words, own)
    except ParseError as error:
        _report_words(source, wording, lead, error.problems, Severity.ERROR)
        return None
    if slot.zone and slot.zone not in _UTC_NAMES:
        message = f"timezone {quoted(slot.zone)} cannot stand beside a fuzzy schedule, which is UTC"
        fix = "delete it and write the offset after the time: daily around 14:00 utc+9"
        source.report(Code.FUZZY_WITH_TZ, message, slot.zone_start, slot.zone_end, fix)
        return None
    _warn(source, wording, lead, result)
    return WorkflowSchedule(slot, wording, result.cron, parse_schedule(result.cron), own)


def _warn(source: Source, wording: Wording, lead: int, result: Scattered) -> None:
    _report_words(source, wording, lead, result.warnings, Severity.WARNING)


def _report_words(
    source: Source,
    wording: Wording,
    lead: int,
    problems: tuple[Problem, ...],
    severity: Severity,
) -> None:
    for problem in problems:
        if wording.is_verbatim:
            source.report_problem(problem, wording.start + lead, severity)
        else:
            whole = problem.replace(start=0, end=wording.end - wording.start)
            source.report_problem(whole, wording.start, severity)


def _plain(source: Source, slot: Slot) -> WorkflowSchedule | None:
    """Plain cron is left alone, but it has to be right."""
    start = slot.value_start(source.text)
    if "@" in slot.value:
        message = f"{quoted(slot.value)} is not five cron fields, and GitHub reads nothing else"
        fix = "write five fields, or a fuzzy schedule such as daily"
        source.report(WorkflowCode.FORM, message, slot.start, slot.end, fix)
        return None
    schedule = _cron(source, slot, start)
    if schedule is None:
        return None
    if slot.zone:
        try:
            schedule = schedule.replace(zone=load_zone(slot.zone))
        except ParseError as error:
            source.report(error.code, error.message, slot.zone_start, slot.zone_end, error.fix)
            return None
    return WorkflowSchedule(slot, Wording(Origin.NONE), " ".join(slot.value.split()), schedule)


def _cron(source: Source, slot: Slot, start: int | None) -> Schedule | None:
    value = slot.value.replace("\n", " ") if slot.is_block else slot.value
    try:
        return parse_schedule(value)
    except ParseError as error:
        wording = Wording(Origin.NONE, value, start or slot.start, slot.end, start is not None)
        closed = _with_closed_steps(value)
        if closed is not None:
            _report_words(source, wording, 0, error.problems, Severity.WARNING)
            return closed
        _report_words(source, wording, 0, error.problems, Severity.ERROR)
        return None


def _with_closed_steps(value: str) -> Schedule | None:
    """GitHub reads `20/15`, which Kron refuses because crons differ on it: it is only doubtful."""
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
