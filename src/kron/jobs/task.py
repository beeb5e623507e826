"""A task: what one run of a job does, apart from when. Where it came from does not matter here."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from kron.core.duration import SECOND_NS
from kron.core.frozen import Frozen

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where the program of a run is searched for if its environment has no PATH."""

DEFAULT_SHELL = "/bin/sh"
DEFAULT_GRACE_NS = 10 * SECOND_NS


class Destination(StrEnum):
    """Where a run's output goes."""

    INHERIT = "inherit"
    DISCARD = "discard"
    SYSLOG = "syslog"
    FILE = "file"


class Output(Frozen):
    """A destination and, for a file, its path with tokens in it."""

    destination: Destination = Destination.INHERIT
    path: str = ""

    def path_at(self, start: datetime, *, name: str, period_id: str) -> str:
        """The file for a run that starts at `start` (UTC). A `/` in the name becomes a `-`."""
        import re

        # Token by token: `%s` of the platform's strftime reads the host's zone.
        second = str(int(start.timestamp()))
        dated = re.sub(
            "%.", lambda token: second if token[0] == "%s" else start.strftime(token[0]), self.path
        )
        return dated.replace("{name}", name.replace("/", "-")).replace("{period}", period_id)

    def __str__(self) -> str:
        return f"file:{self.path}" if self.destination is Destination.FILE else self.destination


class Resource(StrEnum):
    """What a run may use, each as the kernel's RLIMIT of the same name."""

    NOFILE = "nofile"
    NPROC = "nproc"
    AS = "as"
    CORE = "core"


UNLIMITED = -1


class Task(Frozen):
    """A command and its surroundings. Empty text and None mean: as krond has it."""

    command: str
    """As written, for people."""
    argv: tuple[str, ...]
    """What is executed."""
    shell: str = ""
    user: str = ""
    group: str = ""
    cwd: str = ""
    cwd_may_lack: bool = False
    """Whether a run starts in / where its directory is missing, as cron's do."""
    umask: int | None = None
    env: tuple[tuple[str, str], ...] = ()
    inherits_env: bool = True
    """Whether krond's own environment comes first. It does not for a job of a crontab."""
    stdin: str | None = None
    """What the run reads; only a crontab's `%` says it. None: nothing, as /dev/null."""
    timeout_ns: int | None = None
    grace_ns: int = DEFAULT_GRACE_NS
    stdout: Output = Output()
    stderr: Output = Output()
    limits: tuple[tuple[Resource, int], ...] = ()
    nice: int | None = None
