"""The cgroup of a run (version 2): whatever the run starts is in it, until it ends.

A process can leave its process group and its session, but not its cgroup, unless root moves it. So
this is how krond finds, stops and measures what a run has started. The run enters it before its
program begins. `kron.krond.cgroups` says where it is, and makes it.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress

from kron.core.frozen import Frozen

_PROCS = "cgroup.procs"
_EVENTS = "cgroup.events"
_LOOKS = 20
"""How often an old kernel's cgroup is looked at for processes to kill."""


class Usage(Frozen):
    """What the processes of a run have used. None: the kernel does not say."""

    cpu_us: int | None = None
    peak_bytes: int | None = None
    """The most memory that they had at one time. It needs the memory controller."""

    @property
    def cpu_seconds(self) -> float | None:
        return None if self.cpu_us is None else round(self.cpu_us / 1_000_000, 3)


NO_USAGE = Usage()


class Cgroup:
    """One directory of the hierarchy. `home` is the one in which krond itself is."""

    __slots__ = ("_home", "path")

    def __init__(self, path: str, home: str) -> None:
        self.path = path
        self._home = home

    @property
    def entrance(self) -> str:
        """The file to which a process writes 0 to move into it."""
        return f"{self.path}/{_PROCS}"

    def enter(self) -> None:
        """Move this process into it."""
        write(self.entrance, "0")

    def leave(self) -> None:
        """Move this process, which is krond, back to its own."""
        try:
            write(f"{self._home}/{_PROCS}", "0")
        except OSError:  # it was empty for a moment, and somebody has removed it
            with suppress(OSError):
                os.mkdir(self._home)  # noqa: PTH102
                write(f"{self._home}/{_PROCS}", "0")

    def is_populated(self) -> bool:
        """Whether it, or a cgroup below it, has a process that runs."""
        return "populated 1" in _read(f"{self.path}/{_EVENTS}")

    def watch(self) -> int:
        """A descriptor that has EPOLLPRI when `is_watched_populated` may have changed."""
        return os.open(f"{self.path}/{_EVENTS}", os.O_RDONLY | os.O_CLOEXEC)

    def processes(self) -> list[int]:
        """The pids of its processes and of those below it, except krond's own."""
        return [pid for pid in self._listed() if pid not in (0, os.getpid())]

    def signal(self, number: signal.Signals, *, except_group: int) -> None:
        """Send a signal to each of its processes that is not in this process group."""
        for pid in self.processes():
            with suppress(ProcessLookupError, PermissionError):
                if os.getpgid(pid) != except_group:
                    os.kill(pid, number)

    def kill(self) -> None:
        """Kill all of its processes, also one that is being forked."""
        if os.getpid() not in self._listed():  # krond could not get back to its own
            try:
                write(f"{self.path}/cgroup.kill", "1")
            except OSError:  # a kernel before 5.14
                pass
            else:
                return
        for _ in range(_LOOKS):  # one that forks faster than this goes on for now
            for pid in self.processes():
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)

    def usage(self) -> Usage:
        peak = _read(f"{self.path}/memory.peak").strip()
        cpu_us = _counters(f"{self.path}/cpu.stat").get("usage_usec")
        return Usage(cpu_us, int(peak) if peak else None)

    def why_killed(self) -> str:
        """For people, if the kernel has killed one of its processes for want of memory; else ''."""
        events = _counters(f"{self.path}/memory.events")
        if not events.get("oom_kill"):
            return ""
        if events.get("oom"):
            return "it reached its memory_max"
        return "the kernel killed a process of it for want of memory"

    def remove(self) -> None:
        """Remove it, and those that the run has made below it. None of them has a process."""
        try:
            os.rmdir(self.path)  # noqa: PTH106
        except OSError:
            for directory, _, _ in os.walk(self.path, topdown=False):
                with suppress(OSError):
                    os.rmdir(directory)  # noqa: PTH106

    def _listed(self) -> list[int]:
        return [
            int(word)
            for directory, _, _ in os.walk(self.path)
            for word in _read(f"{directory}/{_PROCS}").split()
        ]


def is_watched_populated(descriptor: int) -> bool:
    """`Cgroup.is_populated` by the descriptor of `watch`, which is quiet until that changes."""
    try:
        return b"populated 1" in os.pread(descriptor, 256, 0)
    except OSError:
        return False  # it was removed


def write(path: str, text: str) -> None:
    """Write to a file of the kernel in one piece; it is never made."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def _read(path: str) -> str:
    """'' if it does not exist: the cgroup is gone, or has no such controller."""
    try:
        with open(path, encoding="ascii") as file:  # noqa: PTH123
            return file.read()
    except OSError:
        return ""


def _counters(path: str) -> dict[str, int]:
    """A file of the kernel with a name and a number on each line."""
    pairs = (line.split() for line in _read(path).splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2}
