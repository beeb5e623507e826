"""The settings: everything that `krond start` was told on its command line."""

from __future__ import annotations

from enum import StrEnum

from kron.core.frozen import Frozen
from kron.jobs.identity import Node
from kron.jobs.source import Access
from kron.logs.event import Level
from kron.logs.writer import Format

DEFAULT_SLACK_S = 5
UNLIMITED_RUNS = 1 << 62


class Source(StrEnum):
    """Where jobs are read from."""

    KRONTAB = "krontab"
    CRON = "cron"


class OnStop(StrEnum):
    """What becomes of the runs that are going on when krond is told to stop."""

    WAIT = "wait"
    TERMINATE = "terminate"
    LEAVE = "leave"


class Settings(Frozen):
    """How krond runs."""

    state_dir: str
    access: Access
    config: tuple[str, ...] = ()
    """Files and directories of krontab files; none: the usual ones, as far as they exist."""
    sources: tuple[Source, ...] = (Source.KRONTAB,)
    node: Node = Node()
    slack_s: int = DEFAULT_SLACK_S
    most_running: int = UNLIMITED_RUNS
    on_stop: OnStop = OnStop.WAIT
    is_once: bool = False
    log_file: str = ""
    """'' for the standard error."""
    output_file: str = ""
    """Where the standard output and error go in the background; '' in the foreground."""
    log_format: Format = Format.TEXT
    log_level: Level = Level.INFO
    explain: bool = False
    pid_file: str = ""
    limits: tuple[tuple[str, int], ...] = ()
    """The limits that krond and so its runs have, by the kernel's name: NOFILE, NPROC."""
