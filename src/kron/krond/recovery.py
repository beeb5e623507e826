"""Recovery: what becomes of the runs that a krond before this one started, or was about to.

The evidence is looked for here, in /proc and in the proofs that runs leave behind; what follows
from it is the engine's to say (`kron.engine.recovery`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from kron.core.decision import decide_at
from kron.core.duration import SECOND_NS
from kron.core.policy import Concurrency
from kron.engine.actions import Outcome
from kron.engine.ledger import Intent
from kron.engine.recovery import Adopt, Conclude, Evidence, Restart, recover
from kron.krond.keeper import Keeper
from kron.krond.member import Member
from kron.krond.pending import Pending
from kron.krond.process.account import find_account
from kron.krond.process.launch import StartError
from kron.krond.process.living import age_ns, boot_id, find_runs, is_alive, start_ticks
from kron.krond.run import Run, period_of
from kron.krond.scheduler import Scheduler
from kron.krond.starter import SUPERSEDED, Starter
from kron.krond.state.record import MANUAL, Ended, JobState, RunRecord
from kron.krond.state.store import Store
from kron.krond.supervisor import UNSEEN, Supervisor
from kron.logs.event import Event, Level
from kron.logs.journal import Journal
from kron.waking.clock import Clock

NOT_STARTED = "krond ended before it was started"
_BEGUN = (Evidence.ALIVE, Evidence.BEGAN)


class Recovery:
    """Takes up the runs of members whose state was on disk."""

    def __init__(
        self,
        store: Store,
        keeper: Keeper,
        supervisor: Supervisor,
        starter: Starter,
        scheduler: Scheduler,
        journal: Journal,
        clock: Clock,
        *,
        slack_s: int,
    ) -> None:
        self._store = store
        self._keeper = keeper
        self._supervisor = supervisor
        self._starter = starter
        self._scheduler = scheduler
        self._journal = journal
        self._clock = clock
        self._slack_s = slack_s

    def take_up(self, found: Sequence[tuple[Member, JobState]], now_ns: int) -> None:
        """Settle every run that is not known to have ended, and store what came of it."""
        unsure = [(m, s) for m, s in found if s.active or s.ledger.starting]
        living = self._living(unsure)
        restarts: list[tuple[Pending, bool]] = []
        for member, state in unsure:
            for record in state.active:
                self._take_up_run(member, record, living.get(record.run_id))
            restarts += self._settle_all(member, state, living, now_ns // SECOND_NS)
            self._keeper.touch(member)
        self._keeper.flush()
        for pending, replaces in restarts:
            self._starter.request(pending, replaces=replaces)

    def _living(self, unsure: Sequence[tuple[Member, JobState]]) -> dict[str, int]:
        """The pid of every such run that is alive."""
        living: dict[str, int] = {}
        unknown: dict[str, Member] = {}
        for member, state in unsure:
            if state.boot_id != boot_id():
                continue  # nothing survives a reboot
            records: list[tuple[str, RunRecord | None]] = [(r.run_id, r) for r in state.active]
            records += [(intent.run_id, None) for intent in state.ledger.starting]
            for run_id, record in records:
                if record is None or record.pid is None:
                    record = self._store.noted_run(run_id)  # noqa: PLW2901
                if record is None or record.pid is None or record.ticks is None:
                    unknown[run_id] = member
                elif is_alive(record.pid, record.ticks):
                    living[run_id] = record.pid
        if unknown:
            living |= find_runs(unknown.keys(), lambda run_id: _uid_of(unknown[run_id]))
        return living

    def _evidence(self, run_id: str, living: dict[str, int], *, is_same_boot: bool) -> Evidence:
        if not is_same_boot:
            return Evidence.REBOOTED
        if run_id in living:
            return Evidence.ALIVE
        return Evidence.BEGAN if self._store.has_proof(run_id) else Evidence.ABSENT

    def _settle_all(
        self, member: Member, state: JobState, living: dict[str, int], now_s: int
    ) -> list[tuple[Pending, bool]]:
        """What follows for the intents of a job; the runs that are to start again are returned.

        They were decided in this order, so a run counts as active for those that come after it,
        and has replaced those before it that have not begun.
        """
        is_same_boot = state.boot_id == boot_id()
        found = [
            (intent, self._evidence(intent.run_id, living, is_same_boot=is_same_boot))
            for intent in state.ledger.starting
        ]
        restarts: list[tuple[Pending, bool]] = []
        for number, (intent, evidence) in enumerate(found):
            later = [other.run_id for other, its in found[number + 1 :] if its in _BEGUN]
            before = restarts[-1][0].run_id if restarts else member.active_job
            going_on = [run_id for run_id in later if run_id in living] or [before]
            if later and evidence is Evidence.ABSENT and _replaces(member):
                action: Adopt | Restart | Conclude = self._superseded(member, intent)
                active_job = later[-1]
            else:
                active_job = going_on[-1]
                action = self._recovered(member, intent, evidence, now_s, bool(active_job))
            restart = self._settle(member, action, living, now_s, active_job)
            if restart is not None:
                restarts.append(restart)
        return restarts

    def _recovered(
        self, member: Member, intent: Intent, evidence: Evidence, now_s: int, active: bool
    ) -> Adopt | Restart | Conclude:
        assert member.ledger is not None  # the intent was in it
        result = recover(
            member.job,
            member.ledger,
            intent,
            evidence,
            now_s,
            active=active,
            slack_s=self._slack_s,
        )
        member.ledger = result.ledger
        return result.action

    def _superseded(self, member: Member, intent: Intent) -> Conclude:
        assert member.ledger is not None  # the intent was in it
        outcome = Outcome.SKIPPED
        ledger = member.ledger.with_start_given_up(intent.nominal_s, outcome, SUPERSEDED)
        member.ledger = ledger
        return Conclude(intent, outcome, SUPERSEDED)

    def _settle(
        self,
        member: Member,
        action: Adopt | Restart | Conclude,
        living: dict[str, int],
        now_s: int,
        active_job: str,
    ) -> tuple[Pending, bool] | None:
        """Do what follows for one intent; a run that is to start again is returned."""
        intent = action.intent
        if isinstance(action, Adopt):
            self._adopt(member, _record(intent), living[intent.run_id])
            return None
        if isinstance(action, Conclude) and action.outcome is Outcome.EXECUTED:
            self._ended(member, _record(intent), action.reason)
            return None
        decision = decide_at(member.entry.schedule, member.job.identity, intent.nominal_s)
        decision = decision.replace(chosen_s=intent.chosen_s)
        if isinstance(action, Conclude) and action.outcome is Outcome.MISSED:
            pending = self._scheduler.pending(member, decision, intent.run_id)
        else:
            pending = self._scheduler.trigger(member, decision, intent.run_id, now_s)
        if isinstance(action, Restart):
            return pending, action.replaces
        self._starter.end_without_run(pending, action.outcome, action.reason, active_job)
        return None

    def _take_up_run(self, member: Member, record: RunRecord, pid: int | None) -> None:
        if pid is not None:
            self._adopt(member, record, pid)
            return
        began = record.pid is not None or self._store.has_proof(record.run_id)
        self._ended(member, record, UNSEEN if began else NOT_STARTED)

    def _adopt(self, member: Member, record: RunRecord, pid: int) -> None:
        ticks = start_ticks(pid)
        age = age_ns(ticks) if ticks is not None else 0
        run = Run(
            member,
            record.run_id,
            record.nominal_s,
            record.chosen_s,
            pid,
            ticks,
            self._clock.now_ns() - age,
            self._clock.monotonic_ns() - age,
            is_adopted=True,
        )
        self._journal.of_job(
            Event.ADOPTED, member.entry, period=run.period, run_id=run.run_id, pid=pid
        )
        self._supervisor.watch(run)

    def _ended(self, member: Member, record: RunRecord, reason: str) -> None:
        """A run of which nothing is left."""
        nominal_s = record.nominal_s
        member.record(
            Ended(
                nominal_s=nominal_s,
                chosen_s=record.chosen_s,
                outcome=MANUAL if nominal_s is None else Outcome.EXECUTED.value,
                reason=reason,
                run_id=record.run_id,
                started_ns=record.started_ns,
            )
        )
        self._keeper.let_go(record.run_id)
        self._journal.of_job(
            Event.EXITED,
            member.entry,
            Level.WARN,
            period=period_of(nominal_s),
            run_id=record.run_id,
            reason=reason,
        )


def _record(intent: Intent) -> RunRecord:
    """What an intent says of its run, should there be one."""
    return RunRecord(intent.run_id, intent.nominal_s, intent.chosen_s, boot_id=boot_id())


def _replaces(member: Member) -> bool:
    return member.entry.schedule.policy.concurrency is Concurrency.REPLACE


def _uid_of(member: Member) -> int:
    """Whose the processes of a job's runs are."""
    task = member.entry.task
    try:
        account = find_account(task.user, task.group)
    except StartError:
        return -1  # nobody's: such a run cannot have started
    return os.geteuid() if account is None else account.uid
