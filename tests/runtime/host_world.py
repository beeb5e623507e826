"""krond for the simulation: its own loop, store and starter on real files; its processes are not.

The state directory is in memory. A crash drops all that krond had open, and writes nothing.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from kron.core.duration import SECOND_NS
from kron.engine.ledger import Ledger
from kron.jobs.configuration import Configuration
from kron.jobs.document import Document, read_document
from kron.jobs.source import own_access
from kron.krond.daemon import Daemon
from kron.krond.host import Host
from kron.krond.notify import Notifier
from kron.krond.process.failure import StartError
from kron.krond.run import PendingRun
from kron.krond.settings import KrondSettings
from kron.krond.state.errors import PersistenceError, StateCorrupt
from kron.krond.state.record import JobState, RunRecord
from kron.krond.state.store import StateStore
from kron.krond.surroundings import Surroundings
from kron.krond.timers import Timers
from kron.testing.clock import FakeClock
from kron.testing.life import SLOW_S, FaultKind, Life
from kron.testing.loop import FakePoller, FakeTimer
from kron.testing.processes import FakeProcesses
from kron.testing.world import SLACK_S, Began, Effects, StoreError, World
from tests.runtime.said import SilentJournal

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
CONFIG = "/etc/krond.d/jobs.kron"


@contextmanager
def store_errors() -> Iterator[None]:
    """Let krond's own error of its store be the one that the simulation knows."""
    try:
        yield
    except PersistenceError as error:
        raise StoreError(str(error)) from None


class CountedStore(StateStore):
    """krond's store. Every change on disk is an effect."""

    def watch(self, world: HostWorld) -> None:
        self._world = world

    def commit(self, states: Sequence[JobState], *, quickly: bool = False) -> None:
        self._world.effects.check()
        if states and self._world.fails(FaultKind.STORE_FAILS):
            raise PersistenceError("no room", OSError(errno.ENOSPC, "no room"))
        if states and self._world.fails(FaultKind.STORE_SLOW):
            self._world.clock.advance(SLOW_S)
        super().commit(states, quickly=quickly)
        if states:
            self._world.effects.happened()

    def write_back(self) -> None:
        self._world.effects.check()
        is_something = bool(self._replacer._bundled or self._replacer._replaced)
        super().write_back()
        if is_something:
            self._world.effects.happened()

    def note_run(self, run: RunRecord) -> None:
        self._world.effects.check()
        super().note_run(run)
        self._world.effects.happened()

    def remove_proof(self, run_id: str) -> None:
        self._world.effects.check()
        super().remove_proof(run_id)
        self._world.effects.happened()

    def abandon(self) -> None:
        """What the kernel does for a process that was killed."""
        os.close(self._lock._descriptor)
        self._runs.close()
        self.directory.close()


class TableLauncher(Surroundings):
    """Starts processes in the table, which leave their proof as real ones do."""

    def __init__(self, world: HostWorld) -> None:
        super().__init__({}, None)
        self._world = world

    def start(self, pending: PendingRun, proof: str, now_s: int) -> tuple[int, list[int]]:
        world = self._world
        world.effects.check()
        if world.fails(FaultKind.START_FAILS):
            raise StartError("no room for a process", for_good=False)
        os.close(os.open(proof, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        name, record = pending.member.entry.name, pending.record
        assert record.nominal_s is not None
        assert record.chosen_s is not None
        began = Began(
            name,
            record.nominal_s,
            record.chosen_s,
            now_s,
            world.processes.active(name),
        )
        world.seen.began.append(began)
        pid = world.processes.start(name, pending.run_id, world.takes_s[name])
        world.effects.happened()
        return pid, []


class TablePoller(FakePoller):
    """Sleeps until a process of the table ends, at the longest."""

    def __init__(self, clock: FakeClock, timer: FakeTimer, processes: FakeProcesses) -> None:
        super().__init__(clock, timer)
        self._processes = processes

    def wait(self, timeout_s: float | None) -> list[tuple[Callable[[int], None], int]]:
        ends_ns = self._processes.next_end_ns()
        if ends_ns is not None:
            left_s = max(0, ends_ns - self._clock.monotonic_ns()) / SECOND_NS
            timeout_s = left_s if timeout_s is None else min(timeout_s, left_s)
        ready = super().wait(timeout_s)
        self._processes.pass_time()
        return ready or self._ready()


class HostWorld(World):
    """A host with a krond."""

    def __init__(self, life: Life, effects: Effects) -> None:
        super().__init__(life, effects)
        self.processes = FakeProcesses(self.clock)
        self._texts = {job.name: job.schedule for job in life.jobs}
        self._directory = tempfile.mkdtemp(prefix="kron-life-", dir=MEMORY)
        self._settings = KrondSettings(
            state_dir=f"{self._directory}/state", access=own_access(), slack_s=SLACK_S
        )
        self._store: CountedStore | None = None

    def boot(self) -> None:
        self.effects.is_crashed = False
        self.processes.pass_time()
        journal = SilentJournal(self.clock, self.seen, self.effects.happened)
        with store_errors():
            store = CountedStore.open(self._settings.state_dir)
            assert isinstance(store, CountedStore)
            self._store = store
            store.watch(self)
            self._timer = FakeTimer(self.clock)
            self._poller = TablePoller(self.clock, self._timer, self.processes)
            self._launcher = TableLauncher(self)
            host = Host(
                store,
                journal,
                self._launcher,
                self.clock,
                self._timer,
                Timers(),
                self._poller,
                self.processes,
            )
            self._daemon = Daemon(self._settings, self._read, host, Notifier())
            self._daemon.begin(self._read())

    def crash(self) -> None:
        if self._store is None:
            return
        self._store.abandon()
        self._store = None
        self._poller.close()
        self._timer.close()
        os.close(self._launcher._null)
        self.processes.lose_watchers()

    def live_until(self, monotonic_ns: int) -> None:
        with store_errors():
            while (left_ns := monotonic_ns - self.clock.monotonic_ns()) > 0:
                self._poller.until_ns = self.clock.now_ns() + left_ns
                if stopped_ns := self.stopped_ns():
                    self._poller.oversleeps_s = stopped_ns / SECOND_NS
                self._daemon.turn()

    def edit(self, name: str, schedule: str) -> None:
        self._texts[name] = schedule
        with store_errors():
            refused = self._daemon.reload()
        assert not refused or "when it goes on" in refused  # a pause

    def jump(self, by_s: int) -> None:
        super().jump(by_s)
        self._poller.until_ns = self.clock.now_ns()
        with store_errors():
            self._daemon.turn()

    def identity(self, name: str) -> str:
        return f"{CONFIG}:{name}"

    def stored(self, name: str) -> Ledger | None:
        if self._store is None:
            return None
        is_crashed, self.effects.is_crashed = self.effects.is_crashed, False  # we look, not krond
        state = self._store.load(self.identity(name))
        self.effects.is_crashed = is_crashed
        assert not isinstance(state, StateCorrupt), state
        return None if state is None else state.ledger

    def close(self) -> None:
        super().close()
        shutil.rmtree(self._directory)

    def _read(self) -> Configuration:
        return Configuration((_document(tuple(self._texts.items())),))


@lru_cache(maxsize=64)
def _document(texts: tuple[tuple[str, str], ...]) -> Document:
    lines = [f"{text} name={name} command=/bin/true" for name, text in texts]
    return read_document("\n".join(lines).encode(), CONFIG)
