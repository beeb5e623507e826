"""A crontab as Debian's cron would run it: its jobs, its errors, and what krond does differently.

Lines are read from top to bottom: a setting applies to the lines after it. `line` reads a single
line. Home directories and the host's time zone are arguments, so that the same bytes give the same
result everywhere.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from kron.core.cron import REBOOT, SHORTHANDS
from kron.core.errors import Code, ParseError, Problem
from kron.core.frozen import Frozen
from kron.core.limits import DEFAULT_LIMITS, Limits
from kron.core.parser import parse_schedule
from kron.core.schedule import Schedule
from kron.core.tokens import Token, check_text
from kron.jobs.crontab.environment import Environment, HomeOf
from kron.jobs.crontab.line import JobLine, Setting, is_anacron, read_job, read_setting
from kron.jobs.crontab.names import Names, name_of
from kron.jobs.crontab.note import NoteCode, Notes
from kron.jobs.document import KEPT_FINDINGS, read_text, says_nothing
from kron.jobs.entry import Entry
from kron.jobs.fields import FIELDS
from kron.jobs.finding import Finding, findings_of
from kron.jobs.identity import identity_of
from kron.jobs.task import Task

POLICY = "@policy(concurrency=allow)"
"""cron starts a run whether or not the run before it has ended."""

SYSTEM_FILE = "/etc/crontab"
SYSTEM_DIRECTORY = "/etc/cron.d"
USER_DIRECTORIES = ("/var/spool/cron/crontabs", "/var/spool/cron/tabs", "/var/spool/cron")


class CrontabLine(Frozen):
    """A line and what was read from it, or several lines of comments and blanks."""

    number: int
    text: str
    setting: Setting | None = None
    entry: Entry | None = None
    findings: tuple[Finding, ...] = ()
    notes: tuple[Finding, ...] = ()
    omitted: str = ""
    """The code of the error or note that says why this line affects no job; '' otherwise."""


class Crontab(Frozen):
    """A file, line by line. If it has errors, cron runs none of its jobs."""

    path: str
    owner: str | None
    """Whose crontab it is; None for a system crontab, whose lines name users; '' if unknown."""
    lines: tuple[CrontabLine, ...]
    """The lines that were read: all, unless a limit or too many errors ended the reading."""
    failure: Finding | None = None
    """Why no line could be read."""

    @property
    def entries(self) -> Iterator[Entry]:
        return (line.entry for line in self.lines if line.entry is not None)

    @property
    def findings(self) -> list[Finding]:
        failures = [self.failure] if self.failure else []
        return [*failures, *(finding for line in self.lines for finding in line.findings)]

    @property
    def notes(self) -> list[Finding]:
        return [note for line in self.lines for note in line.notes]


def owner_of(path: str) -> str | None:
    """Whose crontab is at a path: None for a system crontab; '' if cron does not read the path."""
    absolute = os.path.abspath(path)  # noqa: PTH100
    directory, name = os.path.split(absolute)
    if directory == SYSTEM_DIRECTORY or absolute == SYSTEM_FILE:
        return None
    return name if directory in USER_DIRECTORIES else ""


def read_crontab(
    data: bytes,
    path: str,
    owner: str | None,
    *,
    zone: str,
    home_of: HomeOf,
    node: str = "",
    limits: Limits = DEFAULT_LIMITS,
    jobs_before: int = 0,
    users_must_exist: bool = False,
) -> Crontab:
    """Read a crontab. `zone` is the host's, for lines without a CRON_TZ.

    An unknown zone raises a `ParseError`, because the file is not what is wrong. `jobs_before`
    counts the jobs of earlier crontabs: the limit is for all of them together. With
    `users_must_exist` an unknown user is an error, as it is for cron.
    """
    environment = Environment(owner or "", zone, home_of, users_must_exist=users_must_exist)
    reader = _CrontabReader(path, owner, environment, node, limits, jobs_before=jobs_before)
    try:
        if owner:
            FIELDS["user"].read(owner)
    except ParseError as error:
        return Crontab(path, owner, (), Finding.of_error(error, path))
    text = read_text(data, path, limits)
    if isinstance(text, Finding):
        return Crontab(path, owner, (), text)
    lines = tuple(reader.lines(text.removesuffix("\n").split("\n") if text else []))
    if text and not text.endswith("\n") and not reader.has_stopped:
        lines = (*lines[:-1], _without_line_break(lines[-1], path))
    return Crontab(path, owner, lines)


class _CrontabReader:
    def __init__(
        self,
        path: str,
        owner: str | None,
        environment: Environment,
        node: str,
        limits: Limits,
        *,
        jobs_before: int,
    ) -> None:
        self._path = path
        self._owner = owner
        self._environment = environment
        self._node = node
        self._limits = limits
        self._names = Names()
        self._counts = {"jobs": jobs_before, "settings": 0}
        self._schedules: dict[str, Schedule] = {}
        self._errors = 0
        self.has_stopped = False

    def lines(self, texts: list[str]) -> Iterator[CrontabLine]:
        """Each line. Consecutive comments and blank lines are one value, to save memory."""
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
            check_text(text, self._limits, "line")
            setting = read_setting(text)
            if setting is not None:
                self._count("settings", setting.name, notes)
                entry, omitted = None, self._environment.set(setting, notes)
            else:
                entry = self._job(notes)
                omitted = "" if entry else notes.found[-1].code
        except ParseError as error:
            return self._wrong_line(number, text, error)
        return CrontabLine(number, text, setting, entry, (), tuple(notes.found), omitted)

    def _wrong_line(self, number: int, text: str, error: ParseError) -> CrontabLine:
        problems = list(error.problems)
        self._errors += len(problems)
        if self._errors >= KEPT_FINDINGS and not self.has_stopped:
            message = f"the file is read no further: it has {KEPT_FINDINGS} errors"
            problems.append(Problem(Code.LIMIT, message, 0, len(text), "fix these first"))
            self.has_stopped = True
        findings = findings_of(ParseError(text, problems), path=self._path, line=number)
        return CrontabLine(number, text, findings=tuple(findings), omitted=error.code)

    def _count(self, what: str, place: Token, notes: Notes) -> None:
        self._counts[what] += 1
        if self._counts[what] > self._limits.jobs:
            self.has_stopped = True
            message = f"there are more than {self._limits.jobs} {what}"
            raise notes.error(Code.LIMIT, message, place, "split them between files or hosts")

    def _job(self, notes: Notes) -> Entry | None:
        """The job; None if a note says why the line has none."""
        text = notes.text
        if is_anacron(text):
            message = "this is a line of an anacrontab: a period in days, a delay, a name"
            place = Token(text.strip(" \t"), len(text) - len(text.lstrip(" \t")))
            notes.add(NoteCode.ANACRON, message, place, "write a time and the command")
            return None
        problems: list[Problem] = []
        job = read_job(text, problems, has_user=self._owner is None)
        if job is None:
            raise ParseError(text, problems)
        _note_oddities(job, notes)
        schedule = self._schedule(job.when, notes, problems)
        if problems:
            raise ParseError(text, sorted(problems, key=lambda problem: problem.start))
        if schedule is None:
            return None
        self._count("jobs", job.when, notes)
        return self._entry(job, schedule, notes)

    def _schedule(self, when: Token, notes: Notes, problems: list[Problem]) -> Schedule | None:
        """The schedule; None if the line has none, which a problem or a note explains."""
        text = self._schedule_text(when.text)
        schedule = self._schedules.get(text)
        if schedule is None:
            try:
                schedule = self._schedules[text] = parse_schedule(text)
            except ParseError as error:
                if error.code is Code.CRON_NEVER:  # people write such a date to disable a line
                    notes.add(NoteCode.NEVER, error.message, when, "cron never runs it either")
                else:
                    problems.extend(problem.shifted(when.start) for problem in error.problems)
        return schedule

    def _schedule_text(self, when: str) -> str:
        """The time as a krontab schedule, its fields at the same positions."""
        has_zone = self._environment.zone != "UTC" and when != REBOOT
        zone = f" @tz({self._environment.zone})" if has_zone else ""
        return f"{SHORTHANDS.get(when, when)}{zone} {POLICY}"

    def _entry(self, job: JobLine, schedule: Schedule, notes: Notes) -> Entry:
        user = job.user.text if job.user else self._owner or ""
        directory, variables = self._environment.of(user, job.user or job.when, notes)
        shell = self._environment.shell
        # Its own, so that it takes none from the other lines, whose times follow from their names.
        at_boot = "-at-boot" if schedule.is_at_boot else ""
        name = self._names.unique(f"{name_of(job.command)}{at_boot}")
        task = Task(
            command=job.command,
            argv=(shell, "-c", job.command),
            shell=shell,
            user=user,
            cwd=directory,
            cwd_may_lack=True,
            env=variables,
            inherits_env=False,
            stdin=job.stdin,
            hooks=self._environment.hooks(user),
        )
        schedule_text = " ".join(self._schedule_text(job.when.text).split())
        identity = identity_of(self._path, name, self._node)
        return Entry(name, identity, schedule_text, schedule, task, self._path, notes.line)


def _note_oddities(job: JobLine, notes: Notes) -> None:
    if job.quiet is not None:
        message = "the hyphen has no effect here: with it, cronie does not log the line"
        notes.add(NoteCode.QUIET, message, job.quiet)
    if job.has_backslashes:
        message = r"\\ is one backslash, as Debian's cron has it; for cronie it is two"
        place = job.written.start + job.written.text.index("\\\\")
        notes.add(NoteCode.BACKSLASH, message, Token("\\\\", place), "check what the job does")
    if job.user is None and job.command.split(None, 1)[:1] == ["root"]:
        message = 'the command begins with "root", but a user\'s crontab has no column for users'
        fix = "say that it is a system crontab, or remove the word"
        notes.add(NoteCode.USER_COLUMN, message, Token("root", job.written.start), fix)


def _without_line_break(line: CrontabLine, path: str) -> CrontabLine:
    """The last line, with a note unless it is a comment or blank, which cron accepts."""
    if not (line.setting or line.entry or line.omitted):
        return line
    notes = Notes(path, line.number, line.text)
    message = "the last line has no line break: Debian's cron would run no job of this file"
    notes.add(NoteCode.LAST_LINE, message, Token(" ", len(line.text)), "add one")
    return line.replace(notes=(*line.notes, *notes.found))
