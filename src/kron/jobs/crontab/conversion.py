"""From a crontab to krontab lines that do the same; with `spread`, also with windows.

Comments and blank lines keep their places. What the jobs after a setting have in common becomes a
defaults line in the place of the setting. Anything not converted becomes a comment, and a note
gives the reason. The result depends on the crontab only, not on the clock.
"""

from __future__ import annotations

import re

from kron.core.duration import SECOND_NS, format_duration
from kron.core.errors import Code, KronError
from kron.core.frozen import Frozen
from kron.core.gap import shortest_gap
from kron.core.instant import DAY_S
from kron.core.limits import DEFAULT_LIMITS
from kron.core.schedule import Schedule
from kron.core.tokens import Token
from kron.core.window import Mode, Window
from kron.core.year import LEAP_YEAR, Year
from kron.jobs.crontab.block import Block, BlockJob, Fields, not_carried_over
from kron.jobs.crontab.crontab import POLICY, Crontab, CrontabLine
from kron.jobs.crontab.environment import LOGIN, OF_CRON, OF_MAIL
from kron.jobs.crontab.note import NoteCode, Notes
from kron.jobs.entry import Entry
from kron.jobs.finding import Finding
from kron.jobs.task import CLEAN_PATH, DEFAULT_SHELL, Task

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Spread = int | Literal["auto"] | None
    """The length of windows in nanoseconds; "auto" proposes one for each line; None for none."""

AUTO: Literal["auto"] = "auto"
SHORTEST_SPREAD_GAP_S = 300
"""Jobs that run more often than this get no window: there is nothing to smooth."""
SPREAD_SHARE = 4
"""A proposed window is at most a quarter of the shortest gap."""
PROPOSED_S = (3600, 2700, 1800, 1200, 900, 600, 300, 180, 120, 75)
"""The proposed lengths. A shorter window would smooth almost nothing."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*+")
_RUN_PARTS = re.compile(r"(?<![^ \t/(;&|])run-parts(?![^ \t])")
_UNSHOWABLE = (Code.TEXT, Code.LIMIT)
_YEAR = Year(LEAP_YEAR)


class Conversion(Frozen):
    lines: tuple[str, ...]
    notes: tuple[Finding, ...]

    @property
    def text(self) -> str:
        return "".join(f"{line}\n" for line in self.lines)


def convert(crontab: Crontab, *, spread: Spread = None, environment: bool = True) -> Conversion:
    """The same jobs as krontab lines; a `KronError` if they do not fit into a krontab file.

    `environment=False` leaves out what cron adds: SHELL, PATH, HOME, LOGNAME, USER and the home
    directory as the working directory. The crontab's own settings stay.
    """
    limits = DEFAULT_LIMITS
    if isinstance(spread, int) and spread > limits.window_days * DAY_S * SECOND_NS:
        message = f"a window of {format_duration(spread)} is longer than {limits.window_days} days"
        raise KronError(Code.LIMIT, message)
    converter = _Converter(spread, environment)
    outputs: list[list[str]] = []
    notes: list[Notes] = []

    def output() -> list[str]:
        outputs.append([])
        return outputs[-1]

    block: Block | None = None
    left = limits.file_bytes
    for line in (*crontab.lines, None):
        if block is not None and (line is None or _ends_block(line)):
            left = block.write(left)
            block = None
        if line is None:
            break
        notes.append(Notes(crontab.path, line.number, line.text))
        if line.entry is None:
            output().extend(converted := converter.convert(line, notes[-1]))
            left -= sum(len(text.encode()) + 1 for text in converted)
            block = Block(output()) if _ends_block(line) else block
        else:
            block = block or Block(output())
            block.jobs.append(converter.job(line.entry, notes[-1], output()))
        if left < 0:
            break
    if left < 0:
        message = f"the lines for {crontab.path} would be more than {limits.file_bytes} bytes"
        fix = "split it, or leave out the variables that cron adds"
        raise KronError(Code.LIMIT, message, fix=fix)
    found = zip(crontab.lines, notes, strict=True)
    return Conversion(
        tuple(text for each in outputs for text in each),
        tuple(note for line, more in found for note in (*line.notes, *more.found)),
    )


def _ends_block(line: CrontabLine) -> bool:
    """Whether the jobs after this line differ from those before it in more than their times."""
    setting = line.setting
    if setting is None or line.omitted:
        return False
    return setting.name.text not in OF_CRON or setting.name.text in OF_MAIL


class _Converter:
    def __init__(self, spread: Spread, environment: bool) -> None:
        self._spread = spread
        self._environment = environment
        self._set: set[str] = set()
        self._envs: dict[tuple[int, str], Fields] = {}
        self._windows: dict[str, Window | None] = {}

    def convert(self, line: CrontabLine, notes: Notes) -> list[str]:
        """What replaces a line that is no job: nothing for a setting that the jobs have."""
        if line.setting is not None:
            self._set.add(line.setting.name.text)
        if line.omitted:
            shown = f"line {line.number}" if line.omitted in _UNSHOWABLE else line.text.strip(" \t")
            return [not_carried_over(shown, line.omitted)]
        if line.setting is None:
            return line.text.split("\n")
        if not _VARIABLE.fullmatch(line.setting.name.text):
            message = "a krontab line cannot set a variable of this name"
            fix = "set it in the command, with env"
            notes.add(NoteCode.VARIABLE, message, line.setting.name, fix)
            return [not_carried_over(line.text.strip(" \t"), NoteCode.VARIABLE)]
        return []

    def job(self, entry: Entry, notes: Notes, output: list[str]) -> BlockJob:
        task = entry.task
        whole = Token(notes.text, 0)
        if _RUN_PARTS.search(task.command):
            message = "run-parts runs all scripts of a directory one after the other"
            fix = "a job for each script would spread them"
            notes.add(NoteCode.RUN_PARTS, message, whole, fix)
        command, shell = task.command, task.shell
        if task.stdin is not None:
            command, shell = _fed(task, task.stdin), DEFAULT_SHELL
            message = "printf feeds the text after the percent sign to the command"
            notes.add(NoteCode.INPUT, message, whole, "a krontab line has no standard input")
        fields = (
            ("name", entry.name),
            ("command", command),
            ("shell", "true" if shell == DEFAULT_SHELL else shell),
            *([("user", task.user)] if task.user else []),
            *([("cwd", task.cwd)] if task.cwd and self._carries("HOME") else []),
            *([("environment", "clean")] if self._environment else []),
            *_mail(task),
            *[("env", f"{name}={value}") for name, value in task.env if _is_used(name, task)],
        )
        env = self._env(task)
        return BlockJob(self._schedule_text(entry, notes, whole), fields, env, output, notes)

    def _env(self, task: Task) -> Fields:
        """The variables of a job, but for settings that are meant for cron itself."""
        key = (id(task.env), task.user)  # the crontab has them, so no other gets this id
        if key not in self._envs:
            self._envs[key] = tuple(
                ("env", f"{name}={value}")
                for name, value in task.env
                if name not in OF_CRON and self._sets(name, value, task.user)
            )
        return self._envs[key]

    def _sets(self, name: str, value: str, user: str) -> bool:
        is_given = self._environment and self._is_clean(name, value, user)
        return not is_given and self._carries(name) and bool(_VARIABLE.fullmatch(name))

    def _is_clean(self, name: str, value: str, user: str) -> bool:
        """Whether `environment=clean` gives the variable to a run of this user."""
        if name == "HOME":
            return name not in self._set
        given = {"SHELL": DEFAULT_SHELL, "PATH": CLEAN_PATH, **dict.fromkeys(LOGIN, user)}
        return given.get(name) == value

    def _carries(self, name: str) -> bool:
        """Whether lines repeat this variable that cron gives to every job."""
        return self._environment or (name in self._set and name not in LOGIN and name != "SHELL")

    def _schedule_text(self, entry: Entry, notes: Notes, place: Token) -> str:
        text = entry.schedule_text.removesuffix(f" {POLICY}")
        if not self._spread or entry.schedule.is_at_boot:
            return text
        if text not in self._windows:
            self._windows[text] = self._window(entry.schedule)
        if window := self._windows[text]:
            return f"{text} {window}"
        if self._spread != AUTO:
            message = "the runs are too close together for this window"
            notes.add(NoteCode.WINDOW, message, place, "auto proposes one that fits")
        return text

    def _window(self, schedule: Schedule) -> Window | None:
        """The window of a job; None if it would reach the next period, or is too short to help."""
        gap = shortest_gap(schedule, _YEAR)
        gap_s = 0 if gap is None else gap.seconds
        asked_ns = self._spread if isinstance(self._spread, int) else proposed_ns(gap_s)
        return Window(Mode.AFTER, asked_ns) if 0 < asked_ns < gap_s * SECOND_NS else None


def _mail(task: Task) -> list[tuple[str, str]]:
    """The fields that mail what a job prints, if its crontab says to whom."""
    mail = task.hooks and task.hooks.mail
    if not mail or mail.is_implied:
        return []
    sender = [("mail_from", mail.sender)] if mail.sender else []
    return [("mail", ",".join(mail.to)), ("mail_on", mail.on), *sender]


def _is_used(name: str, task: Task) -> bool:
    """Whether a command uses a setting that is meant for cron itself."""
    return name in OF_CRON and name in task.command


def proposed_ns(gap_s: int) -> int:
    """The window for a job whose runs are at least `gap_s` apart; 0 for none."""
    if gap_s < SHORTEST_SPREAD_GAP_S:
        return 0
    return next(length_s for length_s in PROPOSED_S if SPREAD_SHARE * length_s <= gap_s) * SECOND_NS


def _fed(task: Task, stdin: str) -> str:
    """A command for /bin/sh that feeds `stdin` to the task's command and returns its exit code."""
    from shlex import quote

    lines = " ".join(quote(line) for line in stdin.removesuffix("\n").split("\n"))
    # Braces are easier to read, where `; }` after the command certainly ends it.
    is_cut_short = "#" in task.command or "<<" in task.command
    is_cut_short = is_cut_short or task.command.rstrip().endswith((";", "&", "|", "\\"))
    if task.shell == DEFAULT_SHELL and not is_cut_short:
        return f"printf '%s\\n' {lines} | {{ {task.command.rstrip()}; }}"
    return f"printf '%s\\n' {lines} | {quote(task.shell)} -c {quote(task.command)}"
