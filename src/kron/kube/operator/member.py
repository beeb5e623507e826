"""A member: one KronJob that the operator looks after, with its status and its Jobs."""

from __future__ import annotations

from kron.core.instant import from_text
from kron.engine.job import Job
from kron.engine.recovery import Evidence, Sighting
from kron.engine.survey import due_s
from kron.kube.operator.condition import Trouble, accepted_of, conditions, trouble_of
from kron.kube.operator.pending import PendingJob
from kron.kube.resource.kronjob import KronJob, Metadata
from kron.kube.resource.results import RunResult, RunResults
from kron.kube.resource.run import JobRun
from kron.kube.resource.status import MOST_ACTIVE, MOST_UNANSWERED, ActiveRun, Status
from kron.runtime.tracked import TrackedJob
from kron.waking.queue import AT_ONCE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kron.runtime.ports import Store


class ClusterMember(TrackedJob[PendingJob]):
    __slots__ = (
        "accepted",
        "doubts",
        "frozen",
        "invalid",
        "is_gone",
        "is_ours",
        "kronjob",
        "metadata",
        "results",
        "runs",
        "runs_failed",
        "runs_succeeded",
        "stored",
        "trouble",
        "writing",
    )

    def __init__(self, metadata: Metadata, runs: dict[str, JobRun], store: Store[Any]) -> None:
        super().__init__(store)
        self.metadata = metadata
        self.kronjob: KronJob | None = None
        """None if its spec is invalid."""
        self.invalid = ""
        """What is wrong with its spec, in full."""
        self.frozen = ""
        """Why nothing may be done for it: its status was written by a newer version."""
        self.stored = Status()
        """Its status as the API server has it, as far as we know and can read it."""
        self.writing: Status | None = None
        """The status that is on its way there."""
        self.runs = runs
        """The Jobs with its label, by their names; also those of another owner (see `own_runs`)."""
        self.results = RunResults()
        """How its last Jobs ended; of a leader, also what is not stored yet."""
        self.runs_succeeded = self.runs_failed = 0
        """How many of its Jobs ended so while this process was leading."""
        self.trouble: Trouble | None = None
        """Why its last run could not be made, or cannot yet."""
        self.accepted = 0
        """The generation of its spec of which the API server accepts a Job; 0 for none."""
        self.doubts: dict[int, float] = {}
        """The nominal instants of doubtful periods, and until when each is; see `Doubts`."""
        self.is_ours = False
        """Whether this leader has taken it up: then our ledger counts, and the API server's may be
        older."""
        self.is_gone = False
        """It was deleted. A new KronJob of the same name is another member."""

    @property
    def entry(self) -> KronJob:
        assert self.kronjob is not None  # it can run, or could when its period was decided on
        return self.kronjob

    @property
    def job(self) -> Job | None:
        if self.kronjob is None or self.frozen or self.metadata.is_deleting:
            return None
        return self.kronjob.job

    @property
    def key(self) -> tuple[str, str]:
        return self.metadata.namespace, self.metadata.name

    def own_runs(self) -> list[JobRun]:
        return [run for run in self.runs.values() if run.owner_uid == self.metadata.uid]

    def active_runs(self) -> list[JobRun]:
        """Its Jobs that have not ended, the earliest first."""
        active = [run for run in self.own_runs() if run.is_active]
        return sorted(active, key=lambda run: (run.created_s, run.name))

    @property
    def active_run(self) -> str:
        if self.pending:
            return self.pending[-1].job_name
        active = self.active_runs()
        return active[-1].name if active else ""

    def see_status(self, status: Status) -> bool:
        """The API server has this status. True if another operator wrote the ledger in it."""
        ours = [known.ledger for known in (self.stored, self.writing) if known is not None]
        self.stored = status
        self.results = self.results.merged(status.results)
        return status.ledger is not None and status.ledger not in ours

    def recall(self) -> None:
        """What came of its Jobs is what its stored status says: another replica made them."""
        self.trouble, self.accepted = trouble_of(self.stored), accepted_of(self.stored)

    def may_lose(self, run: JobRun) -> bool:
        """Whether this Job may be deleted: while a request for it may arrive, its name has to be
        taken."""
        is_doubtful = bool(run.period) and from_text(run.period) in self.doubts
        return not is_doubtful and self.has_stored(run)

    def has_stored(self, run: JobRun) -> bool:
        """Whether its stored status says that the period of this Job has run, and how it ended.

        Until it does, the Job must not end before its time: nothing else proves it.
        """
        if run.result is not None and not self.stored.results.has(run.result):
            return False
        if not run.period:
            return True
        ledger = self.stored.ledger
        nominal_s = from_text(run.period)
        return (
            ledger is not None
            and ledger.is_handled(nominal_s)
            and all(intent.nominal_s != nominal_s for intent in ledger.starting)
        )

    def new_results(self) -> list[RunResult]:
        """The results of its finished Jobs that are not recorded yet, the oldest first."""
        found = [run.result for run in self.own_runs() if run.result is not None]
        return sorted(
            (each for each in found if not self.results.has(each)), key=lambda each: each.key
        )

    def sightings(self) -> list[Sighting]:
        """What is found of its runs: the Jobs that exist or are being made."""
        found = [
            Sighting(each.job_name, each.nominal_s, each.intent.chosen_s, Evidence.STARTING)
            for each in self.pending
        ]
        starting = {each.nominal_s for each in self.pending}
        for run in self.own_runs():
            nominal_s = from_text(run.period) if run.period else None
            if nominal_s not in starting:
                evidence = Evidence.ALIVE if run.is_active else Evidence.ENDED
                found.append(Sighting(run.name, nominal_s, run.chosen_s, evidence))
        return found

    def first_look_s(self) -> int | None:
        """When a new leader has to look at it; None if it can wait for its turn."""
        stored = self.stored
        is_edited = stored.generation != self.metadata.generation
        is_starting = self.ledger is not None and bool(self.ledger.starting)
        return AT_ONCE if is_edited or is_starting else stored.next_chosen_s

    @property
    def is_suspended(self) -> bool:
        return self.kronjob is not None and self.kronjob.schedule.policy.suspend

    def status(self, now_s: int) -> Status:
        if self.frozen:
            return self.stored.replace(conditions=conditions(self, now_s))
        active = self.active_runs()
        policy = None if self.kronjob is None else self.kronjob.schedule.policy
        coming = min(self.plan.decisions if self.plan else (), key=due_s, default=None)
        return Status(
            generation=self.metadata.generation,
            ledger=self.ledger,
            next_nominal_s=coming.nominal_s if coming else None,
            next_chosen_s=coming.chosen_s if coming else None,
            active=tuple(ActiveRun(run.name, run.uid, run.period) for run in active[:MOST_ACTIVE]),
            active_count=len(active),
            unanswered_s=tuple(sorted(self.doubts)[-MOST_UNANSWERED:]),
            results=self.results,
            conditions=conditions(self, now_s),
            suspended=policy.suspend if policy else None,
            deadline_ns=policy.deadline_ns if policy else None,
        )
