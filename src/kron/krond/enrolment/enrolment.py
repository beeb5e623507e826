"""Enrolment: from what is configured to the members that krond looks after.

At the start all are new to it, and some left state behind. At a reload most stay as they are. A
configuration takes effect whole: it was checked before it gets here.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from functools import partial

from kron.core.duration import SECOND_NS
from kron.core.errors import KronError
from kron.core.instant import LAST_S
from kron.core.parser import parse_schedule
from kron.core.policy import Concurrency
from kron.engine.actions import Outcome
from kron.jobs.configuration import Configuration
from kron.jobs.entry import Entry
from kron.jobs.task import Task
from kron.krond.enrolment.boot import Boot
from kron.krond.enrolment.removed import RemovedStates
from kron.krond.handover import Handover
from kron.krond.host import Host
from kron.krond.pauses.clock_hold import ClockHold
from kron.krond.roster.attempts import TAKEN, resumed
from kron.krond.roster.member import HostMember
from kron.krond.roster.roster import HostRoster
from kron.krond.roster.run import PendingRun
from kron.krond.runs.starter import ProcessStarter
from kron.krond.runs.supervisor import UNSEEN, Supervisor, log_end
from kron.krond.state.errors import StateCorrupt
from kron.krond.state.record import Ended, JobState, RunRecord
from kron.krond.state.store import file_name
from kron.krond.state.writeback import WriteBack
from kron.logs.event import Event
from kron.runtime.scheduler import Scheduler
from kron.waking.queue import AT_ONCE

NOT_STARTED = "krond ended before it was started"
REMOVED = "the job is no longer configured"
SOME_SCHEDULE = "0 0 29 2 *"
"""For a job of which none is known. It is no longer configured, and never due."""


class HostEnrolment:
    def __init__(
        self,
        host: Host,
        roster: HostRoster,
        writeback: WriteBack,
        supervisor: Supervisor,
        starter: ProcessStarter,
        scheduler: Scheduler[HostMember, PendingRun],
        clock_hold: ClockHold,
        removed: RemovedStates,
    ) -> None:
        self._host = host
        self._roster = roster
        self._writeback = writeback
        self._supervisor = supervisor
        self._starter = starter
        self._scheduler = scheduler
        self._clock_hold = clock_hold
        self._removed = removed
        self._boot = Boot(host.store, host.processes.boot_id())

    def begin(
        self, configuration: Configuration, now_ns: int, handover: Handover | None = None
    ) -> None:
        """Take up the jobs and what is left of their runs, and start what is due.

        With a handover the jobs were looked after until then: there was no downtime.
        """
        busy_s = 0
        if handover is not None:
            self._supervisor.held = handover.runs
            busy_s = -((handover.since_ns - self._host.clock.monotonic_ns()) // SECOND_NS)
        self._host.notices.find_left()  # before anything happens to a run
        self._starter.resize(configuration.slots)
        entries = list(configuration.entries)
        loaded = self._host.store.load_all(entry.identity for entry in entries)
        states = loaded.states
        if boot_corrupt := self._boot.begin(entries, states, now_ns // SECOND_NS):
            self._log_corrupt(boot_corrupt, None)
        corrupt = {os.path.basename(error.file): error for error in loaded.corrupt}  # noqa: PTH119
        found: list[tuple[HostMember, JobState]] = []
        unknown: list[HostMember] = []
        for entry in self._boot.entries(entries):
            state: JobState | StateCorrupt | None = states.pop(entry.identity, None)
            if loaded.lost is not None:
                member = self._enrol(entry, None, now_ns)
                member.forget(now_ns // SECOND_NS)
                unknown.append(member)
                continue
            if state is None and corrupt:
                state = corrupt.pop(file_name(entry.identity), None)
            member = self._enrol(entry, state, now_ns)
            if isinstance(state, JobState):
                found.append((member, state))
                if handover is not None:
                    member.was_awake(handover.awake_s)
            else:
                unknown.append(member)
        for error in corrupt.values():
            self._log_corrupt(error, None)
        removed = self._enrol_removed(states)
        strangers = states.values()
        self._retire_strangers(strangers)
        if strangers or removed:
            self._removed.watch()
        if loaded.lost is not None:
            self._writeback.flush()
            self._writeback.check()
            if set_aside := self._host.store.set_bundle_aside():
                self._log_corrupt(set_aside, None)
        self._boot.admit(self._roster, now_ns // SECOND_NS)
        self._host.history.catch_up((member.entry, state.past) for member, state in found)
        gone = [member for member, _ in removed]
        self._recover([*found, *removed], now_ns, gone)
        for member in gone:
            self._retire(member)
        unclaimed = self._unclaimed(strangers)
        self._adopt_strays(unknown, unclaimed, now_ns)
        self._supervisor.leftovers.find(self._roster, self._supervisor.runs)
        self._drop_proofs(unclaimed - self._supervisor.runs.keys(), found)
        self._log_suspended(self._roster)
        self._scheduler.step(self._without_doubtful(now_ns), now_ns, busy_s=busy_s)
        if self._writeback.flush():
            self._boot.serve()
        self._host.history.drop_expired(self._is_configured)
        self._host.notices.send_left(self._roster.entry)

    def change(self, configuration: Configuration, now_ns: int) -> dict[str, int]:
        """Let a new configuration take effect, from the next period on; count what it changes.

        A state that a newer krond has left for one of its jobs refuses all of it.
        """
        # A retired job whose last run has just ended is only stored.
        self._writeback.flush()
        self._writeback.check()
        removed = {member.entry.identity: member for member in self._roster}
        new: list[Entry] = []
        kept: list[tuple[HostMember, Entry]] = []
        for entry in self._boot.entries(configuration.entries):
            if (known := removed.pop(entry.identity, None)) is None:
                new.append(entry)
            else:
                kept.append((known, entry))
        loaded = {
            entry.identity: self._host.store.load(entry.identity)
            for entry in new
            if entry.identity not in self._roster.retired
        }
        for member in removed.values():
            self._retire(member)
            self._removed.watch()
        rescheduled: list[HostMember] = []
        toggled: list[HostMember] = []
        edited = 0
        for member, entry in kept:
            before, after = member.entry.schedule, entry.schedule
            edited += before != after or member.entry.task != entry.task
            if before != after:
                rescheduled.append(member)
            if before.policy.suspend != after.policy.suspend:
                toggled.append(member)
            member.configure(entry)
        self._starter.resize(configuration.slots)
        added: list[HostMember] = []
        found: list[tuple[HostMember, JobState]] = []
        unread: list[HostMember] = []
        for entry in new:
            state = loaded.get(entry.identity)
            member = self._roster.bring_back(entry) or self._enrol(entry, state, now_ns)
            added.append(member)
            if isinstance(state, JobState):
                found.append((member, state))
            elif state is not None:
                unread.append(member)
        self._scheduler.queue.keep(self._roster)
        self._boot.admit([*rescheduled, *added], now_ns // SECOND_NS)
        self._recover(found, now_ns)
        if unread:
            self._adopt_strays(unread, self._unclaimed(()), now_ns)
        self._log_suspended(added)
        for member in toggled:
            self._scheduler.suspended(member, suspend=member.entry.schedule.policy.suspend)
        self._scheduler.step([*rescheduled, *added], now_ns)
        self._host.history.drop_expired(self._is_configured)
        return {"added": len(added), "changed": edited, "removed": len(removed)}

    def _enrol(
        self, entry: Entry, state: JobState | StateCorrupt | None, now_ns: int
    ) -> HostMember:
        """Look after a job that is new to this krond, with what the store has of it."""
        known = state if isinstance(state, JobState) else None
        member = HostMember(entry, self._writeback, known)
        self._roster.add(entry.identity, member)
        if isinstance(state, StateCorrupt):
            self._log_corrupt(state, entry)
            member.forget(now_ns // SECOND_NS)
        return member

    def _recover(
        self,
        found: Sequence[tuple[HostMember, JobState]],
        now_ns: int,
        gone: Collection[HostMember] = (),
    ) -> None:
        """Take up the runs of the krond before this one, and those that it was about to start.

        All of them together: what is stored on the way must not forget a run of one that comes
        later. `gone` are those of the jobs that are no longer configured.
        """
        unsure = [(job, state) for job, state in found if state.active or state.ledger.starting]
        search = self._starter.search
        search.look(unsure)
        search.pids |= {run_id: run.pid for run_id, run in self._supervisor.held.items()}
        # First, since an attempt, or a run that replaces others, waits for them.
        self._supervisor.leftovers.find((member for member, _ in unsure), search.pids)
        for member, state in unsure:
            # After a reboot the proof may be gone with the page cache, and the run may have begun.
            is_rebooted = state.boot_id != self._host.processes.boot_id()
            for record in state.active:
                if record.run_id in search.pids:
                    self._starter.adopt_run(member, record)
                elif is_rebooted or self._has_begun(record):
                    self._starter.conclusions.of_run(member, record, UNSEEN)
                elif record.attempt > 1:
                    attempt = resumed(member.entry, record, member.past, now_ns)
                    obstacle = attempt.obstacle
                    if member in gone:
                        obstacle = REMOVED
                    elif self._is_taken(member, state):
                        obstacle = TAKEN
                    self._starter.try_again(member, attempt.replace(obstacle=obstacle))
                else:
                    self._starter.conclusions.without_run(
                        member, record, Outcome.MISSED, NOT_STARTED, ""
                    )
            self._writeback.changed(member)  # with the processes of the runs that were adopted
        sightings = [(member, search.sightings(member, state)) for member, state in unsure]
        self._scheduler.recover(sightings, now_ns)

    def _has_begun(self, record: RunRecord) -> bool:
        return record.pid is not None or self._host.store.has_proof(record.run_id)

    def _is_taken(self, member: HostMember, state: JobState) -> bool:
        """Whether a manual run took the place of its attempt, which was not stored any more."""
        manual = [record for record in state.active if record.nominal_s is None]
        is_exclusive = member.concurrency is not Concurrency.ALLOW
        return is_exclusive and any(map(self._has_begun, manual))

    def _without_doubtful(self, now_ns: int) -> list[HostMember]:
        """The jobs to step now: those for which much is overdue wait, if the clock may be wrong."""
        now_s = now_ns // SECOND_NS
        due_s = {member.entry.identity: _planned_s(member) for member in self._roster}
        if not self._clock_hold.begin_unsynchronised(now_s - min(due_s.values(), default=now_s)):
            return list(self._roster)
        clear = []
        for member in self._roster:
            if due_s[member.entry.identity] > now_s:
                clear.append(member)
            else:
                self._scheduler.queue.put(member, AT_ONCE)
        return clear

    def _enrol_removed(self, states: dict[str, JobState]) -> list[tuple[HostMember, JobState]]:
        """Take up the jobs that were removed while krond was down, and left something undecided.

        They are taken out of `states`. So what they were about to start is missed, for the log and
        the history too, and the ends of their runs are seen. Their tasks are not known any more.
        """
        removed = []
        for identity, state in list(states.items()):
            if state.ledger.starting or state.active:
                with suppress(KronError):  # its schedule does not read
                    (entry,) = self._boot.entries([_entry_of(state)])
                    member = HostMember(entry, self._writeback, state)
                    self._roster.add(identity, member)
                    removed.append((member, states.pop(identity)))
        return removed

    def _retire(self, member: HostMember) -> None:
        self._scheduler.give_up(member, REMOVED)
        member.retire()
        self._scheduler.queue.put(member, None)
        self._roster.retire(member)

    def _retire_strangers(self, states: Collection[JobState]) -> None:
        """The same for jobs that were removed while krond was down."""
        active = [state for state in states if state.ledger.schedule]
        self._host.store.commit(
            [state.replace(ledger=state.ledger.retired(), planned=()) for state in active]
        )

    def _unclaimed(self, strangers: Iterable[JobState]) -> set[str]:
        """The runs with a proof that this krond does not know, nor one of these states."""
        claimed = {*self._supervisor.runs, *self._starter.waiting}
        for state in strangers:
            claimed.update(record.run_id for record in state.active)
            claimed.update(intent.run_id for intent in state.ledger.starting)
        return set(self._host.store.proofs()) - claimed

    def _adopt_strays(
        self, unknown: Iterable[HostMember], unclaimed: Collection[str], now_ns: int
    ) -> None:
        """Take up the runs of jobs of which no state reads: without it, they still go on."""
        for member, run in self._starter.search.strays(unknown, unclaimed):
            if member.ledger is None:
                member.forget(now_ns // SECOND_NS)
            member.found(run)
            self._starter.adopt(member, run)
            self._writeback.changed(member)

    def _drop_proofs(self, over: set[str], found: Iterable[tuple[HostMember, JobState]]) -> None:
        """Drop the proofs that no krond will look for again.

        A run whose end is stored has one if krond was killed before it logged that end.
        """
        if not over:
            return
        boot_id = self._host.processes.boot_id()
        for member, state in found:
            if state.boot_id == boot_id:  # after a reboot, a proof that was removed may be back
                # A job that was forgotten may have run a period again, by the same id.
                ends = {ended.run_id: ended for ended in state.past.ends_of(over)}
                over -= ends.keys()
                for run_id, ended in ends.items():
                    self._writeback.let_go(run_id, partial(self._log_end, member, ended))
        for run_id in over:
            self._writeback.let_go(run_id)

    def _log_end(self, member: HostMember, ended: Ended) -> None:
        seconds = None
        if ended.started_ns is not None and ended.ended_ns is not None:
            seconds = round((ended.ended_ns - ended.started_ns) / SECOND_NS, 3)
        log_end(self._host.journal, member.entry, ended, seconds)

    def _is_configured(self, identity: str) -> bool:
        return self._roster.get(identity) is not None

    def _log_suspended(self, members: Iterable[HostMember]) -> None:
        for member in members:
            if member.entry.schedule.policy.suspend:
                self._host.journal.of_job(Event.SUSPENDED, member.entry, suspend=True)

    def _log_corrupt(self, error: StateCorrupt, entry: Entry | None) -> None:
        self._host.journal.event(
            Event.STATE_CORRUPT,
            namespace=entry.path if entry else None,
            name=entry.name if entry else None,
            file=error.file,
            set_aside=error.set_aside,
            error=error.error,
        )


def _entry_of(state: JobState) -> Entry:
    """The job of a state, as far as the state knows it."""
    path, _, name = state.identity.rpartition(":")
    text = state.ledger.schedule or SOME_SCHEDULE
    return Entry(name, state.identity, text, parse_schedule(text), Task("", ()), path, line=0)


def _planned_s(member: HostMember) -> int:
    """For when the krond before this one had planned its next run; never, if it had not."""
    return min((chosen_s for _, chosen_s in member.planned if chosen_s is not None), default=LAST_S)
