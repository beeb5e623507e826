"""The advisor: applies the rules to each job, then to all jobs together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime

from kron.core.cron import KINDS
from kron.core.errors import Code, KronError
from kron.core.schedule import Schedule
from kron.core.tokens import as_string, is_fuzzy, scan
from kron.core.year import Year
from kron.jobs.document import Document
from kron.jobs.entry import Entry
from kron.jobs.finding import Finding, Severity
from kron.jobs.values import field_tokens, head_words
from kron.lint.command import shell_remarks
from kron.lint.companion import companion_findings
from kron.lint.constraint import constraint_remarks
from kron.lint.daylight import daylight_remarks
from kron.lint.days import day_remarks
from kron.lint.fleet import Fleet
from kron.lint.remark import SCHEDULE, Advice, Remark
from kron.lint.requirement import Host, Requirements
from kron.lint.step import step_remarks
from kron.lint.timing import deadline_remarks, slots_remarks, timeout_remarks, window_remarks
from kron.lint.wording import listed

_CRON_FIELDS = tuple(kind.name for kind in KINDS)
_SCHEDULE_RULES = (constraint_remarks, window_remarks, daylight_remarks, deadline_remarks)
_WORD_RULES = (step_remarks, day_remarks)
"""Rules that also need the cron fields as they are written."""


def advise(
    documents: Iterable[Document],
    *,
    now: datetime,
    host: Host | None,
    progress: Callable[[int], None] | None = None,
) -> Iterator[Finding]:
    """The warnings about the jobs of documents; those about all jobs together come last.

    They cover the year that begins with `now`. Without a host, programs, accounts and directories
    are not checked. `progress` is called with 1 after every job.
    """
    year = Year(now)
    schedules = _Schedules(year)
    requirements = None if host is None else Requirements(host)
    fleet = Fleet(year)
    lines: dict[str, list[str]] = {}
    once: set[Finding] = set()
    idle_slots = _IdleSlots()
    for document in documents:
        lines[document.path] = document.text.split("\n")
        idle_slots.documents.append(document)
        yield from _defaults_findings(document, lines[document.path])
        yield from companion_findings(document, lines[document.path])
        for entry in document.entries:
            remarks = [*schedules.remarks(entry), *shell_remarks(entry.task)]
            if requirements is not None:
                remarks.extend(requirements.remarks(entry.task))
            _collect(remarks, timeout_remarks(entry.schedule, entry.task, year))
            remarks.extend(slots_remarks(entry.schedule, entry.task))
            idle_slots.used.update(entry.task.slots)
            if remarks:
                found = _findings(entry, remarks, lines[entry.path])
                yield from (finding for finding in found if finding not in once)
                once.update(finding for finding in found if finding.line != entry.line)
            fleet.add(entry)
            if progress is not None:
                progress(1)
    for entry, remark in fleet.remarks():
        yield from _findings(entry, [remark], lines[entry.path])
    yield from idle_slots.findings(lines)


class _Schedules:
    """Applies the rules about schedules once to each text, which many jobs may share."""

    def __init__(self, year: Year) -> None:
        self._year = year
        self._known: dict[str, tuple[Remark, ...]] = {}

    def remarks(self, entry: Entry) -> tuple[Remark, ...]:
        text = entry.schedule_text
        if entry.schedule.is_at_boot:
            return ()  # every rule is about the times of a clock
        if is_fuzzy(text):  # the same text means another schedule for each job
            cron = str(entry.schedule.cron)
            found = self._remarks(entry.schedule, cron.split())
            return (*_fuzzy_remarks(entry), *(_with_cron(remark, cron) for remark in found))
        remarks = self._known.get(text)
        if remarks is None:
            remarks = self._known[text] = self._remarks(entry.schedule, _words(text))
        return remarks

    def _remarks(self, schedule: Schedule, words: list[str]) -> tuple[Remark, ...]:
        remarks: list[Remark] = []
        for rule in _SCHEDULE_RULES:
            _collect(remarks, rule(schedule, self._year))
        for word_rule in _WORD_RULES:
            _collect(remarks, word_rule(schedule, words, self._year))
        return tuple(remarks)


def _with_cron(remark: Remark, cron: str) -> Remark:
    """Add the cron expression to a remark about a cron field that a fuzzy line does not show."""
    if remark.part not in _CRON_FIELDS:
        return remark
    return remark.replace(message=f"for this job it means {cron}: {remark.message}")


def _fuzzy_remarks(entry: Entry) -> Iterator[Remark]:
    """What the fuzzy specification warns of. Uneven steps are reported for the cron form."""
    from kron.fuzzy.baseline import read_baseline

    for warning in read_baseline(entry.schedule_text, identity=entry.identity).warnings:
        if warning.code is not Code.UNEVEN_STEP:
            yield Remark(Advice.FUZZY_DOUBTFUL, SCHEDULE, warning.message, warning.fix)


def _collect(remarks: list[Remark], found: Iterator[Remark]) -> None:
    """Add what a rule finds; a rule that reaches the end of Kron's years stops there."""
    try:
        remarks.extend(found)
    except KronError as error:
        if error.code is not Code.INSTANT:
            raise


def _words(text: str) -> list[str]:
    """The words of a cron expression, wherever its modifiers are."""
    words = text.partition("@")[0].split()  # 60 times as fast, and nearly always right
    if len(words) != len(KINDS):
        words = [token.text for token in scan(text, [])[0]]
    return words


def _findings(entry: Entry, remarks: list[Remark], lines: list[str]) -> list[Finding]:
    """The remarks at their places: that of a field which comes from the defaults is there."""
    own = Places(lines[entry.line - 1])
    findings = []
    for remark in remarks:
        places, line = own, entry.line
        if entry.defaults and remark.advice is not Advice.TIMEOUT_LONG and not own.has(remark.part):
            defaults = Places(lines[entry.defaults.line - 1])
            if defaults.has(remark.part):
                places, line = defaults, entry.defaults.line
        where = (entry.path, line, *places.of(remark.part, remark.within), remark.fix, places.text)
        findings.append(Finding(Severity.WARNING, remark.advice, remark.message, *where))
    return sorted(findings, key=lambda finding: (finding.line, finding.start, finding.end))


def _defaults_findings(document: Document, lines: list[str]) -> Iterator[Finding]:
    """Defaults that no job has: there is no job below them, or all of them say otherwise."""
    idle: dict[int, frozenset[str]] = {}
    for entry in document.entries:
        if (applied := entry.defaults) is not None:
            known = idle.get(applied.line, applied.overridden)
            idle[applied.line] = known & applied.overridden
    for defaults in document.defaults:
        text = lines[defaults.line - 1]
        if defaults.parts and defaults.line not in idle:
            advice, message = Advice.DEFAULTS_UNUSED, "no job is below these defaults"
            fix = "remove the line, or move it above the jobs"
        elif keys := idle.get(defaults.line):
            advice = Advice.DEFAULTS_OVERRIDDEN
            named = [part.key for part in defaults.parts if part.key in keys]
            message = f"every job below these defaults sets {listed(named)} itself"
            fix = "remove it here"
        else:
            continue
        where = (document.path, defaults.line, 0, len(text), fix, text)
        yield Finding(Severity.WARNING, advice, message, *where)


class _IdleSlots:
    """Finds the slots that no job of any document names."""

    def __init__(self) -> None:
        self.documents: list[Document] = []
        self.used: set[str] = set()

    def findings(self, lines: dict[str, list[str]]) -> Iterator[Finding]:
        message, fix = "no job waits for the slot {}", "remove it, or name it with slots={}"
        for document in self.documents:
            for slot in document.slots:
                if slot.name not in self.used:
                    what = message.format(slot.name)
                    place = (document.path, slot.line, slot.token.start, slot.token.end)
                    where = (*place, fix.format(slot.name), lines[document.path][slot.line - 1])
                    yield Finding(Severity.WARNING, Advice.SLOTS_UNUSED, what, *where)


class Places:
    """The columns of the parts of one line, by what remarks call them.

    The line has been read without an error, so nothing is checked here. A part that the line does
    not have (a fuzzy schedule has no cron fields) is placed at the whole schedule or line.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        words, modifiers = scan(text[: head_words(text)[1]], [])
        self._parts = {f"@{each.name}": (each.token.start, each.token.end) for each in modifiers}
        if len(words) == len(KINDS) and not is_fuzzy(text):
            for kind, word in zip(KINDS, words, strict=True):
                self._parts[kind.name] = word.start, word.end
        self._parts[SCHEDULE] = (words[0].start, words[-1].end) if words else (0, len(text))

    def has(self, part: str) -> bool:
        """Whether the line has a field; any other part is taken to be there."""
        return not part.endswith("=") or part[:-1] in field_tokens(self.text)

    def of(self, part: str, within: str = "") -> tuple[int, int]:
        if part.endswith("="):
            token = field_tokens(self.text).get(part[:-1])
            start, end = (0, len(self.text)) if token is None else (token.start, token.end)
        else:
            start, end = self._parts.get(part, self._parts[SCHEDULE])
        if within:
            for piece in (within, as_string(within)[1:-1]):
                found = self.text.find(piece, start, end)
                if found >= 0:
                    return found, found + len(piece)
        return start, end
