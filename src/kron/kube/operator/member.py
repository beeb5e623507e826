"""A member: one KronJob that the operator looks after, with its past, its plan and its Jobs."""

from __future__ import annotations

from kron.core.instant import from_text
from kron.engine.actions import Outcome
from kron.engine.ledger import Handled, Ledger
from kron.engine.step import Plan, Step
from kron.engine.survey import due_s
from kron.kube.operator.condition import Trouble, conditions
from kron.kube.resource.kronjob import KronJob, Metadata
from kron.kube.resource.run import Run, job_name
from kron.kube.resource.status import ActiveRun, Status
from kron.kube.resource.status_fields import MOST_ACTIVE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kron.kube.operator.pending import Pending


class Member:
    """What is said of a KronJob, what the API server has of its status, and what is going on."""

    __slots__ = (
        "frozen",
        "invalid",
        "is_behind",
        "is_gone",
        "kronjob",
        "ledger",
        "metadata",
        "next",
        "plan",
        "runs",
        "starting",
        "stored",
        "trouble",
        "wake_s",
        "writing",
    )

    def __init__(self, metadata: Metadata, runs: dict[str, Run]) -> None:
        self.metadata = metadata
        self.kronjob: KronJob | None = None
        """None if its spec is invalid."""
        self.invalid = ""
        """What is wrong with its spec, in full."""
        self.frozen = ""
        """Why nothing may be done for it: its status was written by a newer version."""
        self.ledger: Ledger | None = None
        self.stored: Status | None = None
        """Its status as the API server has it, as far as we know."""
        self.writing: Status | None = None
        """The status that is on its way there."""
        self.plan: Plan | None = None
        self.next: tuple[int, int | None] | None = None
        """The nominal and the chosen instant of the period that comes due next."""
        self.runs = runs
        """The Jobs that carry its name, by theirs. Those of another owner too: see `own_runs`."""
        self.starting: list[Pending] = []
        """The runs that are to be: decided on, and their Jobs not there yet."""
        self.trouble: Trouble | None = None
        """Why its last run could not be made, or cannot yet."""
        self.wake_s: int | None = None
        """When the queue brings it up."""
        self.is_gone = False
        """It was deleted. Another of its name is another member."""
        self.is_behind = False
        """The clock shows less than it did when it last ran, and that was told."""

    @property
    def key(self) -> tuple[str, str]:
        """Its namespace and its name."""
        return self.metadata.namespace, self.metadata.name

    @property
    def can_run(self) -> bool:
        """Whether periods of it may be dealt with."""
        return self.kronjob is not None and not self.frozen and not self.metadata.is_deleting

    def own_runs(self) -> list[Run]:
        """Its Jobs, those that it owns."""
        return [run for run in self.runs.values() if run.owner_uid == self.metadata.uid]

    def active_runs(self) -> list[Run]:
        """Its Jobs that have not finished, the earliest first."""
        active = [run for run in self.own_runs() if not run.is_finished]
        return sorted(active, key=lambda run: (run.created_s, run.name))

    @property
    def active_job(self) -> str:
        """The Job that is there or being made, the latest of several; '' if there is none."""
        if self.starting:
            return job_name(self.metadata.name, self.starting[-1].period)
        active = self.active_runs()
        return active[-1].name if active else ""

    def is_starting(self, nominal_s: int) -> bool:
        """Whether the Job of this period is being made."""
        return any(pending.decision.nominal_s == nominal_s for pending in self.starting)

    def see_status(self, status: Status | None) -> bool:
        """The API server has this status. True if it was not us who wrote the ledger in it."""
        before, self.stored = self.stored, status
        ledger = None if status is None else status.ledger
        ours = [known.ledger for known in (before, self.writing) if known is not None]
        return ledger is not None and ledger not in ours

    def take(self, step: Step) -> None:
        """Let it be as a step says."""
        self.ledger = step.ledger
        self.plan = step.plan
        coming = min(step.plan.decisions if step.plan else (), key=due_s, default=None)
        self.next = None if coming is None else (coming.nominal_s, coming.chosen_s)

    def has_stored(self, run: Run) -> bool:
        """Whether the API server would know without this Job of its that the period has run.

        As long as it would not, the Job may not be deleted: it is all that is known of its run.
        """
        ledger = self.stored.ledger if self.stored else None
        if not run.period:
            return True
        nominal_s = from_text(run.period)
        return (
            ledger is not None
            and ledger.is_handled(nominal_s)
            and all(intent.nominal_s != nominal_s for intent in ledger.starting)
        )

    def unknown_runs(self) -> list[Run]:
        """Its Jobs for periods of which the ledger does not know that they ran."""
        ledger = self.ledger
        if ledger is None:
            return []
        intents = {intent.nominal_s for intent in ledger.starting}
        return [
            run
            for run in self.own_runs()
            if run.period
            and not self.is_starting(nominal_s := from_text(run.period))
            and (nominal_s in intents or not ledger.is_handled(nominal_s))
        ]

    def adopt(self, run: Run) -> None:
        """Its Job is there: the period is executed, whoever made it."""
        assert self.ledger is not None and run.period  # noqa: PT018
        nominal_s = from_text(run.period)
        if any(intent.nominal_s == nominal_s for intent in self.ledger.starting):
            self.ledger = self.ledger.with_started(nominal_s)
            return
        last = Handled(nominal_s, run.chosen_s, Outcome.EXECUTED)
        self.ledger = self.ledger.with_handled((nominal_s,)).replace(last=last)

    def status(self, now_s: int) -> Status:
        """Its status as it should be."""
        if self.frozen and self.stored is not None:
            return self.stored.replace(conditions=conditions(self, now_s))
        active = self.active_runs()[:MOST_ACTIVE]
        return Status(
            generation=self.metadata.generation,
            ledger=self.ledger,
            next_nominal_s=self.next[0] if self.next else None,
            next_chosen_s=self.next[1] if self.next else None,
            active=tuple(ActiveRun(run.name, run.uid, run.period) for run in active),
            conditions=conditions(self, now_s),
        )
