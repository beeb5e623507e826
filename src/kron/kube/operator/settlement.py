"""Settlement: how a period that was to run has ended, or why it has not yet.

Into the ledger, the log, the metrics and Events, each time in the same way.
"""

from __future__ import annotations

from kron.core.decision import Decision
from kron.core.duration import SECOND_NS
from kron.engine.actions import Outcome
from kron.kube.client.errors import ApiError
from kron.kube.operator.answers import reason_word
from kron.kube.operator.condition import Trouble
from kron.kube.operator.member import Member
from kron.kube.operator.metrics import Metrics
from kron.kube.operator.pending import Pending
from kron.kube.operator.recorder import Recorder
from kron.kube.operator.reporter import Reporter
from kron.kube.operator.roster import Roster
from kron.kube.resource.run import Run, job_name
from kron.logs.event import Component, Event, Level
from kron.logs.journal import Journal
from kron.waking.clock import Clock


class Settlement:
    """Ends periods, and tells of it."""

    def __init__(
        self,
        roster: Roster,
        recorder: Recorder,
        reporter: Reporter,
        journal: Journal,
        metrics: Metrics,
        clock: Clock,
    ) -> None:
        self._roster = roster
        self._recorder = recorder
        self._reporter = reporter
        self._journal = journal
        self._metrics = metrics
        self._clock = clock

    def created(self, pending: Pending, run: Run) -> None:
        """Its Job was made."""
        member, chosen_s = pending.member, pending.decision.chosen_s
        assert chosen_s is not None  # it was decided on
        self._metrics.started(self._clock.now_ns() / SECOND_NS - chosen_s)
        self._executed(pending, run)
        if member.kronjob is not None:
            self._journal.of_job(
                Event.JOB_CREATED,
                member.kronjob,
                period=pending.period,
                job=run.name,
                uid=run.uid,
                chosen=pending.decision.chosen_time,
            )
        self._reporter.started(member, run)

    def found(self, pending: Pending, run: Run) -> None:
        """Its Job was there already."""
        member = pending.member
        self._metrics.ended(Outcome.EXECUTED)
        self._executed(pending, run)
        if member.kronjob is not None:
            self._journal.of_job(
                Event.JOB_EXISTS, member.kronjob, period=pending.period, job=run.name, uid=run.uid
            )

    def replaced(self, pending: Pending, run: Run) -> None:
        """A Job is deleted for the sake of this one."""
        member = pending.member
        new_job = job_name(member.metadata.name, pending.period)
        if member.kronjob is not None:
            self._journal.of_job(
                Event.REPLACED_JOB,
                member.kronjob,
                period=pending.period,
                old_job=run.name,
                new_job=new_job,
            )
        self._reporter.replaced(member, run, new_job)

    def ended(self, pending: Pending, outcome: Outcome, reason: str) -> None:
        """There will be no Job."""
        member = pending.member
        assert member.ledger is not None  # it has the intent
        nominal_s = pending.decision.nominal_s
        member.ledger = member.ledger.with_start_given_up(nominal_s, outcome, reason)
        self.told(member, pending.decision, outcome, reason)

    def told(self, member: Member, decision: Decision, outcome: Outcome, reason: str) -> None:
        """Tell that a period that was decided on has ended without a Job; the ledger has it."""
        kronjob, period = member.kronjob, decision.period_id
        if kronjob is not None and outcome is Outcome.SKIPPED:
            self._journal.skipped(kronjob, period, active_job=member.active_job)
        elif kronjob is not None:
            now_s = self._clock.now_ns() // SECOND_NS
            self._journal.missed(kronjob, period, now_s, reason, chosen_s=decision.chosen_s)
        self._metrics.ended(outcome)
        self._reporter.not_started(member, decision, outcome, reason)
        self._recorder.touch(member)

    def waits(self, pending: Pending, error: ApiError) -> None:
        """It cannot be made yet, and is tried again."""
        self.in_trouble(pending, Trouble(reason_word(error), str(error)), Level.WARN)

    def refused(self, pending: Pending, error: ApiError) -> None:
        """The API server does not want this Job."""
        self.in_trouble(pending, Trouble(reason_word(error), str(error)))
        self.ended(pending, Outcome.MISSED, str(error))

    def in_trouble(self, pending: Pending, trouble: Trouble, level: Level = Level.ERROR) -> None:
        """Something is the matter, which people can do something about."""
        member = pending.member
        member.trouble = trouble
        if member.kronjob is not None:
            self._journal.error(
                "create job",
                trouble.message,
                member.kronjob,
                period=pending.period,
                level=level,
                component=Component.EXECUTOR,
            )
        self._reporter.trouble(member, pending.period, trouble)
        self._recorder.touch(member)

    def _executed(self, pending: Pending, run: Run) -> None:
        member = pending.member
        assert member.ledger is not None  # it has the intent
        self._roster.put_made(run, pending.gone)
        member.ledger = member.ledger.with_started(pending.decision.nominal_s)
        member.trouble = None
