"""A task: what one run of a job does, whatever file it came from."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from kron.core.duration import SECOND_NS
from kron.core.frozen import Frozen
from kron.jobs.hooks import Hooks, is_url
from kron.jobs.quoting import split_words

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""The search path for the program of a run whose environment has no PATH."""

CLEAN_PATH = "/usr/bin:/bin"
"""The PATH of a run that does not inherit krond's environment, as cron has it."""

DEFAULT_SHELL = "/bin/sh"
DEFAULT_GRACE_NS = 10 * SECOND_NS
DEFAULT_OUTPUT_LIMIT = 2**20
DEFAULT_RETRY_DELAY_NS = 30 * SECOND_NS
LONGEST_RETRY_DELAY_NS = 3_600 * SECOND_NS
"""Where the doubling of a delay ends, unless it began with more."""
JOURNAL_SOCKET = "/run/systemd/journal/socket"


class Destination(StrEnum):
    KEEP = "keep"
    """A file of the run's own, in krond's directory for outputs."""
    INHERIT = "inherit"
    DISCARD = "discard"
    SYSLOG = "syslog"
    JOURNAL = "journal"
    FILE = "file"


class Output(Frozen):
    """A destination and, for a file, its path with tokens."""

    destination: Destination
    path: str = ""

    def __str__(self) -> str:
        """As a line has it."""
        return f"{self.destination}:{self.path}" if self.path else str(self.destination)

    def path_at(self, start: datetime, *, name: str, period_id: str) -> str:
        """The file for a run that starts at `start` (UTC). A `/` in the name becomes a `-`."""
        import re

        # Token by token: `%s` of the platform's strftime reads the host's zone.
        second = str(int(start.timestamp()))
        dated = re.sub(
            "%.", lambda token: second if token[0] == "%s" else start.strftime(token[0]), self.path
        )
        return dated.replace("{name}", name.replace("/", "-")).replace("{period}", period_id)


class EnvFile(Frozen):
    """A file of environment variables, in the format of systemd's EnvironmentFile=."""

    path: str
    may_lack: bool = False


class LimitedResource(StrEnum):
    NOFILE = "nofile"
    NPROC = "nproc"
    AS = "as"
    CORE = "core"


class CgroupLimit(StrEnum):
    """A limit of a run's own cgroup, by the file that the kernel has for it."""

    MEMORY_MAX = "memory.max"
    CPU_WEIGHT = "cpu.weight"
    PIDS_MAX = "pids.max"

    @property
    def field(self) -> str:
        """As a line has it: memory_max."""
        return self.value.replace(".", "_")

    @property
    def controller(self) -> str:
        """What a cgroup needs to have it: memory."""
        return self.value.partition(".")[0]


UNLIMITED = -1


class Task(Frozen):
    """A command and how to run it. Empty text and None mean: as for krond itself."""

    command: str
    """As written, to show it."""
    argv: tuple[str, ...]
    """The program and its arguments."""
    shell: str = ""
    user: str = ""
    group: str = ""
    cwd: str = ""
    cwd_may_lack: bool = False
    """Whether a run starts in / if its directory does not exist, as with cron."""
    umask: int | None = None
    env: tuple[tuple[str, str], ...] = ()
    env_file: EnvFile | None = None
    """Its variables come before those of `env`."""
    inherits_env: bool = True
    """Whether a run inherits krond's environment. If not, as for the jobs of a crontab, it begins
    with the variables that cron gives to every job."""
    stdin: str | None = None
    """The run's standard input, from the `%` of a crontab. None: /dev/null."""
    timeout_ns: int | None = None
    grace_ns: int = DEFAULT_GRACE_NS
    retries: int = 0
    """How often a run of a period that failed is tried again."""
    retry_delay_ns: int = DEFAULT_RETRY_DELAY_NS
    """How long after the first failure. It doubles with each further one."""
    retry_within_ns: int | None = None
    """How long after its chosen time a period may be tried again. None: the deadline, if set."""
    slots: tuple[str, ...] = ()
    """What a run shares with those of other jobs; it waits until it has all of them."""
    stdout: Output | None = None
    stderr: Output | None = None
    output_limit: int = DEFAULT_OUTPUT_LIMIT
    """How many bytes of its output are kept, where that is `Destination.KEEP`."""
    limits: tuple[tuple[LimitedResource, int], ...] = ()
    cgroup_limits: tuple[tuple[CgroupLimit, int], ...] = ()
    nice: int | None = None
    hooks: Hooks | None = None

    def of_hook(self, hook: str) -> Task:
        """What a hook that is a command does: like a run, but with another command."""
        argv = (self.shell, "-c", hook) if self.shell else split_words(hook)
        return self.replace(command=hook, argv=argv)

    def of_hooks(self) -> list[tuple[str, Task]]:
        """What each hook that is a command does, by its field."""
        hooks = self.hooks.commands() if self.hooks else []
        return [(key, self.of_hook(hook)) for key, hook in hooks if not is_url(hook)]
