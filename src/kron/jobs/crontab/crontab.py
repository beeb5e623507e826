"""A crontab as Debian's cron would run it: its jobs, complete, and what is wrong or left out.

Lines are read from top to bottom: a setting holds for the lines after it. What a line says by
itself is read in `line`. Home directories and the host's time zone are arguments, so that
the same bytes are read alike everywhere.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from enum import StrEnum

from kron.core.cron import SHORTHANDS
from kron.core.errors import Code, ParseError, Problem
from kron.core.frozen import Frozen
from kron.core.limits import DEFAULT_LIMITS, Limits
from kron.core.parser import parse_schedule
from kron.core.tokens import Token, forbidden_characters
from kron.jobs.crontab.environment import Environment, HomeOf
from kron.jobs.crontab.line import (
    REBOOT,
    JobLine,
    Setting,
    is_anacron,
    read_job,
    read_setting,
)
from kron.jobs.crontab.names import Names, name_of
from kron.jobs.crontab.note import NoteCode, Notes
from kron.jobs.document import KEPT_FINDINGS
from kron.jobs.entry import Entry
from kron.jobs.fields import FIELDS
from kron.jobs.finding import Finding, findings_of
from kron.jobs.identity import Node
from kron.jobs.task import Task
from kron.jobs.text import read_text, says_nothing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kron.core.schedule import Schedule

POLICY = "@policy(concurrency=allow)"
"""cron starts a run whether or not the one before has ended."""

SYSTEM_FILE = "/etc/crontab"
SYSTEM_DIRECTORY = "/etc/cron.d"
USER_DIRECTORIES = ("/var/spool/cron/crontabs", "/var/spool/cron/tabs", "/var/spool/cron")


class Kind(StrEnum):
    """Whether the lines name a user."""

    SYSTEM = "system"
    USER = "user"


class Place(Frozen):
    """What is known of a crontab from where it lies."""

    kind: Kind
    user: str = ""
    """Whose crontab it is; '' for a system crontab, whose lines say it, or if nobody knows."""


class CrontabLine(Frozen):
    """A line and what was read from it, or a stretch of comments and blank lines."""

    number: int
    text: str
    setting: Setting | None = None
    entry: Entry | None = None
    findings: tuple[Finding, ...] = ()
    notes: tuple[Finding, ...] = ()
    omitted: str = ""
    """The code of the error or note for which no job hears of this line; '' otherwise."""


class Crontab(Frozen):
    """A file, line by line. If it has errors, cron would run nothing of it."""

    path: str
    place: Place
    lines: tuple[CrontabLine, ...]
    """As far as it was read: to the end, unless a limit or too many errors came before."""
    failure: Finding | None = None
    """Why no line could be read."""

    @property
    def entries(self) -> Iterator[Entry]:
        """The jobs."""
        return (line.entry for line in self.lines if line.entry is not None)

    @property
    def findings(self) -> list[Finding]:
        """The errors."""
        failures = [self.failure] if self.failure else []
        return [*failures, *(finding for line in self.lines for finding in line.findings)]

    @property
    def notes(self) -> list[Finding]:
        """The warnings."""
        return [note for line in self.lines for note in line.notes]


def place_of(path: str) -> Place | None:
    """What cron knows from a crontab's place; None for a place that is not one of cron's."""
    absolute = os.path.abspath(path)  # noqa: PTH100
    directory, name = os.path.split(absolute)
    if directory == SYSTEM_DIRECTORY or absolute == SYSTEM_FILE:
        return Place(Kind.SYSTEM)
    return Place(Kind.USER, name) if directory in USER_DIRECTORIES else None


def read_crontab(
    data: bytes,
    path: str,
    place: Place,
    *,
    zone: str,
    home_of: HomeOf,
    node: Node = Node(),  # noqa: B008 (frozen)
    limits: Limits = DEFAULT_LIMITS,
    jobs_before: int = 0,
    users_must_exist: bool = False,
) -> Crontab:
    """Everything that a crontab's bytes say. `zone` is the host's, for lines without a CRON_TZ.

    A zone that does not exist is a `ParseError`: it is not the file that is wrong then.
    `jobs_before` counts the jobs of crontabs before this one: the limit is for all of them.
    `users_must_exist` makes a user without a home directory the error that it is for cron.
    """
    environment = Environment(place.user, zone, home_of, users_must_exist=users_must_exist)
    reader = _Reader(path, place, environment, node, limits, jobs_before=jobs_before)
    try:
        if place.user:
            FIELDS["user"].read(place.user)
    except ParseError as error:
        return Crontab(path, place, (), Finding.of_error(error, path))
    text = read_text(data, path, limits)
    if isinstance(text, Finding):
        return Crontab(path, place, (), text)
    lines = tuple(reader.lines(text.removesuffix("\n").split("\n") if text else []))
    if text and not text.endswith("\n") and not reader.has_stopped:
        lines = (*lines[:-1], _without_line_break(lines[-1], path))
    return Crontab(path, place, lines)


class _Reader:
    """Reads the lines of one file, each in the light of those before."""

    def __init__(
        self,
        path: str,
        place: Place,
        environment: Environment,
        node: Node,
        limits: Limits,
        *,
        jobs_before: int,
    ) -> None:
        self._path = path
        self._place = place
        self._environment = environment
        self._node = node
        self._limits = limits
        self._names = Names()
        self._counts = {"jobs": jobs_before, "settings": 0}
        self._schedules: dict[str, Schedule] = {}
        self._errors = 0
        self.has_stopped = False

    def lines(self, texts: list[str]) -> Iterator[CrontabLine]:
        """Each line. Stretches that say nothing are one, so that a file of them stays small."""
        silent: list[str] = []
        for number, text in enumerate(texts, start=1):
            if says_nothing(text):
                silent.append(text)
                continue
            if silent:
                yield CrontabLine(number - len(silent), "\n".join(silent))
                silent = []
            yield self._line(number, text)
            if self.has_stopped:
                return
        if silent:
            yield CrontabLine(len(texts) - len(silent) + 1, "\n".join(silent))

    def _line(self, number: int, text: str) -> CrontabLine:
        notes = Notes(self._path, number, text)
        try:
            _check_text(text, self._limits)
            setting = read_setting(text)
            if setting is not None:
                self._count("settings", text, setting.name)
                entry, omitted = None, self._environment.set(text, setting, notes)
            else:
                entry = self._job(number, text, notes)
                omitted = "" if entry else notes.found[-1].code
        except ParseError as error:
            return self._wrong_line(number, text, error)
        return CrontabLine(number, text, setting, entry, (), tuple(notes.found), omitted)

    def _wrong_line(self, number: int, text: str, error: ParseError) -> CrontabLine:
        problems = list(error.problems)
        self._errors += len(problems)
        if self._errors >= KEPT_FINDINGS and not self.has_stopped:
            message = f"the file is read no further: it has {KEPT_FINDINGS} errors"
            problems.append(Problem(Code.LIMIT, message, 0, len(text), "mend these first"))
            self.has_stopped = True
        findings = findings_of(ParseError(text, problems), path=self._path, line=number)
        return CrontabLine(number, text, findings=tuple(findings), omitted=error.code)

    def _count(self, what: str, text: str, place: Token) -> None:
        self._counts[what] += 1
        if self._counts[what] > self._limits.jobs:
            self.has_stopped = True
            message = f"there are more than {self._limits.jobs} {what}"
            fix = "split them between files or hosts"
            raise ParseError(text, [place.problem(Code.LIMIT, message, fix=fix)])

    def _job(self, number: int, text: str, notes: Notes) -> Entry | None:
        """The job; None if a note has said why there is none."""
        if is_anacron(text):
            message = "this is a line of an anacrontab: a period in days, a delay, a name"
            start = len(text) - len(text.lstrip(" \t"))
            place = Token(text.strip(" \t"), start)
            notes.add(NoteCode.ANACRON, message, place, "write a time and the command")
            return None
        problems: list[Problem] = []
        job = read_job(text, problems, has_user=self._place.kind is Kind.SYSTEM)
        if job is None:
            raise ParseError(text, problems)
        _note_oddities(job, notes)
        schedule = self._schedule(job.when, notes, problems)
        if problems:
            raise ParseError(text, sorted(problems, key=lambda problem: problem.start))
        if schedule is None:
            return None
        self._count("jobs", text, job.when)
        return self._entry(number, text, job, schedule, notes)

    def _schedule(self, when: Token, notes: Notes, problems: list[Problem]) -> Schedule | None:
        """None if a problem or a note has said why there is none."""
        if when.text == REBOOT:
            message = "krond runs nothing when the host starts"
            fix = "let systemd run it, from a unit with Type=oneshot"
            notes.add(NoteCode.REBOOT, message, when, fix)
            return None
        text = self._schedule_text(when.text)
        schedule = self._schedules.get(text)
        if schedule is None:
            try:
                schedule = self._schedules[text] = parse_schedule(text)
            except ParseError as error:
                if error.code is Code.CRON_NEVER:  # people write it to switch a line off
                    notes.add(NoteCode.NEVER, error.message, when, "cron never runs it either")
                else:
                    problems.extend(problem.shifted(when.start) for problem in error.problems)
        return schedule

    def _schedule_text(self, when: str) -> str:
        """The same in krontab's words, the places of the fields unchanged."""
        zone = "" if self._environment.zone == "UTC" else f" @tz({self._environment.zone})"
        return f"{SHORTHANDS.get(when, when)}{zone} {POLICY}"

    def _entry(
        self, number: int, text: str, job: JobLine, schedule: Schedule, notes: Notes
    ) -> Entry:
        user = self._place.user if job.user is None else job.user.text
        surroundings = self._environment.of(text, user, job.user or job.when, notes)
        shell = self._environment.shell
        name = self._names.unique(name_of(job.command.text))
        task = Task(
            command=job.command.text,
            argv=(shell, "-c", job.command.text),
            shell=shell,
            user=user,
            cwd=surroundings.directory,
            cwd_may_lack=True,
            env=surroundings.variables,
            inherits_env=False,
            stdin=job.command.stdin,
        )
        schedule_text = " ".join(self._schedule_text(job.when.text).split())
        identity = self._node.identity(self._path, name)
        return Entry(name, identity, schedule_text, schedule, task, self._path, number)


def _note_oddities(job: JobLine, notes: Notes) -> None:
    if job.quiet is not None:
        message = "the hyphen has no effect here: with it, cronie does not log the line"
        notes.add(NoteCode.QUIET, message, job.quiet)
    if job.command.has_backslashes:
        message = r"\\ is one backslash, as Debian's cron has it; for cronie it is two"
        place = job.written.start + job.written.text.index("\\\\")
        notes.add(NoteCode.BACKSLASH, message, Token("\\\\", place), "try what the job does")
    if job.user is None and job.command.text.split(None, 1)[:1] == ["root"]:
        message = 'the command begins with "root", but a user\'s crontab has no column for users'
        fix = "say that it is a system crontab, or take the word out"
        notes.add(NoteCode.USER_COLUMN, message, Token("root", job.written.start), fix)


def _without_line_break(line: CrontabLine, path: str) -> CrontabLine:
    """The last line, with a note unless it says nothing: only then does cron not mind."""
    if not (line.setting or line.entry or line.omitted):
        return line
    notes = Notes(path, line.number, line.text)
    message = "the last line has no line break: Debian's cron would run nothing of this file"
    notes.add(NoteCode.LAST_LINE, message, Token(" ", len(line.text)), "add one")
    return line.replace(notes=(*line.notes, *notes.found))


def _check_text(text: str, limits: Limits) -> None:
    if len(text) > limits.line_bytes or len(text.encode()) > limits.line_bytes:
        message = f"the line is longer than {limits.line_bytes} bytes"
        raise ParseError.single(text, Code.LIMIT, message, end=1)
    problems = forbidden_characters(text)
    if problems:
        raise ParseError(text, problems)
