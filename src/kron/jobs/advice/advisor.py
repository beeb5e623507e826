"""The advisor: goes through documents job by job, then looks at all of them together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime

from kron.core.cron import KINDS
from kron.core.errors import Code, KronError
from kron.core.schedule import Schedule
from kron.core.tokens import is_fuzzy, scan
from kron.jobs.advice.account import Accounts
from kron.jobs.advice.command import is_shell_word, shell_remarks
from kron.jobs.advice.constraint import constraint_remarks
from kron.jobs.advice.daylight import daylight_remarks
from kron.jobs.advice.days import day_remarks
from kron.jobs.advice.fleet import Fleet
from kron.jobs.advice.fuzzy import fuzzy_remarks
from kron.jobs.advice.host import Host
from kron.jobs.advice.place import Places
from kron.jobs.advice.policy import deadline_remarks, timeout_remarks
from kron.jobs.advice.program import Programs
from kron.jobs.advice.remark import PartKind, Remark
from kron.jobs.advice.step import step_remarks
from kron.jobs.advice.window import window_remarks
from kron.jobs.advice.year import Year
from kron.jobs.document import Document
from kron.jobs.entry import Entry
from kron.jobs.finding import Finding, Severity
from kron.jobs.task import Task

ScheduleRule = Callable[[Schedule, Year], Iterator[Remark]]
WordRule = Callable[[Schedule, list[str], Year], Iterator[Remark]]

SCHEDULE_RULES: tuple[ScheduleRule, ...] = (
    constraint_remarks,
    window_remarks,
    daylight_remarks,
    deadline_remarks,
)
WORD_RULES: tuple[WordRule, ...] = (step_remarks, day_remarks)
"""The rules that also look at how the cron fields are written."""


def advise(
    documents: Iterable[Document],
    *,
    now: datetime,
    host: Host | None,
    progress: Callable[[int], None] | None = None,
) -> Iterator[Finding]:
    """The warnings about the jobs of some documents, those about all jobs together last.

    They are about the year that begins with `now`. Without a host nothing is asked about programs,
    accounts and directories. `progress`, if given, is told of every job looked at.
    """
    year = Year(now)
    schedules = _Schedules(year)
    tasks = None if host is None else (Programs(host), Accounts(host))
    fleet = Fleet(year)
    lines = _Lines()
    for document in documents:
        lines.take(document)
        for entry in document.entries:
            remarks = [*schedules.remarks(entry), *_task_remarks(entry.task, tasks)]
            _collect(remarks, timeout_remarks(entry.schedule, entry.task, year))
            if remarks:
                yield from lines.findings(entry, remarks)
            fleet.add(entry)
            if progress is not None:
                progress(1)
    for entry, remark in fleet.remarks():
        yield from lines.findings(entry, [remark])


class _Schedules:
    """The rules about schedules, asked once for each text that a fleet repeats."""

    def __init__(self, year: Year) -> None:
        self._year = year
        self._known: dict[str, tuple[Remark, ...]] = {}

    def remarks(self, entry: Entry) -> tuple[Remark, ...]:
        text = entry.schedule_text
        if is_fuzzy(text):  # the same words are another schedule for another job
            cron = str(entry.schedule.cron)
            found = self._remarks(entry.schedule, cron.split())
            return (*fuzzy_remarks(entry), *(_with_cron(remark, cron) for remark in found))
        remarks = self._known.get(text)
        if remarks is None:
            remarks = self._known[text] = self._remarks(entry.schedule, _words(text))
        return remarks

    def _remarks(self, schedule: Schedule, words: list[str]) -> tuple[Remark, ...]:
        remarks: list[Remark] = []
        for rule in SCHEDULE_RULES:
            _collect(remarks, rule(schedule, self._year))
        if len(words) == len(KINDS):
            for word_rule in WORD_RULES:
                _collect(remarks, word_rule(schedule, words, self._year))
        return tuple(remarks)


class _Lines:
    """The lines of the documents, for placing remarks in them."""

    def __init__(self) -> None:
        self._documents: dict[str, Document] = {}
        self._path = ""
        self._split: list[str] = []

    def take(self, document: Document) -> None:
        self._documents[document.path] = document

    def findings(self, entry: Entry, remarks: list[Remark]) -> list[Finding]:
        if self._path != entry.path:
            self._path = entry.path
            self._split = self._documents[entry.path].text.split("\n")
        places = Places(self._split[entry.line - 1])
        findings = [_finding(entry, remark, places) for remark in remarks]
        return sorted(findings, key=lambda finding: (finding.start, finding.end))


def _with_cron(remark: Remark, cron: str) -> Remark:
    """A remark about a cron field that the line does not show, because it is scattered."""
    if remark.part.kind is not PartKind.CRON_FIELD:
        return remark
    return remark.replace(message=f"this is {cron} for this job: {remark.message}")


def _task_remarks(task: Task, host: tuple[Programs, Accounts] | None) -> Iterator[Remark]:
    yield from shell_remarks(task)
    if host is not None:
        programs, accounts = host
        if task.shell or not is_shell_word(task.argv[0]):
            yield from programs.remarks(task)
        yield from accounts.remarks(task)


def _collect(remarks: list[Remark], found: Iterator[Remark]) -> None:
    """Add what a rule finds, until it comes to the last year that Kron computes in."""
    try:
        remarks.extend(found)
    except KronError as error:
        if error.code is not Code.INSTANT:
            raise


def _words(text: str) -> list[str]:
    """The words of a cron expression, wherever its modifiers stand."""
    words = text.partition("@")[0].split()
    if len(words) != len(KINDS):
        words = [token.text for token in scan(text, [])[0]]
    return words


def _finding(entry: Entry, remark: Remark, places: Places) -> Finding:
    start, end = places.of(remark.part)
    return Finding(
        Severity.WARNING,
        remark.advice,
        remark.message,
        entry.path,
        entry.line,
        start,
        end,
        remark.fix,
        places.text,
    )
