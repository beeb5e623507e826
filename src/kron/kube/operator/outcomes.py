"""Outcomes: what happens to a period goes into the log, the metrics and Events.

The announcer of `kron.runtime`, and more: a Job is made by tries that the scheduler does not see. A
Job that exists is announced at once; a period that ended without one, when its end is stored.
"""

from __future__ import annotations

from typing import Any

from kron.core.duration import SECOND_NS
from kron.core.instant import to_text
from kron.engine.actions import Outcome, Settle, SettleMany
from kron.engine.recovery import Conclude, Sighting
from kron.kube.client.errors import ApiError
from kron.kube.operator.condition import Trouble
from kron.kube.operator.create_verdict import reason_word
from kron.kube.operator.doubts import Doubts
from kron.kube.operator.event_sender import EventSender
from kron.kube.operator.member import ClusterMember
from kron.kube.operator.metrics import Metrics
from kron.kube.operator.pending import PendingJob
from kron.kube.operator.roster import ClusterRoster
from kron.kube.operator.status_writer import StatusWriter
from kron.kube.resource.run import JobRun
from kron.logs.announcer import JournalAnnouncer
from kron.logs.event import Component, Event, Level
from kron.logs.journal import Journal
from kron.waking.clock import Clock


class Outcomes(JournalAnnouncer[ClusterMember]):
    def __init__(
        self,
        roster: ClusterRoster,
        statuses: StatusWriter,
        events: EventSender,
        journal: Journal,
        metrics: Metrics,
        clock: Clock,
        doubts: Doubts,
    ) -> None:
        super().__init__(journal)
        self._roster = roster
        self._statuses = statuses
        self._events = events
        self._metrics = metrics
        self._clock = clock
        self._doubts = doubts

    # What the scheduler announces

    def settled(self, job: ClusterMember, end: Settle, now_s: int) -> None:
        entry, active_job = job.entry, job.active_run

        def announce() -> None:
            self._journal.settled(entry, end, now_s, active_job=active_job)
            self._metrics.ended(end.outcome)
            is_skipped = end.outcome is Outcome.SKIPPED and active_job
            reason = f"{end.reason} ({active_job})" if is_skipped else end.reason
            self._say_ended(job, end.decision.period_id, end.outcome, reason)

        self._statuses.then(job, announce)

    def settled_many(self, job: ClusterMember, end: SettleMany, now_s: int) -> None:
        entry = job.entry

        def announce() -> None:
            self._journal.settled_many(entry, end, now_s)
            self._metrics.ended(Outcome.MISSED, end.count)
            first, last = to_text(end.first_s), to_text(end.last_s)
            message = f"Missed periods, {end.count} from {first} to {last}: {end.reason}"
            self._events.say(job, "Warning", "Missed", message)

        self._statuses.then(job, announce)

    def suspended(self, job: ClusterMember, *, suspend: bool) -> None:
        super().suspended(job, suspend=suspend)
        reason = "Suspended" if suspend else "Resumed"
        message = f"Scheduling is {reason.lower()}"
        self._events.say(job, "Normal", reason, message, repeated=True)

    # What becomes of a Job

    def created(self, pending: PendingJob, run: JobRun) -> None:
        chosen_s = pending.intent.chosen_s
        self._metrics.started(self._clock.now_ns() / SECOND_NS - chosen_s)
        self._executed(pending, run)
        pending.member.accepted = pending.generation
        self._log(Event.JOB_CREATED, pending, job=run.name, uid=run.uid, chosen=to_text(chosen_s))
        message = f"Created Job {run.name} for {run.period}"
        self._events.say(pending.member, "Normal", "JobCreated", message)

    def found(self, pending: PendingJob, run: JobRun) -> None:
        self._metrics.ended(Outcome.EXECUTED)
        self._executed(pending, run)
        self._log(Event.JOB_EXISTS, pending, job=run.name, uid=run.uid)

    def replaced(self, pending: PendingJob, run: JobRun) -> None:
        """A Job was deleted to make room for this one."""
        self._log(Event.REPLACED_JOB, pending, old_job=run.name, new_job=pending.job_name)
        message = f"Deleted Job {run.name} to make {pending.job_name}"
        self._events.say(pending.member, "Normal", "JobReplaced", message)

    def adopted(self, job: ClusterMember, run: Sighting) -> None:
        """A Job was found whose run the ledger did not know."""
        assert run.nominal_s is not None  # a manual run is no news to the ledger
        self._metrics.ended(Outcome.EXECUTED)
        self._doubts.executed(job, run.nominal_s)
        uid, period = job.runs[run.run_id].uid, to_text(run.nominal_s)
        self._journal.of_job(Event.JOB_EXISTS, job.entry, period=period, job=run.run_id, uid=uid)

    def ran_twice(self, member: ClusterMember, second: JobRun, first_uid: str) -> None:
        """A second Job of a period was seen: something has broken the promise that there is one."""
        message = (
            f"a second Job {second.name} was made for {second.period}: "
            f"uid {second.uid}, after {first_uid}"
        )
        self._journal.error("keep one Job a period", message, member.kronjob, period=second.period)
        self._events.say(member, "Warning", "SecondJob", message[:1].upper() + message[1:])

    def ended(self, pending: PendingJob, outcome: Outcome, reason: str) -> None:
        """Its Job will not be made."""
        member, intent = pending.member, pending.intent
        member.gave_up(intent.nominal_s, outcome, reason)
        self.concluded(member, Conclude(intent, outcome, reason, member.active_run))

    def concluded(self, job: ClusterMember, end: Conclude) -> None:
        """A period that was decided on has ended without a Job; the ledger has it."""
        period, chosen_s = to_text(end.intent.nominal_s), end.intent.chosen_s
        kronjob, now_s = job.kronjob, self._clock.now_ns() // SECOND_NS

        def announce() -> None:
            if kronjob is not None and end.outcome is Outcome.SKIPPED:
                self._journal.skipped(kronjob, period, active_job=end.yields_to)
            elif kronjob is not None:
                self._journal.missed(kronjob, period, now_s, end.reason, chosen_s=chosen_s)
            self._metrics.ended(end.outcome)
            self._say_ended(job, period, end.outcome, end.reason)

        self._statuses.then(job, announce)

    def waits(self, pending: PendingJob, error: ApiError) -> None:
        """It cannot be made yet, and is tried again."""
        self._in_trouble(pending, Trouble(reason_word(error), str(error)), Level.WARN)

    def failed(self, pending: PendingJob, trouble: Trouble) -> None:
        """Its Job cannot be made, and its period is missed."""
        self._in_trouble(pending, trouble, Level.ERROR)
        self.ended(pending, Outcome.MISSED, trouble.message)

    def _in_trouble(self, pending: PendingJob, trouble: Trouble, level: Level) -> None:
        member = pending.member
        member.trouble = trouble.replace(generation=pending.generation)
        if member.kronjob is not None:
            self._journal.error(
                "create job",
                trouble.message,
                member.kronjob,
                period=pending.period,
                level=level,
                component=Component.EXECUTOR,
            )
        message = f"Job for {pending.period}: {trouble.message}"
        self._events.say(member, "Warning", trouble.reason, message)
        self._statuses.touch(member)

    def _executed(self, pending: PendingJob, run: JobRun) -> None:
        self._doubts.executed(pending.member, pending.nominal_s)
        if first_uid := self._roster.earlier(run):
            self.ran_twice(pending.member, run, first_uid)
        self._roster.put_made(run, pending.gone)
        pending.member.started(pending.nominal_s)
        trouble = pending.member.trouble
        if trouble is not None and trouble.generation <= pending.generation:
            pending.member.trouble = None

    def _log(self, event: Event, pending: PendingJob, **fields: Any) -> None:
        """Log what became of a Job, unless the KronJob is invalid by now."""
        if pending.member.kronjob is not None:
            self._journal.of_job(event, pending.member.kronjob, period=pending.period, **fields)

    def _say_ended(self, job: ClusterMember, period: str, outcome: Outcome, reason: str) -> None:
        self._events.say(job, "Warning", outcome.value.capitalize(), f"Period {period}: {reason}")
