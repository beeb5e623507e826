"""A member: one job that krond looks after, with its past, its plan and what is going on."""

from __future__ import annotations

from kron.engine.job import Job
from kron.engine.ledger import Ledger
from kron.engine.step import Plan, Step
from kron.engine.survey import survey
from kron.jobs.entry import Entry
from kron.krond.state.past import Past
from kron.krond.state.record import Ended, JobState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kron.krond.pending import Pending
    from kron.krond.run import Run


class Member:
    """What is configured of a job, and everything that changes about it."""

    __slots__ = (
        "entry",
        "is_behind",
        "is_retired",
        "job",
        "ledger",
        "past",
        "plan",
        "planned",
        "runs",
        "waiting",
        "wake_s",
    )

    def __init__(self, entry: Entry, state: JobState | None = None) -> None:
        self.entry = entry
        self.job: Job = entry.job
        self.ledger: Ledger | None = None
        self.plan: Plan | None = None
        """What the last step planned; None if nothing can be relied on."""
        self.planned: tuple[tuple[int, int | None], ...] = ()
        """Nominal and chosen instants of the last plan, this krond's or that of one before it."""
        self.runs: list[Run] = []
        """The runs that are going on."""
        self.waiting: list[Pending] = []
        """The runs that are to start: decided on, and not there yet."""
        self.past = Past()
        self.wake_s: int | None = None
        """When the queue brings it up."""
        self.is_retired = False
        """No longer configured, and here only until its runs have ended."""
        self.is_behind = False
        """The clock shows less than it did when the job last ran, and that was told."""
        if state is not None:
            self.ledger = state.ledger
            self.planned = state.planned
            self.past = state.past

    @property
    def active_job(self) -> str:
        """The run that goes on or waits, the latest of several; '' if there is none."""
        latest = self.waiting or self.runs
        return latest[-1].run_id if latest else ""

    def configure(self, entry: Entry) -> None:
        """Let the job be what its file says now."""
        if entry.schedule != self.entry.schedule:
            self.plan = None
        self.entry = entry
        self.job = entry.job
        self.is_retired = False

    def take(self, step: Step) -> None:
        """Let it be as a step says."""
        self.ledger = step.ledger
        self.plan = step.plan
        decisions = step.plan.decisions if step.plan else ()
        self.planned = tuple([(decision.nominal_s, decision.chosen_s) for decision in decisions])

    def record(self, ended: Ended) -> None:
        """Remember how a period or a run ended."""
        self.past = self.past.with_ended(ended)

    def begin_anew(self, now_s: int) -> None:
        """Let it be as if it were new. What was chosen for this very second may have run, though:

        by its ledger, or where there is none that reads, for all that is known.
        """
        before, self.ledger = self.ledger, Ledger(schedule=self.job.text, since_s=now_s)
        self.plan, self.planned, self.past = None, (), Past()
        due = [decision.nominal_s for decision in survey(self.job, self.ledger, now_s, {}).due]
        ended = due if before is None else filter(before.is_handled, due)
        self.ledger = self.ledger.with_handled(ended)

    def state(self, boot_id: str) -> JobState:
        """Everything that has to survive krond."""
        assert self.ledger is not None  # a member is stepped before it is stored
        seed = self.entry.schedule.seed
        return JobState(
            identity=self.entry.identity,
            ledger=self.ledger,
            boot_id=boot_id,
            planned=self.planned,
            active=(
                *(run.record(boot_id) for run in self.runs),
                *(run.record(boot_id) for run in self.waiting if run.nominal_s is None),
            ),
            seed=(str(seed.strategy), seed.salt),
            past=self.past,
        )
