"""Living processes, as /proc shows them: which is which, which run is still there, and since when.

A pid alone names nobody for long. A process is its pid together with the tick of the boot clock at
which it started. Processes come and go while /proc is read, and one that has gone is no error; but
a /proc that cannot be read is, because nobody may conclude from it that a run has ended.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator
from functools import lru_cache

from kron.core.duration import SECOND_NS
from kron.core.frozen import Frozen

RUN_ID = b"KRON_RUN_ID="

_PROC = "/proc"
_GONE = (FileNotFoundError, ProcessLookupError)
_CLOSED = (*_GONE, PermissionError)
_LONGEST_ENVIRONMENT = 8 << 20
"""More than execve takes. A process can claim any part of its memory to be its environment."""


class _Process(Frozen):
    """The line of a process in /proc/<pid>/stat, as far as it is of use here."""

    pid: int
    state: bytes
    group: int
    session: int
    threads: int
    ticks: int

    @property
    def is_running(self) -> bool:
        """Not a zombie. One whose first thread has ended looks like one while others go on."""
        return self.state not in (b"Z", b"X", b"x") or self.threads > 1


@lru_cache(maxsize=1)
def boot_id() -> str:
    """The name of this boot: pids and ticks mean nothing across it."""
    return _read(f"{_PROC}/sys/kernel/random/boot_id").decode().strip()


def start_ticks(pid: int) -> int | None:
    """When the process started, in ticks since the boot. None: there is no such process."""
    process = _look(pid)
    return None if process is None else process.ticks


def is_alive(pid: int, ticks: int) -> bool:
    """Whether that very process, and not a later one of the same number, still runs."""
    process = _look(pid)
    return process is not None and process.ticks == ticks and process.is_running


def age_ns(ticks: int) -> int:
    """How long ago a process with these start ticks started."""
    started_ns = ticks * SECOND_NS // os.sysconf("SC_CLK_TCK")
    return max(0, time.clock_gettime_ns(time.CLOCK_BOOTTIME) - started_ns)


def members(group: int) -> list[int]:
    """The processes of a process group that still run."""
    return [process.pid for process in _running() if process.group == group]


def children() -> list[int]:
    """The children of this process, those that have ended too; none if the kernel does not say."""
    own = os.getpid()
    try:
        words = _read(f"/proc/{own}/task/{own}/children").split()
    except OSError:
        return []
    return [int(word) for word in words]


def find_runs(run_ids: Collection[str], uid_of: Callable[[str], int]) -> dict[str, int]:
    """The pid of each of these runs that still goes on.

    A run is a session leader with its id in its environment, and belongs to the user that the run
    is of: anybody can write anything into an environment, but not change who they are.
    """
    if not run_ids:
        return {}
    uids = {os.fsencode(run_id): uid_of(run_id) for run_id in run_ids}
    users = set(uids.values())
    found: dict[bytes, _Process] = {}
    for process in _running():
        if process.session != process.pid:
            continue
        run_id = _run_of(process, uids, users)
        # Of several, the first: what a run started carries its id as well.
        if run_id is not None and (run_id not in found or _is_before(process, found[run_id])):
            found[run_id] = process
    return {os.fsdecode(run_id): process.pid for run_id, process in found.items()}


def _is_before(one: _Process, other: _Process) -> bool:
    return (one.ticks, one.pid) < (other.ticks, other.pid)


def _run_of(process: _Process, uids: dict[bytes, int], users: set[int]) -> bytes | None:
    """The run that a process is, if it is one of these and has its user."""
    try:
        # Held open, the directory stays that of this process, whatever becomes of its number.
        directory = os.open(f"{_PROC}/{process.pid}", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except _CLOSED:
        return None
    try:
        held = _parse(process.pid, _read("stat", directory))
        if held is None or held.ticks != process.ticks:
            return None
        uid = _real_uid(_read("status", directory))
        if uid not in users:
            return None
        run_id = _run_id(_environment(held, directory))
    except _CLOSED:
        return None
    finally:
        os.close(directory)
    return run_id if run_id is not None and uids.get(run_id) == uid else None


def _real_uid(status: bytes) -> int:
    # The name of a program comes before, but a newline in it is escaped there.
    numbers = status.partition(b"\nUid:")[2].split(maxsplit=1)
    return int(numbers[0]) if numbers else -1


def _environment(process: _Process, directory: int) -> bytes:
    """The environment, also where the first thread has ended and only another one still has it."""
    threads = os.listdir(f"{_PROC}/{process.pid}/task") if process.state == b"Z" else ()  # noqa: PTH208
    for path in ("environ", *(f"task/{thread}/environ" for thread in threads)):
        try:
            environment = _read(path, directory)
        except _CLOSED:
            continue
        if environment:
            return environment
    return b""


def _run_id(environment: bytes) -> bytes | None:
    """The first, as getenv has it."""
    for variable in environment.split(b"\0"):
        if variable.startswith(RUN_ID):
            return variable[len(RUN_ID) :]
    return None


def _running() -> Iterator[_Process]:
    """Every process that runs and may be looked at (a /proc with hidepid hides other users')."""
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
    # The second field is the name of the program in parentheses, and may hold anything, also ")".
    fields = line[line.rindex(b")") + 1 :].split() if b")" in line else []
    if len(fields) < 20:
        return None  # it went while being read
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
