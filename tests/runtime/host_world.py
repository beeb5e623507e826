"""krond for the simulation: its own loop, store and starter on real files; its processes are not.

The state directory is in memory. A crash drops all that krond had open, and writes nothing.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import cast

from kron.core.duration import SECOND_NS
from kron.engine.ledger import Ledger
from kron.jobs.configuration import Configuration
from kron.jobs.document import Document, read_document
from kron.jobs.source import own_access
from kron.krond.configuration.settings import UNLIMITED_RUNS, KrondSettings
from kron.krond.control.requests import Requests
from kron.krond.control.server import Connection
from kron.krond.daemon import Daemon
from kron.krond.history.writer import History
from kron.krond.host import Host
from kron.krond.loop.notify import Notifier
from kron.krond.loop.timers import Timers
from kron.krond.notices.notices import Notices
from kron.krond.output.captures import Captures
from kron.krond.process.failure import StartError, StartStage, reason
from kron.krond.roster.run import PendingRun
from kron.krond.state.errors import PersistenceError
from kron.krond.state.past import HISTORY
from kron.krond.state.record import JobState, RunRecord
from kron.krond.state.schema import from_json
from kron.krond.state.store import StateStore, file_name
from kron.krond.surroundings import Starting, Surroundings
from kron.testing.clock import FakeClock
from kron.testing.life import SLOW_S, FaultKind, Life, LivedJob
from kron.testing.loop import FakePoller, FakeTimer
from kron.testing.processes import FakeProcesses
from kron.testing.world import (
    REFUSED,
    SLACK_S,
    Began,
    BeganManually,
    Effects,
    Kept,
    KeptEnd,
    Lasted,
    StoreError,
    World,
)
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
    """krond's store. Every change on disk is an effect. Where nothing has room, files can go."""

    _world: HostWorld

    def commit(self, states: Sequence[JobState], *, quickly: bool = False) -> None:
        self._world.effects.check()
        if not states:
            return
        self._check_room()
        if self._world.fails(FaultKind.STORE_SLOW):
            self._world.clock.advance(SLOW_S)
        super().commit(states, quickly=quickly)
        self._world.effects.happened()

    def write(self, name: str, data: bytes) -> None:
        self._world.effects.check()
        self._check_room()
        super().write(name, data)
        self._world.effects.happened()

    def write_back(self) -> None:
        self._world.effects.check()
        is_something = bool(self._replacer._bundled or self._replacer._replaced)
        if self._replacer._bundled:
            self._check_room()
        super().write_back()
        if is_something:
            self._world.effects.happened()

    def note_run(self, run: RunRecord) -> None:
        self._world.effects.check()
        self._check_room()
        super().note_run(run)
        self._world.effects.happened()

    def remove_proof(self, run_id: str) -> None:
        self._world.effects.check()
        super().remove_proof(run_id)
        self._world.effects.happened()

    def stored(self, identity: str) -> JobState | None:
        """What the next krond would load; nothing on disk changes by that."""
        name = file_name(identity)
        try:
            return _state(self._replacer._bundled.get(name) or self.directory.read(name))
        except FileNotFoundError:
            return None

    def _check_room(self) -> None:
        if self._world.fails(FaultKind.STORE_FAILS):
            raise PersistenceError("no room", OSError(errno.ENOSPC, "no room"))

    def abandon(self) -> None:
        """What the kernel does for a process that was killed."""
        os.close(self._lock.descriptor)
        self._runs.close()
        self.directory.close()


def _watched_by(world: HostWorld) -> type[CountedStore]:
    class WatchedStore(CountedStore):
        _world = world

    return WatchedStore


class NoHistory(History):
    """Keeps nothing: no promise of a life is about the history."""

    def add(self, *_: object) -> None:
        pass

    def catch_up(self, *_: object) -> None:
        pass


class TableLauncher(Surroundings):
    """Starts processes in the table, which leave their proof as real ones do."""

    def __init__(self, world: HostWorld) -> None:
        super().__init__({}, None)
        self._world = world

    def start(self, pending: PendingRun, proof: str, now_s: int) -> Starting:
        world = self._world
        world.effects.check()
        if world.fails(FaultKind.START_FAILS):
            raise StartError("no room for a process", for_good=False)
        is_refused = world.fails(FaultKind.START_REFUSED)
        if world.fails(FaultKind.STORE_FAILS):
            error = StartError("no room for a proof", for_good=False)
            error.state_error = errno.ENOSPC
            raise error
        try:
            os.close(os.open(proof, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            raise StartError(reason(StartStage.PROOF, errno.EEXIST)) from None
        if is_refused:
            return RefusedStarting(world, proof)
        pid = world.start(pending.member.entry.name, pending.record, now_s)
        return TableStarting(world, pid)


class TableStarting(Starting):
    """It has begun. krond may be killed before it knows."""

    def __init__(self, world: HostWorld, pid: int) -> None:
        self._world = world
        self.pid = pid
        self.loggers = []

    def confirm(self) -> None:
        self._world.effects.check()


class RefusedStarting(TableStarting):
    """It has left its proof, and has not begun."""

    def __init__(self, world: HostWorld, proof: str) -> None:
        super().__init__(world, -1)
        self._proof = proof

    def confirm(self) -> None:
        self._world.effects.check()
        Path(self._proof).unlink()
        raise StartError(REFUSED)


class TablePoller(FakePoller):
    """Sleeps until a process of the table ends, at the longest."""

    def __init__(self, clock: FakeClock, timer: FakeTimer, processes: FakeProcesses) -> None:
        super().__init__(clock, timer)
        self.requests: list[Callable[[], None]] = []
        """What the next wait wakes up for, before anything else."""
        self._processes = processes

    def wait(self, timeout_s: float | None) -> list[tuple[Callable[[int], None], int]]:
        if self.requests:
            request = self.requests.pop()
            return [(lambda _: request(), 0), *self._ready()]
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
        self._life = life
        self._jobs = {job.name: job for job in life.jobs}
        self._texts = {job.name: job.schedule for job in life.jobs}
        self._directory = tempfile.mkdtemp(prefix="kron-life-", dir=MEMORY)
        self._settings = KrondSettings(
            state_dir=f"{self._directory}/state",
            access=own_access(),
            slack_s=SLACK_S,
            clock_hold_s=0,  # lives are shorter than any hold
            most_running=life.most_running or UNLIMITED_RUNS,
        )
        self._store_class = _watched_by(self)
        self._store: CountedStore | None = None

    def boot(self) -> None:
        self.effects.is_crashed = False
        self.processes.pass_time()
        effects = self.effects
        journal = SilentJournal(self.clock, self.seen, effects.happened, lambda: effects.is_crashed)
        with store_errors():
            store = self._store_class.open(self._settings.state_dir)
            assert isinstance(store, CountedStore)
            self._store = store
            self._timer = FakeTimer(self.clock)
            self._poller = TablePoller(self.clock, self._timer, self.processes)
            self._launcher = TableLauncher(self)
            timers = Timers(self.clock)
            waits = (self.clock, timers, self._poller, self.processes)
            captures = Captures(self._settings.outputs, journal, *waits)
            host = Host(
                *(store, journal, self._launcher, self.clock, self._timer, timers),
                *(self._poller, self.processes),
                NoHistory(store.directory, journal, self.clock, timers),
                Notices(store.directory, journal, *waits, self._launcher, captures),
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

    def write(self, name: str, schedule: str) -> None:
        self._texts[name] = schedule
        if not schedule:
            del self._texts[name]

    def reload(self) -> None:
        self._ask("reload", self._insist)

    def trigger(self, name: str) -> None:
        def hear(answer: Mapping[str, object]) -> None:
            if answer["ok"]:
                self.seen.accepted.append((name, str(answer["run_id"])))

        self._ask("trigger", hear, name)

    def forget(self, name: str) -> None:
        if name in self._texts:
            self._ask("forget", self._insist, name)

    def lose_power(self) -> None:
        """Proofs are not synced: they are lost, or empty, or there."""
        self.processes.reboot()
        for proof in Path(f"{self._settings.state_dir}/runs").iterdir():
            if self._life.seed % 3 == 0:
                proof.unlink()
            elif self._life.seed % 3 == 1:
                proof.write_bytes(b"")

    def jump(self, by_s: int) -> None:
        super().jump(by_s)
        self._poller.until_ns = self.clock.now_ns()
        with store_errors():
            self._daemon.turn()

    def identity(self, name: str) -> str:
        return f"{CONFIG}:{name}"

    def stored(self, name: str) -> Ledger | None:
        state = None if self._store is None else self._store.stored(self.identity(name))
        return None if state is None else state.ledger

    def kept(self, name: str) -> Kept | None:
        state = None if self._store is None else self._store.stored(self.identity(name))
        if state is None:
            return None
        history = state.past.history
        ended = [KeptEnd(end.nominal_s, end.run_id, end.outcome, end.reason) for end in history]
        active = frozenset(record.run_id for record in state.active)
        now_ns = self.clock.monotonic_ns()  # krond may not have noticed an end in this very moment
        is_busy = any(each.job == name and each.ends_ns >= now_ns for each in self.processes.all)
        return Kept(tuple(ended), active, len(history) == HISTORY, is_busy)

    def lasted(self) -> list[Lasted]:
        now_ns = self.clock.monotonic_ns()
        return [
            Lasted(each.job, each.run_id, (min(each.ends_ns, now_ns) - each.began_ns) // SECOND_NS)
            for each in self.processes.all
        ]

    def close(self) -> None:
        super().close()
        shutil.rmtree(self._directory)

    # What krond meets

    def start(self, name: str, record: RunRecord, now_s: int) -> int:
        """A process begins: its pid."""
        others = self.processes.active(name)
        if record.nominal_s is None:
            self.seen.began_manually.append(BeganManually(name, record.run_id, others))
        else:
            period = record.nominal_s, record.chosen_s
            self.seen.began.append(Began(name, *period, now_s, others, self.seen.era(name)))
        job = self._jobs[name]
        process = self.processes.start(name, record.run_id, job.takes_s)
        process.ignores_term = job.ignores_term
        self.seen.most_running = max(self.seen.most_running, self.processes.active())
        self.effects.happened()
        return process.pid

    def _ask(
        self, command: str, hear: Callable[[Mapping[str, object]], None], job: str = ""
    ) -> None:
        """Have krond deal with a request in a turn of its own, as it comes by the socket."""

        def ask() -> None:
            request = {"command": command, "job": job}
            answer = Requests(self._daemon).answer(request, cast("Connection", None))
            assert answer is not None, "only who waits for a run has no answer yet"
            hear(answer)

        self._poller.requests.append(ask)
        with store_errors():
            self._daemon.turn()

    def _insist(self, answer: Mapping[str, object]) -> None:
        """What is refused for want of room is done by a krond that is started again."""
        if not answer["ok"]:
            assert self.fails(FaultKind.STORE_FAILS), answer
            raise StoreError(str(answer["error"]))

    def _read(self) -> Configuration:
        jobs = [(self._jobs[name], text) for name, text in self._texts.items()]
        return Configuration((_document(tuple(jobs)),))


_state = lru_cache(maxsize=64)(from_json)


@lru_cache(maxsize=64)
def _document(jobs: tuple[tuple[LivedJob, str], ...]) -> Document:
    lines = [f"{text} name={job.name} {_timeout(job)} command=/bin/true" for job, text in jobs]
    return read_document("\n".join(lines).encode(), CONFIG)


def _timeout(job: LivedJob) -> str:
    return "" if job.timeout_s is None else f"timeout={job.timeout_s}s"
