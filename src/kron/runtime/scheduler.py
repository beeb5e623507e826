"""The scheduler: lets the engine decide for the jobs that are due, and has that carried out.

It owns the queue, the slack and the watch on the wall clock. One look at the clock counts for all
jobs of a wake: none of them is late because of the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kron.core.duration import SECOND_NS
from kron.core.generic import Generic
from kron.engine.actions import REPLACED, SUSPENDED, Outcome, Reschedule, Settle, SettleMany, Start
from kron.engine.ledger import Intent
from kron.engine.recovery import Adopt, Conclude, Restart, Sighting
from kron.engine.step import Step, latest_start_s
from kron.runtime.tracked import Moment, Pending, TrackedJob
from kron.waking.clock import Clock
from kron.waking.queue import AT_ONCE, Queue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    from kron.runtime.ports import Announcer, Committer, Executor, Store

    Tracked = TypeVar("Tracked", bound=TrackedJob[Any])
    Waiting = TypeVar("Waiting", bound=Pending)
else:
    Tracked = Waiting = None


class Scheduler(Generic[Tracked, Waiting]):
    """Steps jobs when they are due, and whenever something about them has changed."""

    def __init__(
        self,
        store: Store[Tracked],
        committer: Committer[Tracked] | None,
        executor: Executor[Tracked, Waiting],
        announcer: Announcer[Tracked],
        clock: Clock,
        *,
        slack_s: int,
    ) -> None:
        self.queue: Queue[Tracked] = Queue()
        self._store = store
        self._committer = committer
        """None: a run starts before its intent is stored, and the executor refuses a second."""
        self._executor = executor
        self._announcer = announcer
        self._clock = clock
        self._slack_s = slack_s
        self._offset_ns = self._clock_offset_ns()

    def due(self, now_ns: int) -> list[Tracked]:
        """Take the jobs that are due out of the queue. Each has to be stepped."""
        now_s = now_ns // SECOND_NS
        jobs = self.queue.due(now_s)
        for job in jobs:
            job.confirm_plan(now_s)
        return jobs

    def step(
        self, jobs: Iterable[Tracked], now_ns: int, *, busy_s: int = 0, held_s: int = 0
    ) -> None:
        """Step these jobs: decide, store, log and start. Intents are safe before their runs
        start, if the adapter has a committer; else they are stored after.

        `busy_s`: for how long the adapter could not look before. With a slack of 0, the bare rule,
        being busy is no excuse. `held_s`: for how long it did not look on purpose.
        """
        slack_s = self._slack_s + busy_s if self._slack_s else 0
        now_s = now_ns // SECOND_NS
        turns: list[tuple[Tracked, Step]] = []
        before: list[Moment] = []
        changed: list[Tracked] = []
        starts = False
        for job in jobs:
            if job.job is None:
                self.queue.put(job, None)
                self._store.changed(job)
                continue
            known = job.ledger, job.planned
            before.append(job.moment())
            result = job.step(now_s, slack_s=slack_s, held_s=held_s)
            self.queue.put(job, result.wake_s)
            turns.append((job, result))
            for action in result.actions:
                if isinstance(action, Settle | SettleMany):
                    job.remember(action, now_ns)
                starts = starts or isinstance(action, Start)
            if known != (job.ledger, job.planned):
                changed.append(job)
        if self._committer is not None and not self._committer.commit(changed, starts=starts):
            turns = self._take_back(turns, before, now_s)
        with self._announcer.held(len(turns)):
            for job, result in turns:
                if result.actions or result.clock_behind or job.is_behind:
                    self._act(job, result, now_s, slack_s + held_s)
            self._executor.go()
        if self._committer is None:
            for job, result in turns:
                # The end of a start is stored with all that came before it. It may take long,
                # though, and a period that has ended meanwhile does not wait for it.
                if not job.pending or any(
                    isinstance(a, Settle | SettleMany) for a in result.actions
                ):
                    self._store.changed(job)
        for job, result in turns:
            self._announcer.decided(job, result.decided_ahead())

    def recover(self, found: Iterable[tuple[Tracked, Sequence[Sighting]]], now_ns: int) -> None:
        """Decide about what another process left behind, by what is found of the jobs' runs."""
        now_s = now_ns // SECOND_NS
        restarts: list[tuple[Tracked, Restart]] = []
        for job, runs in found:
            for action in job.recovered(runs, now_s, slack_s=self._slack_s):
                match action:
                    case Adopt(run):
                        self._executor.adopt(job, run)
                    case Restart():
                        restarts.append((job, action))
                    case Conclude():
                        if action.outcome is Outcome.SKIPPED:
                            self._announce(job, action.intent, now_s)
                        self._executor.conclude(job, action)
        if self._committer is not None:
            self._committer.flush()
        for job, restart in restarts:
            self._announce(job, restart.intent, now_s)
            self._start(job, restart.intent, self._slack_s, replaces=restart.replaces)

    def request(self, job: Tracked, pending: Waiting) -> None:
        """Start a run. What was pending before and is replaced by it is given up."""
        earlier = list(job.pending) if pending.replaces else []
        job.pending.append(pending)
        self._executor.request(job, pending)
        for other in earlier:
            self._executor.give_up(job, other, Outcome.SKIPPED, REPLACED)

    def give_up(self, job: Tracked, reason: str) -> None:
        """Start none of its pending runs: their periods are missed."""
        for pending in list(job.pending):
            self._executor.give_up(job, pending, Outcome.MISSED, reason)

    def suspended(self, job: Tracked, *, suspend: bool) -> None:
        """An edit suspended the job, or lifted its suspension. The caller steps it."""
        self._announcer.suspended(job, suspend=suspend)
        for pending in list(job.pending):
            if suspend and pending.nominal_s is not None:  # a manual run was asked for all the same
                self._executor.give_up(job, pending, Outcome.MISSED, SUSPENDED)

    def watch_clock(self) -> None:
        """What the wall clock shows now is right; changes count from here on."""
        self._offset_ns = self._clock_offset_ns()

    def clock_changed(self, jobs: Iterable[Tracked], now_ns: int) -> None:
        """The wall clock was set: log by how much. If it was set back, step all of these jobs."""
        before_ns, self._offset_ns = self._offset_ns, self._clock_offset_ns()
        shift_s = round((self._offset_ns - before_ns) / SECOND_NS, 3)
        if not shift_s:
            return  # set to what it shows, or before it was watched
        self._announcer.clock_changed(now_ns // SECOND_NS, shift_s)
        if shift_s < 0:
            self.step(jobs, now_ns)

    def _take_back(
        self, turns: list[tuple[Tracked, Step]], before: list[Moment], now_s: int
    ) -> list[tuple[Tracked, Step]]:
        """The turns could not be stored: those with actions never were, and are due again.

        Returns the others, which are stored later.
        """
        kept = []
        for (job, result), moment in zip(turns, before, strict=True):
            if result.actions:
                job.take_back(moment, now_s)
                self.queue.put(job, AT_ONCE)
            else:
                self._store.changed(job)
                kept.append((job, result))
        return kept

    def _act(self, job: Tracked, result: Step, now_s: int, slack_s: int) -> None:
        announcer = self._announcer
        if result.clock_behind and not job.is_behind:
            announcer.waits_for_clock(job, now_s)
        job.is_behind = result.clock_behind
        announcer.decided(job, result.decided_now())
        for action in result.actions:
            match action:
                case Start(decision, _, replaces):
                    intent = result.ledger.intent(decision.nominal_s)
                    announcer.triggered(job, intent, now_s)
                    self._start(job, intent, slack_s, replaces=replaces)
                case Settle():
                    announcer.settled(job, action, now_s)
                case SettleMany():
                    announcer.settled_many(job, action, now_s)
                case Reschedule():
                    announcer.moved(job, action)

    def _announce(self, job: Tracked, intent: Intent, now_s: int) -> None:
        """Log the decision behind an intent of another process, and that it is due."""
        assert job.job is not None  # its intents were decided about
        decision = intent.decision(job.job)
        if decision is not None:
            text = "" if intent.schedule == job.job.text else intent.schedule
            self._announcer.decided(job, (decision,), text)
        self._announcer.triggered(job, intent, now_s)

    def _start(self, job: Tracked, intent: Intent, slack_s: int, *, replaces: bool) -> None:
        assert job.job is not None  # its step asked for it
        latest_s = latest_start_s(job.job.schedule, intent.chosen_s, slack_s)
        self.request(job, self._executor.prepare(job, intent, latest_s, replaces=replaces))

    def _clock_offset_ns(self) -> int:
        return self._clock.now_ns() - self._clock.monotonic_ns()
