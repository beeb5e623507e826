"""An adapter in memory: the smallest one that keeps every promise, and a model for others.

What survives a crash (the stored ledgers, the processes) is in the world; the adapter itself is
made again at every boot.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext

from kron.core.decision import Decision
from kron.core.duration import SECOND_NS
from kron.core.parser import parse_schedule
from kron.engine.actions import LATE, Outcome, Settle, SettleMany
from kron.engine.job import Job
from kron.engine.ledger import Intent, Ledger
from kron.engine.recovery import Conclude, Evidence, Sighting
from kron.engine.storage import ledger_from_json, ledger_to_json
from kron.krond.control.orders import FORGOTTEN
from kron.krond.enrolment.enrolment import REMOVED
from kron.runtime.scheduler import Scheduler
from kron.runtime.tracked import Pending, TrackedJob
from kron.testing.life import SLOW_S, FaultKind, Life, Trigger
from kron.testing.world import REFUSED, SLACK_S, Began, Effects, Exited, Said, StoreError, World


class MemoryRun(Pending):
    """A run: about to start at first, then a process, which outlives the adapter."""

    def __init__(self, name: str, intent: Intent, latest_s: int, *, replaces: bool) -> None:
        super().__init__(intent.run_id, replaces=replaces)
        self.name = name
        self.intent = intent
        self.latest_s = latest_s
        self.ends_ns = 0
        self.is_over = False

    @property
    def nominal_s(self) -> int:
        return self.intent.nominal_s

    @property
    def sighting(self) -> Sighting:
        evidence = Evidence.BEGAN if self.is_over else Evidence.ALIVE
        return Sighting(self.run_id, self.nominal_s, self.intent.chosen_s, evidence)


class MemoryJob(TrackedJob[MemoryRun]):
    """A job whose runs are in the table of processes."""

    def __init__(self, name: str, schedule: str, adapter: MemoryAdapter) -> None:
        super().__init__(adapter)
        self.name = name
        self._world = adapter.world
        self._job = Job(name, parse_schedule(schedule))

    @property
    def job(self) -> Job:
        return self._job

    @property
    def active_run(self) -> str:
        runs = self.pending or self._world.active(self.name)
        return runs[-1].run_id if runs else ""

    def configure(self, schedule: str) -> None:
        before, self._job = self._job, Job(self.name, parse_schedule(schedule))
        self.edited(before.schedule, self._job.schedule)


class MemoryAdapter:
    """All ports in one: ledgers are stored as JSON text, runs go into the table of processes."""

    def __init__(self, world: MemoryWorld) -> None:
        self.world = world
        self.retry_ns: int | None = None
        self._changed: dict[str, MemoryJob] = {}
        self._line: list[tuple[MemoryJob, MemoryRun]] = []
        self._unsaid: list[Callable[[], None]] = []
        """What is announced once everything that has changed is stored."""

    # The store

    def changed(self, job: MemoryJob, *, is_proven: bool = False) -> None:
        """Store the job at the next flush; a run that has begun is its own proof."""
        if not is_proven:
            self._changed[job.name] = job

    def commit(self, jobs: Iterable[MemoryJob], *, starts: bool = False) -> bool:
        """Store these jobs now: all of them or none, and then the adapter ends."""
        texts = {}
        for job in jobs:
            assert job.ledger is not None
            self._changed.pop(job.name, None)
            texts[job.name] = json.dumps(ledger_to_json(job.ledger))
        if not texts:
            return True
        if self.world.fails(FaultKind.STORE_FAILS):
            raise StoreError("no room")
        if self.world.fails(FaultKind.STORE_SLOW):
            self.world.clock.advance(SLOW_S)
        self.world.ledgers |= texts
        self.world.boots |= dict.fromkeys(texts, self.world.boot_number)
        self.world.effects.happened()
        return True

    def retire(self, name: str) -> None:
        """Store that a job was removed while the adapter was down."""
        ledger = self.world.stored(name)
        if ledger is not None and ledger.schedule:
            self.world.ledgers[name] = json.dumps(ledger_to_json(ledger.retired()))
            self.world.effects.happened()

    def flush(self) -> bool:
        self.commit(list(self._changed.values()))
        unsaid, self._unsaid = self._unsaid, []
        for announce in unsaid:
            announce()
        return True

    # The executor

    def prepare(
        self, job: MemoryJob, intent: Intent, latest_s: int, *, replaces: bool
    ) -> MemoryRun:
        return MemoryRun(job.name, intent, latest_s, replaces=replaces)

    def request(self, job: MemoryJob, pending: MemoryRun) -> None:
        self._line.append((job, pending))

    def go(self) -> None:
        """Start what can start; what cannot is tried again until its deadline."""
        line, self._line = self._line, []
        self.retry_ns = None
        for job, pending in line:
            if pending not in job.pending:
                continue  # given up
            if self.world.now_s > pending.latest_s:
                self.give_up(job, pending, Outcome.MISSED, LATE)
            elif self.world.fails(FaultKind.START_REFUSED):
                self.give_up(job, pending, Outcome.MISSED, REFUSED)
            elif self.world.fails(FaultKind.START_FAILS):
                self._line.append((job, pending))
                self.retry_ns = self.world.clock.monotonic_ns() + SECOND_NS
            else:
                job.pending.remove(pending)
                self.world.start(pending)
                job.started(pending.nominal_s)

    def give_up(self, job: MemoryJob, pending: MemoryRun, outcome: Outcome, reason: str) -> None:
        job.pending.remove(pending)
        job.gave_up(pending.nominal_s, outcome, reason)
        self._say_later(job, pending.intent, outcome, reason)

    def adopt(self, job: MemoryJob, run: Sighting) -> None:
        """The table of processes has it already."""

    def conclude(self, job: MemoryJob, end: Conclude) -> None:
        if end.outcome is not Outcome.EXECUTED:
            self._say_later(job, end.intent, end.outcome, end.reason)
        else:
            exited = Exited(job.name, end.intent.nominal_s, end.intent.run_id)
            self._unsaid.append(lambda: self.world.seen.exited.append(exited))

    def _say_later(self, job: MemoryJob, intent: Intent, outcome: Outcome, reason: str) -> None:
        period = intent.nominal_s, intent.chosen_s
        self._unsaid.append(lambda: self.world.say(job.name, *period, outcome, reason))

    # The announcer

    def held(self, jobs: int) -> AbstractContextManager[None]:
        """Nothing is gained by waiting."""
        return nullcontext()

    def settled(self, job: MemoryJob, end: Settle, now_s: int) -> None:
        nominal_s = end.decision.nominal_s
        if end.outcome is not Outcome.UNSCHEDULABLE:
            chosen_s = end.decision.chosen_s or nominal_s
            self.world.say(job.name, nominal_s, chosen_s, end.outcome, end.reason)

    def settled_many(self, job: MemoryJob, end: SettleMany, now_s: int) -> None:
        self.world.seen.said_many.append((job.name, end.first_s, end.last_s))
        self.world.effects.happened()

    def decided(
        self, job: MemoryJob, decisions: Iterable[Decision], schedule_text: str = ""
    ) -> None:
        self.world.seen.decided.update(decisions)

    def triggered(self, job: MemoryJob, intent: Intent, now_s: int) -> None:
        self.world.seen.triggered.add((job.name, intent.nominal_s))

    def _not_kept(self, *_: object, **__: object) -> None:
        """What the simulation does not ask about."""

    clock_changed = waits_for_clock = moved = suspended = _not_kept


class MemoryWorld(World):
    """The adapter in memory, and what survives it."""

    never_happens = (Trigger,)

    def __init__(self, life: Life, effects: Effects) -> None:
        super().__init__(life, effects)
        self.ledgers: dict[str, str] = {}
        self.boots: dict[str, int] = {}
        """In which boot of the host each ledger was written."""
        self.boot_number = 0
        self._texts = {job.name: job.schedule for job in life.jobs}
        self._runs: list[MemoryRun] = []

    # The world, as the simulation sees it

    def boot(self) -> None:
        adapter = self._adapter = MemoryAdapter(self)
        self._scheduler: Scheduler[MemoryJob, MemoryRun] = Scheduler(
            adapter, adapter, adapter, adapter, self.clock, slack_s=SLACK_S
        )
        for name in [name for name in self.ledgers if name not in self._texts]:
            adapter.retire(name)
        self._jobs = {name: MemoryJob(name, text, adapter) for name, text in self._texts.items()}
        for name, job in self._jobs.items():
            job.load(self.stored(name))
        now_ns = self.clock.now_ns()
        found = [(job, self._sightings(name)) for name, job in self._jobs.items()]
        self._scheduler.recover(found, now_ns)
        self._scheduler.step(self._jobs.values(), now_ns)
        adapter.flush()

    def crash(self) -> None:
        """The adapter is gone; the table of processes and the ledgers are not."""
        self._pass_ends()

    def live_until(self, monotonic_ns: int) -> None:
        while (left_ns := monotonic_ns - self.clock.monotonic_ns()) > 0:
            naps_ns = [left_ns]
            next_s = self._scheduler.queue.next_s()
            if next_s is not None:
                naps_ns.append(next_s * SECOND_NS - self.clock.now_ns())
            now_ns = self.clock.monotonic_ns()
            naps_ns += [run.ends_ns - now_ns for run in self._runs if not run.is_over]
            if self._adapter.retry_ns is not None:
                naps_ns.append(self._adapter.retry_ns - now_ns)
            self.clock.advance_ns(max(min(naps_ns), self.stopped_ns()))
            for run in self._pass_ends():
                if run.name in self._jobs:  # with its end, that it began is stored
                    self._adapter.changed(self._jobs[run.name])
            self._turn()

    def write(self, name: str, schedule: str) -> None:
        self._texts[name] = schedule
        if not schedule:
            del self._texts[name]

    def reload(self) -> None:
        self._turn()  # what came due before the edit is dealt with as it was planned
        now_ns = self.clock.now_ns()
        for name in [name for name in self._jobs if name not in self._texts]:
            job = self._jobs.pop(name)
            self._scheduler.give_up(job, REMOVED)
            job.retire()
            self._scheduler.queue.put(job, None)
        self._adapter.flush()
        for name, text in self._texts.items():
            if name in self._jobs:
                self._edit(self._jobs[name], text)
            else:
                self._jobs[name] = MemoryJob(name, text, self._adapter)
                self._jobs[name].load(self.stored(name))
        self._scheduler.step(self._jobs.values(), now_ns)
        self._adapter.flush()

    def forget(self, name: str) -> None:
        if job := self._jobs.get(name):
            self._scheduler.give_up(job, FORGOTTEN)
            now_ns = self.clock.now_ns()
            job.forget(now_ns // SECOND_NS)
            self._scheduler.step([job], now_ns)
            self._adapter.flush()

    def lose_power(self) -> None:
        """Of its runs nothing is left, not even that they began."""
        self.boot_number += 1
        self._runs.clear()

    def jump(self, by_s: int) -> None:
        self.clock.jump(by_s)
        self._scheduler.clock_changed(self._jobs.values(), self.clock.now_ns())
        self._turn()

    def identity(self, name: str) -> str:
        return name

    def stored(self, name: str) -> Ledger | None:
        text = self.ledgers.get(name)
        return None if text is None else ledger_from_json(json.loads(text))

    # What the adapter sees of it

    def active(self, name: str) -> list[MemoryRun]:
        return [run for run in self._runs if run.name == name and not run.is_over]

    def start(self, run: MemoryRun) -> None:
        """A process begins, and ends those that it replaces."""
        now_ns = self.clock.monotonic_ns()
        if run.replaces:
            for other in self.active(run.name):
                other.ends_ns = now_ns
            self._pass_ends()
        others = len(self.active(run.name))
        period = run.nominal_s, run.intent.chosen_s
        era = self.seen.era(run.name)
        self.seen.began.append(Began(run.name, *period, self.now_s, others, era))
        run.ends_ns = now_ns + self.takes_s[run.name] * SECOND_NS
        self._runs.append(run)
        self.effects.happened()

    def say(self, name: str, nominal_s: int, chosen_s: int, outcome: Outcome, reason: str) -> None:
        """People read that a period ended without a run."""
        said = Said(name, nominal_s, outcome.value, reason, self.now_s, chosen_s)
        self.seen.said.append(said.replace(era=self.seen.era(name)))
        self.effects.happened()

    def _edit(self, job: MemoryJob, schedule: str) -> None:
        before = job.job.schedule.policy.suspend
        job.configure(schedule)
        if before != job.job.schedule.policy.suspend:
            self._scheduler.suspended(job, suspend=not before)

    def _turn(self) -> None:
        now_ns = self.clock.now_ns()
        self._scheduler.step(self._scheduler.due(now_ns), now_ns)
        self._adapter.go()
        self._adapter.flush()

    def _pass_ends(self) -> list[MemoryRun]:
        """Let the runs end whose time has come."""
        now_ns = self.clock.monotonic_ns()
        ended = [run for run in self._runs if not run.is_over and run.ends_ns <= now_ns]
        for run in ended:
            run.is_over = True
        return ended

    def _sightings(self, name: str) -> list[Sighting]:
        ledger = self.stored(name)
        if ledger is not None and self.boots[name] != self.boot_number:
            return [
                Sighting(intent.run_id, intent.nominal_s, intent.chosen_s, Evidence.REBOOTED)
                for intent in ledger.starting
            ]
        return [run.sighting for run in self._runs if run.name == name]
