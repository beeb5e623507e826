"""The schedule in a slot: fuzzy, compiled from a fuzzy one, or plain cron.

What a cron expression was compiled from is in the remark after it, `# fuzzy: daily around 14:00`. A
line has one remark. If the line has several cron expressions, the remark names the source of each,
separated by `;`, with `-` for one that was not compiled.

A fuzzy schedule is resolved with the identifier of its file. If a file has the same one several
times, `#2`, `#3` and so on are added to the identifier for the others: otherwise all of them would
run in the same minute.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

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
from kron.krontab.workflows.slot import Slot
from kron.krontab.workflows.source import Tree, WorkflowCode, WorkflowSource

_PLAIN = "-"
_FUZZY = re.compile(r"#[ \t]*+fuzzy:([^#]*+)")
_UTC_NAMES = ("UTC", "Etc/UTC")
_OPEN_STEP = re.compile(r"(?<![^,])([0-9A-Za-z]++)/(?=[0-9])")


class FuzzyWords(Frozen):
    """The words of a fuzzy schedule and their position: [start, end)."""

    text: str
    start: int
    end: int
    in_remark: bool = False
    """Whether they stand in the remark after a cron expression, not in its place."""
    is_verbatim: bool = True
    """Whether the file has the text in exactly this form, so that columns are known."""

    @property
    def expression(self) -> str:
        return " ".join(self.text.split())


class FuzzyRemark(Frozen):
    """The end of a line: where its comment begins, or would begin, and what it says."""

    place: int
    """The end of the line without its comment."""
    comment: int | None = None
    """Where the comment begins, if the line has one."""
    start: int = 0
    end: int = 0
    said: tuple[FuzzyWords | None, ...] | None = None
    """The text after `# fuzzy:`, [start, end), for each expression, with None for plain cron; None
    if the comment is a different one."""

    def names(self, expressions: Sequence[str]) -> bool:
        """Whether it names these expressions, where '' is plain cron."""
        if self.said is None:
            return False
        return [each.expression if each else "" for each in self.said] == list(expressions)

    def edit(self, text: str, expressions: Sequence[str]) -> tuple[int, int, str]:
        """The edit that makes it name these expressions: [start, end) and the new text."""
        joined = "; ".join(expression or _PLAIN for expression in expressions)
        if self.said is not None:
            before = "" if text[self.start - 1] in " \t" else " "
            after = " " if text[self.end : self.end + 1] == "#" else ""
            return self.start, self.end, f"{before}{joined}{after}"
        if self.comment is not None:
            before = "" if text[self.comment - 1] in " \t" else " "
            return self.comment, self.comment, f"{before}# fuzzy: {joined} "
        return self.place, self.place, f" # fuzzy: {joined}"


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


def remark_behind(source: WorkflowSource, tree: Tree, slot: Slot) -> FuzzyRemark | None:
    """The remark of the line on which a slot ends; None if no comment can follow there."""
    text = source.text
    end = source.line_end(slot.end)
    place = slot.end
    if not slot.is_block:
        for order in range(slot.node.order + 1, len(tree.spans)):
            start, stop = tree.spans[order]
            if start >= end:
                break
            if stop > end:
                return None  # a scalar that continues in the next line
            place = max(place, stop)
    comment = text.find("#", place, end)
    if comment < 0:
        return FuzzyRemark(place + len(text[place:end].rstrip()))
    place += len(text[place:comment].rstrip())
    fuzzy = _FUZZY.match(text, comment, end)
    if fuzzy is None:
        return FuzzyRemark(place, comment)
    words = fuzzy[1].strip(" \t")
    start = fuzzy.start(1) + len(fuzzy[1]) - len(fuzzy[1].lstrip(" \t"))
    return FuzzyRemark(place, comment, start, start + len(words), _said(words, start))


def _said(words: str, start: int) -> tuple[FuzzyWords | None, ...]:
    said: list[FuzzyWords | None] = []
    for piece in words.split(";"):
        text = piece.strip(" \t")
        first = start + piece.index(text)
        plain = text == _PLAIN
        said.append(None if plain else FuzzyWords(text, first, first + len(text), in_remark=True))
        start += len(piece) + 1
    return tuple(said)


def words_of_line(
    source: WorkflowSource, slots: list[Slot], remark: FuzzyRemark | None
) -> dict[int, FuzzyWords | None]:
    """The words of each slot of a line: in the slot or, if it has cron, in the remark."""
    nothing: list[FuzzyWords | None] = [None] * len(slots)
    said = nothing if remark is None or remark.said is None else list(remark.said)
    if len(said) != len(slots):
        if remark is not None and not all(is_fuzzy(slot.node.value) for slot in slots):
            has = f"the line has {len(slots)} cron expressions"
            message = f"the remark names {len(said)} fuzzy schedules, and {has}"
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
