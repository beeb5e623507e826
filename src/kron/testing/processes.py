"""Processes that exist in a table only, for krond in virtual time.

They outlive the krond that started them, end when their time is over, and can be signalled. A
descriptor that becomes readable at the end of one is real, since the loop waits on descriptors.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Collection, Iterator, Mapping

from kron.core.duration import SECOND_NS
from kron.krond.process.processes import Claim, Processes
from kron.testing.clock import FakeClock

_TICK_NS = SECOND_NS // 100
_BOOT_ID = "0b3c1e50-1111-4222-8333-{:012}"


class FakeProcess:
    """One process, which is its own group."""

    def __init__(self, pid: int, job: str, run_id: str, began_ns: int, ends_ns: int) -> None:
        self.pid = pid
        self.job = job
        self.run_id = run_id
        self.ticks = 0
        self.began_ns = began_ns
        self.ends_ns = ends_ns
        """When it ends by itself, by the monotonic clock."""
        self.ignores_term = False
        self.ended_by: signal.Signals | None = None
        self.is_over = False
        self.watched: list[int] = []


class FakeProcesses(Processes):
    def __init__(self, clock: FakeClock) -> None:
        self.all: list[FakeProcess] = []
        """Those of earlier boots, too."""
        self._clock = clock
        self._table: dict[int, FakeProcess] = {}
        self._boots = 0
        self._boot_ns = 0
        """When the host was booted, by the monotonic clock, which goes on here."""

    def start(self, job: str, run_id: str, takes_s: int) -> FakeProcess:
        """A process begins."""
        now_ns = self._clock.monotonic_ns()
        ends_ns = now_ns + takes_s * SECOND_NS
        process = FakeProcess(1000 + len(self._table), job, run_id, now_ns, ends_ns)
        process.ticks = (now_ns - self._boot_ns) // _TICK_NS
        self._table[process.pid] = process
        self.all.append(process)
        return process

    def reboot(self) -> None:
        """Nothing that ran goes on, and process ids are given again."""
        self.lose_watchers()
        now_ns = self._clock.monotonic_ns()
        for process in self._table.values():
            process.ends_ns = min(process.ends_ns, now_ns)
        self.pass_time()
        self._table.clear()
        self._boots += 1
        self._boot_ns = now_ns

    def active(self, job: str = "") -> int:
        """How many processes of a job, or of all jobs, run."""
        running = [each for each in self._table.values() if not each.is_over]
        return sum(each.job == job or not job for each in running)

    def next_end_ns(self) -> int | None:
        """When the next process ends by itself."""
        return min((p.ends_ns for p in self._table.values() if not p.is_over), default=None)

    def pass_time(self) -> None:
        """Let those end whose time has come."""
        now_ns = self._clock.monotonic_ns()
        for process in self._table.values():
            if not process.is_over and process.ends_ns <= now_ns:
                process.is_over = True
                for descriptor in process.watched:
                    os.eventfd_write(descriptor, 1)
                process.watched.clear()

    def lose_watchers(self) -> None:
        """The krond that watched them is gone, and its descriptors with it."""
        for process in self._table.values():
            for descriptor in process.watched:
                os.close(descriptor)
            process.watched.clear()

    # What krond sees

    def boot_id(self) -> str:
        return _BOOT_ID.format(self._boots)

    def watch(self, pid: int) -> int:
        process = self._table[pid]
        descriptor = os.eventfd(1 if process.is_over else 0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        if not process.is_over:
            process.watched.append(descriptor)
        return descriptor

    def reap(self, pid: int) -> tuple[int | None, int | None]:
        """All of them end well, but for those that were stopped."""
        process = self._table[pid]
        assert process.is_over, "only an ended process is reaped"
        return (0, None) if process.ended_by is None else (None, process.ended_by)

    def reap_if_ended(self, pid: int) -> bool:
        """Nobody waits for these."""
        return False

    def signal_group(self, group: int, number: signal.Signals) -> None:
        """A process that is asked to end does so at once, unless it takes no notice."""
        process = self._table[group]
        fatal = (signal.SIGKILL,) if process.ignores_term else (signal.SIGTERM, signal.SIGKILL)
        if number in fatal and not process.is_over:
            process.ended_by = number
            process.ends_ns = self._clock.monotonic_ns()
            self.pass_time()

    def start_ticks(self, pid: int) -> int | None:
        process = self._table.get(pid)
        return None if process is None else process.ticks

    def age_ns(self, ticks: int) -> int:
        return self._clock.monotonic_ns() - self._boot_ns - ticks * _TICK_NS

    def is_alive(self, pid: int, ticks: int) -> bool:
        process = self._table.get(pid)
        return process is not None and process.ticks == ticks and not process.is_over

    def members(self, group: int) -> list[int]:
        process = self._table.get(group)
        return [] if process is None or process.is_over else [group]

    def children(self) -> list[int]:
        return []

    def find_runs(self, uid_of: Mapping[str, int]) -> dict[str, int]:
        running = (process for process in self._table.values() if not process.is_over)
        return {each.run_id: each.pid for each in running if each.run_id in uid_of}

    def claims(self, run_ids: Collection[str], uids: Collection[int]) -> Iterator[Claim]:
        """They have no environment to claim anything in; those of this machine are not meant."""
        return iter(())
