"""From a crontab to krontab lines that do the same: faithful unless asked to spread.

Comments and blank lines keep their places. What cannot be carried over becomes a comment in its
place and a note with the reason. The result depends on the crontab alone, not on the clock.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from kron.core.duration import SECOND_NS, format_duration
from kron.core.errors import Code, KronError
from kron.core.frozen import Frozen
from kron.core.instant import DAY_S
from kron.core.limits import DEFAULT_LIMITS, Limits
from kron.core.tokens import Token
from kron.core.window import Mode, Window
from kron.jobs.crontab.crontab import POLICY, Crontab, CrontabLine
from kron.jobs.crontab.environment import LOGIN, OF_CRON
from kron.jobs.crontab.names import Names
from kron.jobs.crontab.note import NoteCode, Notes
from kron.jobs.entry import Entry
from kron.jobs.finding import Finding
from kron.jobs.line import compose
from kron.jobs.task import DEFAULT_SHELL, Task

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from kron.core.schedule import Schedule
    from kron.jobs.advice.year import Year

    Spread = int | Literal["auto"] | None
    """A window's length in nanoseconds; "auto" proposes one for each line; None gives none."""

AUTO: Literal["auto"] = "auto"
SHORTEST_SPREAD_GAP_S = 300
"""A job that runs more often has no window proposed: there is nothing to smooth."""
SPREAD_SHARE = 4
"""A proposed window takes at most this part of the shortest gap: a quarter."""
PROPOSED_S = (3600, 2700, 1800, 1200, 900, 600, 300, 180, 120, 75)
"""The lengths that are proposed. A shorter one would smooth next to nothing."""

_YEAR = datetime(2028, 1, 1, tzinfo=UTC)
"""Gaps are looked for in this leap year, whatever the year is: the clock must not show."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*+")
_RUN_PARTS = re.compile(r"(?<![^ \t/(;&|])run-parts(?![^ \t])")
_UNFIT_FOR_BRACES = (";", "&", "|", "\\")
_UNSHOWABLE = (Code.TEXT, Code.LIMIT)


class Conversion(Frozen):
    """Lines of a krontab file and what to know about them."""

    lines: tuple[str, ...]
    notes: tuple[Finding, ...]

    @property
    def text(self) -> str:
        """The lines as a file has them."""
        return "".join(f"{line}\n" for line in self.lines)


def convert(
    crontab: Crontab,
    *,
    spread: Spread = None,
    environment: bool = True,
    names: Names | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Conversion:
    """The same jobs in krontab lines; a `KronError` if no krontab file could hold them.

    `environment=False` leaves out what cron adds by itself: SHELL, PATH, HOME, LOGNAME, USER and
    the home directory as the place to run in. What the crontab sets stays. `names` is for several
    crontabs that become one file: pass the same to each, and no name comes twice.
    """
    if isinstance(spread, int) and spread > limits.window_days * DAY_S * SECOND_NS:
        message = f"a window of {format_duration(spread)} is longer than {limits.window_days} days"
        raise KronError(Code.LIMIT, message)
    converter = _Converter(spread, environment, names or Names(), limits)
    lines: list[str] = []
    notes: list[Finding] = []
    left = limits.file_bytes
    for line in crontab.lines:
        found = Notes(crontab.path, line.number, line.text)
        converted = converter.convert(line, found)
        left -= sum(len(text.encode()) + 1 for text in converted)
        if left < 0:
            message = f"the lines for {crontab.path} would be more than {limits.file_bytes} bytes"
            fix = "split it, or leave out the environment that cron adds"
            raise KronError(Code.LIMIT, message, fix=fix)
        lines += converted
        notes += [*line.notes, *found.found]
    return Conversion(tuple(lines), tuple(notes))


class _Converter:
    def __init__(self, spread: Spread, environment: bool, names: Names, limits: Limits) -> None:
        self._spread = spread
        self._environment = environment
        self._names = names
        self._limits = limits
        self._set: set[str] = set()
        self._windows: dict[str, Window | None] = {}
        self._year: Year | None = None

    def convert(self, line: CrontabLine, notes: Notes) -> list[str]:
        """What stands in the place of a line: a line or, for a setting that jobs carry, none."""
        if line.entry is not None:
            return [self._job(line, line.entry, notes)]
        if line.setting is not None:
            self._set.add(line.setting.name.text)
        if line.omitted:
            return [_comment(line, line.omitted)]
        if line.setting is None:
            return line.text.split("\n")
        if not _VARIABLE.fullmatch(line.setting.name.text):
            message = "a krontab line cannot set a variable of this name"
            fix = "set it in the command, with env"
            notes.add(NoteCode.VARIABLE, message, line.setting.name, fix)
            return [_comment(line, NoteCode.VARIABLE)]
        return []

    def _job(self, line: CrontabLine, entry: Entry, notes: Notes) -> str:
        task = entry.task
        whole = Token(line.text, 0)
        if _RUN_PARTS.search(task.command):
            message = "run-parts runs all scripts of a directory in one go"
            fix = "a job for each script would spread them"
            notes.add(NoteCode.RUN_PARTS, message, whole, fix)
        command, shell = task.command, task.shell
        if task.stdin is not None:
            command, shell = _fed(task, task.stdin), DEFAULT_SHELL
            message = "what follows the percent sign is fed to the command by printf"
            notes.add(NoteCode.INPUT, message, whole, "a krontab line has no input of its own")
        fields = [
            ("name", self._names.unique(entry.name)),
            ("command", command),
            ("shell", "true" if shell == DEFAULT_SHELL else shell),
            *([("user", task.user)] if task.user else []),
            *([("cwd", task.cwd)] if task.cwd and self._carries("HOME") else []),
            *[("env", f"{name}={value}") for name, value in self._variables(task)],
        ]
        written = compose(self._schedule_text(entry, notes, whole), fields)
        if len(written.encode()) > self._limits.line_bytes:
            message = f"the line would be longer than {self._limits.line_bytes} bytes"
            notes.add(NoteCode.LONG_LINE, message, whole, "put the command into a script")
            return _comment(line, NoteCode.LONG_LINE)
        return written

    def _variables(self, task: Task) -> list[tuple[str, str]]:
        """What a line sets. A setting for cron is kept only for a command that names it."""
        return [
            (name, value)
            for name, value in task.env
            if _VARIABLE.fullmatch(name)
            and (name not in OF_CRON or name in task.command)
            and self._carries(name)
        ]

    def _carries(self, name: str) -> bool:
        """Whether a line says what cron gives to every job, set by the crontab or not."""
        return self._environment or (name in self._set and name not in LOGIN and name != "SHELL")

    def _schedule_text(self, entry: Entry, notes: Notes, place: Token) -> str:
        if not self._spread:
            return entry.schedule_text
        window = self._window(entry)
        if window is None:
            if self._spread != AUTO:
                message = "the runs are too near to each other for this window"
                notes.add(NoteCode.WINDOW, message, place, "auto proposes one that fits")
            return entry.schedule_text
        return entry.schedule_text.replace(f" {POLICY}", f" {window} {POLICY}")

    def _window(self, entry: Entry) -> Window | None:
        """The window of a job; None if one would reach the next period, or is not worth it."""
        if entry.schedule_text not in self._windows:
            gap_s = self._shortest_gap_s(entry.schedule)
            asked_ns = self._spread if isinstance(self._spread, int) else proposed_ns(gap_s)
            fits = 0 < asked_ns < gap_s * SECOND_NS
            self._windows[entry.schedule_text] = Window(Mode.AFTER, asked_ns) if fits else None
        return self._windows[entry.schedule_text]

    def _shortest_gap_s(self, schedule: Schedule) -> int:
        from kron.jobs.advice.gap import shortest_gap
        from kron.jobs.advice.year import Year

        self._year = self._year or Year(_YEAR)
        gap = shortest_gap(schedule, self._year)
        return 0 if gap is None else gap.seconds


def proposed_ns(gap_s: int) -> int:
    """The window for a job whose runs are never nearer than `gap_s`; 0 for none."""
    if gap_s < SHORTEST_SPREAD_GAP_S:
        return 0
    return next(length_s for length_s in PROPOSED_S if SPREAD_SHARE * length_s <= gap_s) * SECOND_NS


def _fed(task: Task, stdin: str) -> str:
    """A command for /bin/sh that gives `stdin` to the task's command and ends as that does."""
    from shlex import quote

    lines = " ".join(quote(line) for line in stdin.removesuffix("\n").split("\n"))
    if task.shell == DEFAULT_SHELL and _fits_braces(task.command):
        return f"printf '%s\\n' {lines} | {{ {task.command.rstrip()}; }}"
    return f"printf '%s\\n' {lines} | {quote(task.shell)} -c {quote(task.command)}"


def _fits_braces(command: str) -> bool:
    """Whether `; }` after the command is sure to be what it looks like."""
    is_cut_short = "#" in command or "<<" in command
    return not is_cut_short and not command.rstrip().endswith(_UNFIT_FOR_BRACES)


def _comment(line: CrontabLine, code: str) -> str:
    shown = f"line {line.number}" if code in _UNSHOWABLE else line.text.strip(" \t")
    return f"# not carried over: {shown} [{code}]"
