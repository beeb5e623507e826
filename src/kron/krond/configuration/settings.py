"""The settings: the command line of `krond start`."""

from __future__ import annotations

from enum import StrEnum

from kron.core.frozen import Frozen
from kron.jobs.hooks import MailOn
from kron.jobs.source import FileAccess
from kron.jobs.task import Destination, Output, Task
from kron.logs.event import Level
from kron.logs.writer import Format
from kron.runtime import DEFAULT_SLACK_S

UNLIMITED_RUNS = 1 << 62
DEFAULT_CLOCK_HOLD_S = 300
DAY_S = 86_400


class JobSource(StrEnum):
    KRONTAB = "krontab"
    CRON = "cron"


class OnStop(StrEnum):
    WAIT = "wait"
    TERMINATE = "terminate"
    LEAVE = "leave"


class OutputSettings(Frozen):
    """Where and for how long the outputs of runs are kept."""

    directory: str = ""
    most: int = 50
    """How many outputs of a job are kept."""
    age_s: int = 30 * DAY_S
    is_default: bool = False
    """Whether an output is kept, and not inherited, unless its line says something else.

    In the background krond has no output that a run could inherit, so there it also holds for a
    line that says `inherit`.
    """
    has_sendmail: bool = False
    """Whether the host had one when krond started."""

    def mails_output(self, task: Task) -> bool:
        """Whether what a run prints is mailed to somebody."""
        mail = task.hooks and task.hooks.mail
        return bool(
            mail and mail.on is MailOn.OUTPUT and (self.has_sendmail or not mail.is_implied)
        )

    def resolved(self, output: Output | None, task: Task) -> Output:
        """Where an output of a task goes, by what its line says. To be mailed, it must be kept."""
        if output is not None and output.destination is not Destination.INHERIT:
            return output
        is_kept = self.is_default or (output is None and self.mails_output(task))
        return Output(Destination.KEEP if is_kept else Destination.INHERIT)


class KrondSettings(Frozen):
    state_dir: str
    access: FileAccess
    directory: str = ""
    """In which krond was started; '' if that is gone."""
    config: tuple[str, ...] = ()
    """Files and directories of krontab files; if empty, the default ones that exist."""
    sources: tuple[JobSource, ...] = (JobSource.KRONTAB,)
    node: str = ""
    """The host's part of identities; '' for none."""
    slack_s: int = DEFAULT_SLACK_S
    clock_hold_s: int = DEFAULT_CLOCK_HOLD_S
    """How long a clock that jumped by hours is not believed; 0: not at all."""
    catch_up_spread_s: int = 0
    """Over how long overdue runs are spread; 0: they start at once."""
    most_running: int = UNLIMITED_RUNS
    on_stop: OnStop = OnStop.WAIT
    is_once: bool = False
    outputs: OutputSettings = OutputSettings()
    log_file: str = ""
    """'' for the standard error."""
    output_file: str = ""
    """The file for krond's own standard output and error in the background, else ''."""
    log_format: Format = Format.TEXT
    log_level: Level = Level.INFO
    explain: bool = False
    pid_file: str = ""
    limits: tuple[tuple[str, int], ...] = ()
    """The limits of krond and its runs, by the kernel's name: NOFILE, NPROC."""
