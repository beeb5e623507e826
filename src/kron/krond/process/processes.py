"""Processes: watched, signalled, reaped, and found again as /proc shows them.

A pid alone is not enough, because it is reused. A process is its pid together with the tick of the
boot clock at which it started. Processes come and go while /proc is read, and one that has gone is
not an error. A /proc that cannot be read is one: it does not mean that a run has ended.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache

from kron.core.duration import SECOND_NS
from kron.core.frozen import Frozen

HOOK_EVENT = b"KRON_EVENT"
"""The variable that only hooks have, by which they are not mistaken for runs."""
_PROC = "/proc"
_GONE = (FileNotFoundError, ProcessLookupError)
_CLOSED = (*_GONE, PermissionError)
_LONGEST_ENVIRONMENT = 8 << 20
"""More than execve accepts. A process can declare any part of its memory its environment."""


class _Process(Frozen):
    """The fields of /proc/<pid>/stat that are used here."""

    pid: int
    state: bytes
    group: int
    session: int
    threads: int
    ticks: int

    @property
    def is_running(self) -> bool:
        """Not a zombie. A process whose first thread has ended looks like one while others run."""
        return self.state not in (b"Z", b"X", b"x") or self.threads > 1


class Claim(Frozen):
    """A process that leads its session and has the id of a run in its environment.

    Its user is a fact. The rest is what the environment says, which any process can write.
    """

    pid: int
    uid: int
    run_id: str
    job: str
    """The name of the job."""
    period: str
    """'' for a manual run."""
    chosen: str


class Processes:
    """The processes of the host. Tests put a table of processes in its place."""

    def boot_id(self) -> str:
        """The id of this boot: pids and ticks are only valid within one boot."""
        return _boot_id()

    def watch(self, pid: int) -> int:
        """A descriptor that is readable once the process has ended; `ProcessLookupError`: gone."""
        return os.pidfd_open(pid)

    def reap(self, pid: int) -> tuple[int | None, int | None]:
        """The exit code of a child that has ended, or the signal that ended it."""
        result = os.waitid(os.P_PID, pid, os.WEXITED)
        assert result is not None  # only with WNOHANG
        if result.si_code == os.CLD_EXITED:
            return result.si_status, None
        return None, result.si_status

    def reap_if_ended(self, pid: int) -> bool:
        """Reap a child that has ended, unless that was done already. True: its exit code was 0."""
        with suppress(ChildProcessError):
            return os.waitpid(pid, os.WNOHANG) == (pid, 0)
        return False

    def signal_group(self, group: int, number: signal.Signals) -> None:
        """Send a signal to every process of a group, if it has any."""
        with suppress(ProcessLookupError):
            os.killpg(group, number)

    def start_ticks(self, pid: int) -> int | None:
        """When the process started, in ticks since the boot. None: it does not exist."""
        process = _look(pid)
        return None if process is None else process.ticks

    def is_alive(self, pid: int, ticks: int) -> bool:
        """Whether this process still runs, and not a later one with the same pid."""
        process = _look(pid)
        return process is not None and process.ticks == ticks and process.is_running

    def age_ns(self, ticks: int) -> int:
        """How long ago a process with these start ticks started."""
        started_ns = ticks * SECOND_NS // os.sysconf("SC_CLK_TCK")
        return max(0, time.clock_gettime_ns(time.CLOCK_BOOTTIME) - started_ns)

    def members(self, group: int) -> list[int]:
        return [process.pid for process in _running() if process.group == group]

    def children(self) -> list[int]:
        """The children of this process, zombies included; none if the kernel does not list them."""
        own = os.getpid()
        try:
            words = _read(f"/proc/{own}/task/{own}/children").split()
        except OSError:
            return []
        return [int(word) for word in words]

    def find_runs(self, uid_of: Mapping[str, int]) -> dict[str, int]:
        """The pid of each of these runs, given with their users, that is still active.

        A run is a session leader with the run id in its environment and with the user of the run:
        any process can write any environment, but it cannot choose its user.
        """
        found: dict[str, int] = {}
        for claim in self.claims(uid_of, set(uid_of.values())):
            if claim.uid == uid_of[claim.run_id]:
                found.setdefault(claim.run_id, claim.pid)
        return found

    def claims(self, run_ids: Collection[str], uids: Collection[int]) -> Iterator[Claim]:
        """The processes of these users that claim to be one of these runs.

        The first to start comes first: of those with the right user it is the run, because the
        children of a run have its id too.
        """
        if not run_ids:
            return
        for process in sorted(_running(), key=lambda process: (process.ticks, process.pid)):
            if process.session == process.pid:
                claim = _claim(process, uids)
                if claim is not None and claim.run_id in run_ids:
                    yield claim


@lru_cache(maxsize=1)
def _boot_id() -> str:
    return _read(f"{_PROC}/sys/kernel/random/boot_id").decode().strip()


def _claim(process: _Process, uids: Collection[int]) -> Claim | None:
    """What a process of one of these users says of itself; None if it names no run."""
    try:
        # An open directory stays that of this process, even if its pid is reused.
        directory = os.open(f"{_PROC}/{process.pid}", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except _CLOSED:
        return None
    try:
        held = _parse(process.pid, _read("stat", directory))
        if held is None or held.ticks != process.ticks:
            return None
        uid = _real_uid(_read("status", directory))
        if uid not in uids:
            return None
        variables = _variables(_environment(held, directory))
    except _CLOSED:
        return None
    finally:
        os.close(directory)
    if HOOK_EVENT in variables:
        return None  # a hook has the id of the run that it is about
    run_id, job, period, chosen = (
        os.fsdecode(variables.get(name, b""))
        for name in (b"KRON_RUN_ID", b"KRON_JOB", b"KRON_PERIOD", b"KRON_CHOSEN")
    )
    return Claim(process.pid, uid, run_id, job, period, chosen) if run_id else None


def _real_uid(status: bytes) -> int:
    # The program's name comes before, but newlines in it are escaped.
    numbers = status.partition(b"\nUid:")[2].split(maxsplit=1)
    return int(numbers[0]) if numbers else -1


def _environment(process: _Process, directory: int) -> bytes:
    """The environment, also if the first thread has ended and only another one still has it."""
    threads = os.listdir(f"{_PROC}/{process.pid}/task") if process.state == b"Z" else ()  # noqa: PTH208
    for path in ("environ", *(f"task/{thread}/environ" for thread in threads)):
        try:
            environment = _read(path, directory)
        except _CLOSED:
            continue
        if environment:
            return environment
    return b""


def _variables(environment: bytes) -> dict[bytes, bytes]:
    """Those of krond. Of several with one name the first counts, as for getenv."""
    variables: dict[bytes, bytes] = {}
    for variable in environment.split(b"\0"):
        if variable.startswith(b"KRON_"):
            name, _, value = variable.partition(b"=")
            variables.setdefault(name, value)
    return variables


def _running() -> Iterator[_Process]:
    """Every running process that is visible (with hidepid, /proc hides those of other users)."""
    for name in os.listdir(_PROC):  # noqa: PTH208
        if name.isdigit():
            try:
                process = _look(int(name))
            except PermissionError:
                continue
            if process is not None and process.is_running:
                yield process


def _look(pid: int) -> _Process | None:
    try:
        return _parse(pid, _read(f"{_PROC}/{pid}/stat"))
    except _GONE:
        return None


def _parse(pid: int, line: bytes) -> _Process | None:
    # The second field is the program's name in parentheses, which may contain ")" itself.
    fields = line[line.rindex(b")") + 1 :].split() if b")" in line else []
    if len(fields) < 20:
        return None  # it ended while being read
    return _Process(
        pid, fields[0], int(fields[2]), int(fields[3]), int(fields[17]), int(fields[19])
    )


def _read(path: str, directory: int | None = None) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=directory)
    try:
        pieces = []
        left = _LONGEST_ENVIRONMENT
        while left > 0 and (piece := os.read(descriptor, min(left, 1 << 16))):
            pieces.append(piece)
            left -= len(piece)
        return b"".join(pieces)
    finally:
        os.close(descriptor)
