"""Enrolment: from what the API server has to the members that the operator looks after.

A replica that does not lead takes note of everything and does nothing, so that it can begin at
once. One that leads goes by its own ledgers: what it hears of its own writes is old.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from kron.core.duration import SECOND_NS
from kron.core.errors import Code, KronError
from kron.kube.api_object import Object
from kron.kube.client.reflector import Key, is_older
from kron.kube.operator.condition import INVALID_SPEC, says_invalid
from kron.kube.operator.doubts import Doubts
from kron.kube.operator.event_sender import EventSender
from kron.kube.operator.fences import Fences
from kron.kube.operator.job_cleanup import JobCleanup
from kron.kube.operator.member import ClusterMember
from kron.kube.operator.outcomes import Outcomes
from kron.kube.operator.pending import PendingJob
from kron.kube.operator.recorder import ResultRecorder
from kron.kube.operator.rehearsal import Rehearsal
from kron.kube.operator.roster import ClusterRoster
from kron.kube.operator.starter import JobStarter
from kron.kube.operator.status_writer import TIDY_DELAY_S, StatusWriter
from kron.kube.resource.kronjob import InvalidSpec, KronJob, read_kronjob, read_metadata
from kron.kube.resource.results import RunResult, results_from_json
from kron.kube.resource.run import read_run
from kron.kube.resource.status import Status, status_from_json
from kron.logs.event import Event
from kron.logs.journal import Journal
from kron.runtime.scheduler import Scheduler
from kron.waking.clock import Clock

INVALID = "the spec is no longer valid"
DELETED = "the KronJob is being deleted"
_BEFORE_ALL = "1"
"""A version that comes before all others, and for which no write is taken."""


class ClusterEnrolment:
    def __init__(
        self,
        roster: ClusterRoster,
        scheduler: Scheduler[ClusterMember, PendingJob],
        starter: JobStarter,
        statuses: StatusWriter,
        recorder: ResultRecorder,
        events: EventSender,
        doubts: Doubts,
        rehearsal: Rehearsal,
        journal: Journal,
        clock: Clock,
        may_act: Callable[[], bool],
        default_deadline_s: int,
    ) -> None:
        self.takes_up = False
        """Whether anything new is begun. A leader that stops leading still ends what it began."""
        self.take: Callable[[ClusterMember, int], None] = self.take_up
        """Takes up a member that is not ours yet, once it is certain what is known of it."""
        self.awake_since_s: int | None = None
        """Since when somebody has looked after what is taken up now; None: nobody has."""
        self.wake = asyncio.Event()
        """Set when the operator may have to wake at another time."""
        self._roster = roster
        self._scheduler = scheduler
        self._starter = starter
        self._statuses = statuses
        self._recorder = recorder
        self._events = events
        self._doubts = doubts
        self._rehearsal = rehearsal
        self._journal = journal
        self._clock = clock
        self._may_act = may_act
        self._default_deadline_ns = default_deadline_s * SECOND_NS

    def put(self, obj: Object) -> None:
        metadata = read_metadata(obj)
        member = self._roster.get((metadata.namespace, metadata.name))
        before = metadata if member is None else member.metadata
        if member is not None:
            if is_older(metadata.resource_version, before.resource_version):
                return
            if before.uid != metadata.uid:
                self._remove(member)
                member = None
        if member is None:
            member = self._roster.enrol(metadata, self._statuses)
            self._see_status(member, obj)
            self._configure(member, obj)
            self._take_up(member)
            return
        member.metadata = metadata
        is_known = metadata.resource_version == before.resource_version
        is_changed = not is_known and self._see_status(member, obj)
        if (metadata.generation, metadata.is_deleting) != (before.generation, before.is_deleting):
            self._reconfigure(member, obj)
            is_changed = True
        if is_changed:
            self._take_up(member)

    def drop(self, obj: Object) -> None:
        metadata = read_metadata(obj)
        member = self._roster.get((metadata.namespace, metadata.name))
        if member is not None and member.metadata.uid == metadata.uid:
            self._remove(member)

    def keep(self, names: set[Key], namespace: str | None) -> None:
        for member in self._roster:
            if namespace in (None, member.metadata.namespace) and member.key not in names:
                self._remove(member)

    def restored(self) -> None:
        """The API server's storage was restored: versions older than the known ones are right."""
        for member in self._roster:
            member.metadata = member.metadata.replace(resource_version=_BEFORE_ALL, generation=0)

    def reset(self) -> None:
        """Forget what a leader had in mind: from now on the API server's ledgers count."""
        for member in self._roster:
            member.is_ours = False
            member.load(member.stored.ledger)
            member.results = member.stored.results
            member.recall()
            member.pending.clear()
            member.doubts.clear()
            self._scheduler.queue.put(member, None)

    def take_up(self, member: ClusterMember, now_ns: int) -> None:
        """Act for a member: find out what became of its runs, and step it."""
        is_new = member.ledger is None
        if not member.is_ours:
            member.is_ours = True
            self._doubts.taken_up(member)
            if member.invalid:
                self.tell_invalid(member)
            if self.awake_since_s is not None and not is_new:
                member.was_awake(self.awake_since_s)
        if not is_new:
            self._scheduler.recover([(member, member.sightings())], now_ns)
        self._scheduler.step([member], now_ns)
        if is_new:  # a leader that never stored its ledger may have made Jobs all the same
            self._scheduler.recover([(member, member.sightings())], now_ns)
        self._recorder.record(member)
        self._rehearsal.touch(member)

    def _take_up(self, member: ClusterMember) -> None:
        if self.takes_up and self._may_act():
            take = self.take_up if member.is_ours else self.take
            take(member, self._clock.now_ns())
            self.wake.set()

    def _see_status(self, member: ClusterMember, obj: Object) -> bool:
        """Take note of a KronJob's status. True if that changes what is to be done for it."""
        was_frozen, member.frozen = bool(member.frozen), ""
        try:
            status = status_from_json(obj)
        except KronError as error:
            if error.code is Code.LEDGER_NEWER:
                member.frozen = str(error)
                member.see_status(status_from_json({"status": {**obj["status"], "ledger": None}}))
                return not was_frozen
            self._journal.event(
                Event.STATE_CORRUPT,
                namespace=member.metadata.namespace,
                name=member.metadata.name,
                file="status.ledger",
                set_aside="",
                error=str(error),
            )
            status = Status(results=results_from_json(obj["status"]))
        by_another = member.see_status(status)
        if not member.is_ours:
            member.recall()
        if not member.is_ours or member.ledger is None:
            member.load(status.ledger)
        elif status.ledger is None:  # removed or unreadable: write ours back
            self._statuses.touch(member, TIDY_DELAY_S)
        elif by_another:
            member.merge(status.ledger)
            return True
        return was_frozen  # a person removed the ledger that could not be read

    def _configure(self, member: ClusterMember, obj: Object) -> None:
        member.invalid = ""
        try:
            kronjob: KronJob | None = read_kronjob(obj, self._default_deadline_ns)
        except InvalidSpec as error:
            kronjob = None
            member.invalid = str(error)
        before = member.kronjob
        member.edited(before.schedule if before else None, kronjob.schedule if kronjob else None)
        member.kronjob = kronjob
        if member.invalid and member.is_ours:
            self.tell_invalid(member)

    def _reconfigure(self, member: ClusterMember, obj: Object) -> None:
        before = member.kronjob
        self._configure(member, obj)
        after = member.kronjob
        if not member.is_ours:
            return
        self._statuses.touch(member)  # also while a Job is tried again: the edit was seen
        if member.metadata.is_deleting:
            self._scheduler.give_up(member, DELETED)
        elif after is None:
            self._scheduler.give_up(member, INVALID)
        elif before is not None:
            suspend = after.schedule.policy.suspend
            if suspend != before.schedule.policy.suspend:
                self._scheduler.suspended(member, suspend=suspend)

    def tell_invalid(self, member: ClusterMember) -> None:
        """Log what is wrong with a spec, and send an Event if its status does not say it yet."""
        self._journal.event(
            Event.ERROR,
            namespace=member.metadata.namespace,
            name=member.metadata.name,
            operation="read spec",
            error=member.invalid,
        )
        if not says_invalid(member):
            self._events.say(member, "Warning", INVALID_SPEC, member.invalid)

    def _remove(self, member: ClusterMember) -> None:
        member.is_gone = True
        self._starter.forget(member)
        self._statuses.forget(member)
        self._scheduler.queue.put(member, None)
        self._roster.remove(member.key)


class Jobs:
    """Takes note of Jobs, and of what follows from them for their KronJobs."""

    def __init__(
        self,
        roster: ClusterRoster,
        starter: JobStarter,
        statuses: StatusWriter,
        outcomes: Outcomes,
        recorder: ResultRecorder,
        cleanup: JobCleanup,
        fences: Fences,
    ) -> None:
        self._roster = roster
        self._starter = starter
        self._statuses = statuses
        self._outcomes = outcomes
        self._recorder = recorder
        self._cleanup = cleanup
        self._fences = fences

    def put(self, obj: Object) -> None:
        run = read_run(obj)
        ended = run.result if self._roster.has_active(run) else None
        if run.is_fence:
            self._fences.put(run)
            if not run.pods:
                self._changed(self._roster.drop_run(run), ended)
                return
        first_uid = self._roster.earlier(run)
        member = self._roster.put_run(run)
        if member is not None and first_uid:
            self._outcomes.ran_twice(member, run, first_uid)
        self._changed(member, ended)

    def drop(self, obj: Object) -> None:
        run = read_run(obj)
        ended = run.result if self._roster.has_active(run) else None
        self._fences.drop(run.namespace, run.name)
        self._changed(self._roster.drop_run(run), ended)

    def keep(self, names: set[Key], namespace: str | None) -> None:
        self._fences.keep(names, namespace)
        for member in self._roster.keep_runs(names, namespace):
            self._changed(member)

    def restored(self) -> None:
        """The API server's storage was restored. Jobs are taken as they are listed."""

    def _changed(self, member: ClusterMember | None, ended: RunResult | None = None) -> None:
        if member is None or not member.is_ours:
            return
        self._recorder.record(member, ended)
        self._starter.wake(member)
        for run in member.sightings():
            if member.found(run):
                self._starter.adopt(member, run)
        self._cleanup.touch(member)
        if not member.pending:
            self._statuses.touch(member, TIDY_DELAY_S)
