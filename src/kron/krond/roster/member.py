"""A member: one job that krond looks after, with its past and its processes."""

from __future__ import annotations

from kron.core.errors import Code, KronError, quoted
from kron.core.policy import Concurrency
from kron.engine.actions import Outcome, Settle, SettleMany
from kron.engine.job import Job
from kron.engine.ledger import Ledger
from kron.jobs.entry import Entry
from kron.krond.roster.run import Leftover, PendingRun, Run
from kron.krond.state.past import Past
from kron.krond.state.record import Ended, JobState
from kron.krond.state.writeback import WriteBack
from kron.runtime.tracked import Moment, TrackedJob


class HostMember(TrackedJob[PendingRun]):
    __slots__ = ("entry", "job", "leftovers", "past", "runs")

    entry: Entry
    """The job as its file has it."""
    job: Job

    _store: WriteBack

    def __init__(self, entry: Entry, writeback: WriteBack, state: JobState | None = None) -> None:
        super().__init__(writeback)
        self.entry = entry
        self.job = entry.job
        self.runs: list[Run] = []
        self.leftovers: tuple[Leftover, ...] = ()
        """What runs that have ended left behind, in their order."""
        self.past = Past()
        if state is not None:
            self.load(state.ledger, state.planned)
            self.past = state.past

    @property
    def active_run(self) -> str:
        latest = self.pending or self.runs or self.leftovers
        return latest[-1].run_id if latest else ""

    @property
    def concurrency(self) -> Concurrency:
        return self.entry.schedule.policy.concurrency

    @property
    def giving_way(self) -> list[PendingRun]:
        """The attempts that wait, and whose place a manual run takes when it starts.

        With forbid, a person who has repaired what failed would have to wait for them otherwise.
        """
        if self.concurrency is Concurrency.ALLOW:
            return []
        return [pending for pending in self.pending if pending.attempt is not None]

    def forbidden(self) -> KronError:
        """Why no other run may start, with concurrency=forbid."""
        name = quoted(self.entry.name)
        if self.runs:
            message = f"a run of {name} is going on, and concurrency is forbid"
            return KronError(Code.CONTROL, message, fix="wait for its end, or stop it")
        if self.pending:
            message = f"a run of {name} waits for {self.pending[-1].waits_for}"
            return KronError(Code.CONTROL, message, fix="it starts by itself")
        message = f"a run of {name} has left processes behind, and concurrency is forbid"
        return KronError(Code.CONTROL, message, fix="wait for their end, or end them")

    def configure(self, entry: Entry) -> None:
        self.edited(self.entry.schedule, entry.schedule)
        self.entry = entry
        self.job = entry.job

    def remember_end(self, ended: Ended) -> None:
        self.past = self.past.with_ended(ended)
        self._store.changed(self)
        self._store.ended(self, ended)

    def remember(self, action: Settle | SettleMany, now_ns: int) -> None:
        """Put into the history what has ended without a run. The scheduler has it stored."""
        if isinstance(action, Settle):
            nominal_s, chosen_s = action.decision.nominal_s, action.decision.chosen_s
            outcome, count = action.outcome, 1
        else:
            nominal_s, chosen_s, outcome = action.last_s, None, Outcome.MISSED
            count = action.count
        ended = Ended(nominal_s, chosen_s, outcome.value, action.reason, ended_ns=now_ns)
        self.past = self.past.with_ended(ended)
        self._store.ended(self, ended, count)

    def moment(self) -> Moment:
        return *super().moment(), self.past, self._store.ends(self)

    def take_back(self, moment: Moment, now_s: int) -> None:
        super().take_back(moment, now_s)
        self.past, ends = moment[3:]
        self._store.take_back_ends(self, ends)

    def forget(self, now_s: int) -> None:
        self.past = Past()
        super().forget(now_s)
        self.skip_boot(now_s)

    def owe_boot(self) -> None:
        """Let it run in this boot, unless it has."""
        boot_s, text = self.job.schedule.boot_s, self.job.text
        assert boot_s is not None, "it runs at boot"
        ledger = self.ledger or Ledger(text, boot_s)
        self._become(ledger.replace(schedule=text, since_s=min(ledger.since_s, boot_s)))

    def skip_boot(self, now_s: int) -> None:
        """If it runs at boot, let it wait for the next one."""
        boot_s = self.job.schedule.boot_s
        if boot_s is not None:
            ledger = self.ledger or Ledger(self.job.text, now_s)
            self._become(ledger.with_handled([boot_s]))

    def state(self, boot_id: str) -> JobState:
        assert self.ledger is not None  # a job is stepped before it is stored
        seed = self.entry.schedule.seed
        return JobState(
            identity=self.entry.identity,
            ledger=self.ledger,
            boot_id=boot_id,
            planned=self.planned,
            active=(
                *(run.record for run in self.runs),
                *(run.record for run in self.pending if run.nominal_s is None or run.attempt),
            ),
            seed=(str(seed.strategy), seed.salt),
            past=self.past,
        )
