"""A tracked job: one job of an adapter, and the only writer of its ledger and its plan.

Everything that happens in the life of a job's periods is a method here, and a method that changes
the ledger has it stored. Two leave that to their callers: `load` takes what the store has, and the
scheduler stores what its steps decide for many jobs together. An adapter adds what it knows
besides: processes and files, or Jobs and statuses.
"""

from __future__ import annotations

from collections.abc import Sequence

from kron.core.decision import decide_at
from kron.core.generic import Generic
from kron.core.schedule import Schedule
from kron.engine.actions import Outcome, Settle, SettleMany
from kron.engine.job import Job
from kron.engine.ledger import Ledger
from kron.engine.recovery import Adopt, Conclude, Restart, Sighting, adopt, recover
from kron.engine.step import Plan, Step, seen, step
from kron.engine.survey import due_s, survey

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    from kron.runtime.ports import LoggedJob, Store

    Waiting = TypeVar("Waiting", bound="Pending")
    Moment = tuple[Any, ...]
    """What a job knows at one moment: its ledger, its plan, and what else its adapter keeps."""
else:
    Waiting = Moment = None


class Pending:
    """A run until it has begun or never will: that of an intent, or a manual one.

    What else it waits for, its executor knows.
    """

    __slots__ = ("replaces", "run_id")

    def __init__(self, run_id: str, *, replaces: bool) -> None:
        self.run_id = run_id
        self.replaces = replaces
        """Whether the runs that are active have to end first."""

    @property
    def nominal_s(self) -> int | None:
        """The nominal instant of its period; None for a manual run, which has none."""
        raise NotImplementedError


class TrackedJob(Generic[Waiting]):
    """What a job owes, has done and will do. Subclasses say what it is and what goes on."""

    __slots__ = ("_ledger", "_plan", "_planned", "_store", "is_behind", "pending", "wake_s")

    def __init__(self, store: Store[Any]) -> None:
        self.pending: list[Waiting] = []
        """The runs that were decided on and have not begun, in that order."""
        self.wake_s: int | None = None
        """When the queue wakes it; only the queue sets this."""
        self.is_behind = False
        """The clock shows less than when the job last ran, and that was logged."""
        self._store = store
        self._ledger: Ledger | None = None
        self._plan: Plan | None = None
        self._planned: tuple[tuple[int, int | None], ...] = ()

    # What subclasses say

    @property
    def entry(self) -> LoggedJob:
        """The job as log lines name it; only asked of a job that can run."""
        raise NotImplementedError

    @property
    def job(self) -> Job | None:
        """What the engine needs to know of it; None while no period of it may be dealt with."""
        raise NotImplementedError

    @property
    def active_run(self) -> str:
        """The run that goes on or is about to start, the latest of several; '' if none does."""
        raise NotImplementedError

    def remember(self, action: Settle | SettleMany, now_ns: int) -> None:
        """A period ended without a run: keep that for people, if the adapter has a history."""

    # What is known

    @property
    def ledger(self) -> Ledger | None:
        """Which periods have ended; None for a job that was never seen before."""
        return self._ledger

    @property
    def plan(self) -> Plan | None:
        """What the last step decided ahead; None if nothing can be relied on."""
        return self._plan

    @property
    def planned(self) -> tuple[tuple[int, int | None], ...]:
        """Nominal and chosen instants of the last plan, which may be that of another process."""
        return self._planned

    # Its life

    def load(self, ledger: Ledger | None, planned: tuple[tuple[int, int | None], ...] = ()) -> None:
        """Take what the store has. Anything else that was known is no longer so."""
        self._ledger, self._plan, self._planned = ledger, None, planned

    def was_awake(self, until_s: int) -> None:
        """The process before this one looked after it until then, and this one does since.

        So what comes due from then on may be late by the slack, and was not missed in downtime.
        """
        self._plan = Plan(until_s, ())

    def step(self, now_s: int, *, slack_s: int, held_s: int = 0) -> Step:
        """Decide about everything that is due. The scheduler has the result stored."""
        job = self.job
        assert job is not None, "a job that cannot run is not stepped"
        result = step(
            *(job, self._ledger, now_s),
            active=bool(self.active_run),
            plan=self._plan,
            slack_s=slack_s,
            held_s=held_s,
        )
        self._ledger, self._plan = result.ledger, result.plan
        decisions = result.plan.decisions if result.plan else ()
        self._planned = tuple([(decision.nominal_s, decision.chosen_s) for decision in decisions])
        return result

    def moment(self) -> Moment:
        """What is known now, for `take_back`."""
        return self._ledger, self._plan, self._planned

    def take_back(self, moment: Moment, now_s: int) -> None:
        """A step could not be stored, and nothing has come of it: it never was.

        But the job was seen: what it owes from now on, it owes.
        """
        assert self.job is not None, "it was stepped"
        ledger, self._plan, self._planned = moment[:3]
        self._become(seen(self.job, ledger, now_s))

    def confirm_plan(self, now_s: int) -> None:
        """Drop planned decisions that are due and, made again, come out otherwise.

        So a fault in memory does not start a run at a time that no log line explains.
        """
        plan = self._plan
        if plan is None:
            return
        confirmed = tuple(
            decision
            for decision in plan.decisions
            if due_s(decision) > now_s
            or decision == decide_at(decision.schedule, decision.identity, decision.nominal_s)
        )
        if all(due_s(decision) > now_s for decision in plan.decisions):
            confirmed = ()  # none of them is why the job was woken
        if len(confirmed) != len(plan.decisions):
            self._plan = plan.replace(decisions=confirmed)

    def edited(self, before: Schedule | None, after: Schedule | None) -> None:
        """Its schedule may be another one: then nothing that was planned holds."""
        if before is None or before != after:
            self._plan = None

    def started(self, nominal_s: int) -> None:
        """The run of this period has begun. The run itself is the proof of that."""
        self._become(self._known.with_started(nominal_s), is_proven=True)

    def gave_up(self, nominal_s: int, outcome: Outcome, reason: str) -> None:
        """The run of this period never began and never will."""
        self._become(self._known.with_start_given_up(nominal_s, outcome, reason))

    def recovered(
        self, found: Sequence[Sighting], now_s: int, *, slack_s: int
    ) -> tuple[Adopt | Restart | Conclude, ...]:
        """Decide about the intents of another process by what was found of the job's runs."""
        job = self.job
        if job is None or self._ledger is None:
            return ()
        recovery = recover(job, self._ledger, found, now_s, slack_s=slack_s)
        self._become(recovery.ledger)
        return recovery.actions

    def found(self, run: Sighting) -> bool:
        """A run of it exists. True if that is news: its period is executed from now on."""
        if self.job is None or self._ledger is None:
            return False
        ledger = adopt(self._ledger, run)
        is_news = ledger is not self._ledger
        self._become(ledger)
        return is_news

    def merge(self, ledger: Ledger) -> None:
        """Another process wrote this ledger meanwhile: what ended there has ended."""
        self._become(self._known.merged(ledger))

    def retire(self) -> None:
        """The job is no longer configured."""
        self._plan, self._planned = None, ()
        self._become(self._known.retired())

    def forget(self, now_s: int) -> None:
        """Treat the job as one that was never seen, but for this very second.

        A period that was chosen for this second counts as run if the ledger says so, or if there
        is no ledger to read: it may have run.
        """
        job = self.job
        assert job is not None, "only a job that can run is forgotten"
        before, fresh = self._ledger, Ledger(schedule=job.text, since_s=now_s)
        due = [decision.nominal_s for decision in survey(job, fresh, now_s, {}).due]
        ended = due if before is None else filter(before.is_handled, due)
        self._plan, self._planned = None, ()
        self._become(fresh.with_handled(ended))

    @property
    def _known(self) -> Ledger:
        assert self._ledger is not None, "a job is stepped before anything else happens to it"
        return self._ledger

    def _become(self, ledger: Ledger, *, is_proven: bool = False) -> None:
        """The one place where a ledger changes outside a step. The store has to write it."""
        if ledger is not self._ledger:
            self._ledger = ledger
            self._store.changed(self, is_proven=is_proven)
