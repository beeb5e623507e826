"""Enrolment: from what the API server has to the members that the operator looks after.

A replica that does not lead takes note of everything and does nothing, so that it can begin at
once. One that leads goes by its own ledgers: what it hears of its own writes is old.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from kron.core.errors import Code, KronError
from kron.engine.actions import SUSPENDED
from kron.kube.client.reflector import is_older
from kron.kube.operator.condition import says_invalid, trouble_of
from kron.kube.operator.history import History
from kron.kube.operator.member import Member
from kron.kube.operator.recorder import TIDY_DELAY_S, Recorder
from kron.kube.operator.reporter import Reporter
from kron.kube.operator.roster import Key, Roster
from kron.kube.operator.scheduler import Scheduler
from kron.kube.operator.starter import Starter
from kron.kube.resource.kronjob import InvalidSpec, KronJob, read_kronjob, read_metadata
from kron.kube.resource.run import read_run
from kron.kube.resource.status import Status, status_from_json
from kron.logs.event import Event
from kron.logs.journal import Journal
from kron.waking.clock import Clock
from kron.waking.queue import Queue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Object = dict[str, Any]

INVALID = "the spec is no longer valid"
DELETED = "the KronJob is being deleted"
_BEFORE_ALL = "1"
"""A version that comes before all others, and for which no write is taken."""


class Enrolment:
    """Takes KronJobs in, lets them change, and lets them go."""

    def __init__(
        self,
        roster: Roster,
        queue: Queue[Member],
        scheduler: Scheduler,
        starter: Starter,
        recorder: Recorder,
        reporter: Reporter,
        journal: Journal,
        clock: Clock,
        may_act: Callable[[], bool],
    ) -> None:
        self.is_leading = False
        """Whether the ledgers are ours: those that the API server has are behind."""
        self.takes_up = False
        """Whether anything new is begun. One that ceases to lead still ends what it has begun."""
        self.changed = asyncio.Event()
        """Set when somebody may have to be woken at another time."""
        self._roster = roster
        self._queue = queue
        self._scheduler = scheduler
        self._starter = starter
        self._recorder = recorder
        self._reporter = reporter
        self._journal = journal
        self._clock = clock
        self._may_act = may_act

    def put(self, obj: Object) -> None:
        """A KronJob is there, or has changed."""
        metadata = read_metadata(obj)
        member = self._roster.find((metadata.namespace, metadata.name))
        if member is not None and member.metadata.uid != metadata.uid:
            if is_older(metadata.resource_version, member.metadata.resource_version):
                return
            self._remove(member)
            member = None
        if member is None:
            member = self._roster.add(metadata)
            self._see_status(member, obj)
            self._configure(member, obj)
            self._take_up(member)
            return
        before = member.metadata
        if is_older(metadata.resource_version, before.resource_version):
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
        """A KronJob is gone."""
        metadata = read_metadata(obj)
        member = self._roster.find((metadata.namespace, metadata.name))
        if member is not None and member.metadata.uid == metadata.uid:
            self._remove(member)

    def keep(self, names: set[Key], namespace: str | None) -> None:
        """These are all that there are."""
        for member in self._roster:
            if namespace in (None, member.metadata.namespace) and member.key not in names:
                self._remove(member)

    def restored(self) -> None:
        """The API server's storage is an older one: what is older than what is known is right."""
        for member in self._roster:
            member.metadata = member.metadata.replace(resource_version=_BEFORE_ALL, generation=0)

    def reset(self) -> None:
        """Forget what a leader had in mind: the ledgers are those that the API server has."""
        self.is_leading = False
        for member in self._roster:
            member.ledger = member.stored.ledger if member.stored else None
            member.trouble = trouble_of(member.stored)
            member.plan = None
            member.starting.clear()
            self._queue.put(member, None)

    def _take_up(self, member: Member) -> None:
        if self.takes_up and self._may_act():
            self._scheduler.take_up(member, self._clock.now_ns())
            self.changed.set()

    def _see_status(self, member: Member, obj: Object) -> bool:
        """Take note of a KronJob's status. True if that changes what is to be done for it."""
        was_frozen, member.frozen = bool(member.frozen), ""
        try:
            status: Status | None = status_from_json(obj)
        except KronError as error:
            if error.code is Code.LEDGER_NEWER:
                member.frozen = str(error)
                member.stored = status_from_json(_without_ledger(obj))
                return not was_frozen
            self._journal.event(
                Event.STATE_CORRUPT,
                namespace=member.metadata.namespace,
                name=member.metadata.name,
                file="status.ledger",
                set_aside="",
                error=str(error),
            )
            status = None
        by_another = member.see_status(status)
        ledger = status.ledger if status else None
        if not self.is_leading:
            member.trouble = trouble_of(status)
        if not self.is_leading or member.ledger is None:
            member.ledger = ledger
        elif by_another and ledger is not None:
            member.ledger = member.ledger.merged(ledger)
            return True
        return was_frozen  # somebody has taken the ledger away that could not be read

    def _configure(self, member: Member, obj: Object) -> None:
        """Let a member be what its spec says."""
        member.invalid = ""
        try:
            kronjob: KronJob | None = read_kronjob(obj)
        except InvalidSpec as error:
            kronjob = None
            member.invalid = str(error)
        if kronjob is None or member.kronjob is None or kronjob.schedule != member.kronjob.schedule:
            member.plan = None
            member.next = None
        member.kronjob = kronjob
        if member.invalid and self.is_leading:
            self.tell_invalid(member)

    def _reconfigure(self, member: Member, obj: Object) -> None:
        before = member.kronjob
        self._configure(member, obj)
        after = member.kronjob
        if not self.is_leading:
            return
        if member.metadata.is_deleting:
            self._starter.give_up(member, DELETED)
        elif after is None:
            self._starter.give_up(member, INVALID)
        elif before is not None:
            suspend = after.schedule.policy.suspend
            if suspend != before.schedule.policy.suspend:
                self._journal.of_job(Event.SUSPENDED, after, suspend=suspend)
                self._reporter.suspended(member, suspend=suspend)
                if suspend:
                    self._starter.give_up(member, SUSPENDED)

    def tell_invalid(self, member: Member) -> None:
        """Say what is wrong with a spec; with an Event if its status does not say it yet."""
        self._journal.event(
            Event.ERROR,
            namespace=member.metadata.namespace,
            name=member.metadata.name,
            operation="read spec",
            error=member.invalid,
        )
        if not says_invalid(member):
            self._reporter.invalid(member)

    def _remove(self, member: Member) -> None:
        member.is_gone = True
        self._starter.forget(member)
        self._recorder.forget(member)
        self._queue.put(member, None)
        self._roster.remove(member)


class Jobs:
    """Takes note of Jobs, and of what follows from them for their KronJobs."""

    def __init__(
        self,
        roster: Roster,
        scheduler: Scheduler,
        starter: Starter,
        recorder: Recorder,
        history: History,
        is_leading: Callable[[], bool],
    ) -> None:
        self._roster = roster
        self._scheduler = scheduler
        self._starter = starter
        self._recorder = recorder
        self._history = history
        self._is_leading = is_leading

    def put(self, obj: Object) -> None:
        """A Job is there, or has changed."""
        self._changed(self._roster.put_run(read_run(obj)))

    def drop(self, obj: Object) -> None:
        """A Job is gone."""
        run = read_run(obj)
        self._changed(self._roster.drop_run(run.namespace, run.name, run.kronjob))

    def keep(self, names: set[Key], namespace: str | None) -> None:
        """These are all that there are."""
        for member in self._roster.keep_runs(names, namespace):
            self._changed(member)

    def restored(self) -> None:
        """The API server's storage is an older one: a Job is what it is said to be, as ever."""

    def _changed(self, member: Member | None) -> None:
        if member is None or not self._is_leading():
            return
        self._starter.changed(member)
        self._scheduler.adopt(member)
        self._history.touch(member)
        if not member.starting:
            self._recorder.touch(member, TIDY_DELAY_S)


def _without_ledger(obj: Object) -> Object:
    status = {name: value for name, value in obj["status"].items() if name != "ledger"}
    return {**obj, "status": status}
