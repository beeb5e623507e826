"""Enrolment: from what is configured to the members that krond looks after.

At the start all are new to it, and some left state behind. At a reload most stay as they are. A
configuration takes effect whole: it was checked before it gets here.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence

from kron.core.duration import SECOND_NS
from kron.engine.actions import SUSPENDED, Outcome
from kron.jobs.entry import Entry
from kron.krond.keeper import Keeper
from kron.krond.member import Member
from kron.krond.recovery import Recovery
from kron.krond.roster import Changes, Roster
from kron.krond.scheduler import Scheduler
from kron.krond.starter import Starter
from kron.krond.state.errors import StateCorrupt
from kron.krond.state.record import JobState
from kron.krond.state.store import Store, file_name
from kron.krond.supervisor import Supervisor
from kron.logs.event import Event
from kron.logs.journal import Journal
from kron.waking.queue import Queue

REMOVED = "the job is no longer configured"


class Enrolment:
    """Adds, changes and retires members."""

    def __init__(
        self,
        roster: Roster,
        queue: Queue[Member],
        store: Store,
        keeper: Keeper,
        supervisor: Supervisor,
        starter: Starter,
        scheduler: Scheduler,
        recovery: Recovery,
        journal: Journal,
    ) -> None:
        self._roster = roster
        self._queue = queue
        self._store = store
        self._keeper = keeper
        self._supervisor = supervisor
        self._starter = starter
        self._scheduler = scheduler
        self._recovery = recovery
        self._journal = journal

    def begin(self, entries: Iterable[Entry], now_ns: int) -> None:
        """Take up the jobs and what is left of their runs, and start what is due."""
        entries = list(entries)
        loaded = self._store.load_all(entry.identity for entry in entries)
        states = loaded.states
        corrupt = {os.path.basename(error.file): error for error in loaded.corrupt}  # noqa: PTH119
        found: list[tuple[Member, JobState]] = []
        for entry in entries:
            state = states.pop(entry.identity, None)
            member = Member(entry, state if loaded.lost is None else None)
            self._roster.add(member)
            if loaded.lost is not None:
                self._begin_anew(member, now_ns)
            elif state is not None:
                found.append((member, state))
            elif corrupt and (error := corrupt.pop(file_name(entry.identity), None)):
                self._tell_corrupt(error, entry)
                self._begin_anew(member, now_ns)
        for error in corrupt.values():
            self._tell_corrupt(error, None)
        strangers = states.values()
        self._retire_strangers(strangers)
        if loaded.lost is not None:
            self._keeper.flush()
            if set_aside := self._store.set_bundle_aside():
                self._tell_corrupt(set_aside, None)
        self._recovery.take_up(found, now_ns)
        self._remove_proofs(strangers)
        self._tell_suspended(self._roster)
        self._scheduler.step(self._roster, now_ns)

    def change(self, entries: Iterable[Entry], now_ns: int) -> Changes:
        """Let a new configuration take effect, from the next period on.

        A state that a newer krond has left for one of its jobs refuses all of it.
        """
        changes = self._roster.changes(entries)
        loaded = {
            entry.identity: self._load(entry, now_ns)
            for entry in changes.added
            if not self._roster.is_retired(entry)
        }
        for member in changes.removed:
            self._retire(member)
        rescheduled: list[Member] = []
        toggled: list[Member] = []
        for member, entry in changes.kept:
            before, after = member.entry.schedule, entry.schedule
            if before != after:
                rescheduled.append(member)
            if before.policy.suspend != after.policy.suspend:
                toggled.append(member)
            member.configure(entry)
        added, found = self._add(changes.added, loaded)
        self._queue.keep(self._roster)
        self._recovery.take_up(found, now_ns)
        self._tell_suspended(added)
        for member in toggled:
            suspend = member.entry.schedule.policy.suspend
            self._journal.of_job(Event.SUSPENDED, member.entry, suspend=suspend)
            for pending in list(member.waiting):
                if suspend and pending.nominal_s is not None:  # what is asked for runs all the same
                    self._starter.give_up(pending, Outcome.MISSED, SUSPENDED)
        self._scheduler.step([*rescheduled, *added], now_ns)
        return changes

    def _add(
        self, entries: Sequence[Entry], loaded: dict[str, tuple[Member, JobState | None]]
    ) -> tuple[list[Member], list[tuple[Member, JobState]]]:
        """Members for new jobs; with their state, if they were there before."""
        added: list[Member] = []
        found: list[tuple[Member, JobState]] = []
        for entry in entries:
            member = self._roster.bring_back(entry)
            if member is None:
                member, state = loaded[entry.identity]
                self._roster.add(member)
                if state is not None:
                    found.append((member, state))
            added.append(member)
        return added, found

    def _retire(self, member: Member) -> None:
        for pending in list(member.waiting):
            self._starter.give_up(pending, Outcome.MISSED, REMOVED)
        assert member.ledger is not None  # every member is stepped when it is added
        # Should it come back it is as one that was edited: it owes nothing from before.
        member.ledger = member.ledger.replace(schedule="")
        member.plan, member.planned = None, ()
        self._queue.put(member, None)
        self._roster.retire(member)
        self._keeper.touch(member)

    def _retire_strangers(self, states: Collection[JobState]) -> None:
        """The same for jobs that were removed while krond was down."""
        self._store.commit(
            [
                state.replace(ledger=state.ledger.replace(schedule=""), planned=())
                for state in states
                if state.ledger.schedule
            ]
        )

    def _remove_proofs(self, strangers: Collection[JobState]) -> None:
        """Drop the proofs that nobody will ask for any more."""
        wanted = {*self._supervisor.runs, *self._starter.pending}
        for state in strangers:
            wanted.update(record.run_id for record in state.active)
            wanted.update(intent.run_id for intent in state.ledger.starting)
        for run_id in self._store.proofs():
            if run_id not in wanted:
                self._keeper.let_go(run_id)

    def _tell_suspended(self, members: Iterable[Member]) -> None:
        for member in members:
            if member.entry.schedule.policy.suspend:
                self._journal.of_job(Event.SUSPENDED, member.entry, suspend=True)

    def _load(self, entry: Entry, now_ns: int) -> tuple[Member, JobState | None]:
        try:
            state = self._store.load(entry.identity)
        except StateCorrupt as error:
            member = Member(entry)
            self._tell_corrupt(error, entry)
            self._begin_anew(member, now_ns)
            return member, None
        return Member(entry, state), state

    def _begin_anew(self, member: Member, now_ns: int) -> None:
        member.begin_anew(now_ns // SECOND_NS)
        self._keeper.touch(member)

    def _tell_corrupt(self, error: StateCorrupt, entry: Entry | None) -> None:
        self._journal.event(
            Event.STATE_CORRUPT,
            namespace=entry.path if entry else None,
            name=entry.name if entry else None,
            file=error.file,
            set_aside=error.set_aside,
            error=error.error,
        )
