"""The starter: takes runs that were decided on and starts them, or says why it does not.

A run may have to wait: for the run that it replaces, for its turn if it is overdue, where
`--max-running` limits them, for its own slots, or for krond or the system to have room for another
one. Its deadline counts while it waits for any but the first; krond's own work in that time does
not make it late, unless its deadline is set.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Mapping

from kron.core.duration import SECOND_NS
from kron.core.instant import LAST_S, to_text
from kron.core.policy import Concurrency
from kron.engine.actions import Outcome
from kron.engine.ledger import Intent
from kron.engine.recovery import Conclude, Sighting
from kron.krond.host import Host
from kron.krond.loop.work import Work
from kron.krond.pauses.clock_hold import ClockHold
from kron.krond.process.failure import StartError
from kron.krond.roster.attempts import TAKEN, Attempt
from kron.krond.roster.member import HostMember
from kron.krond.roster.run import Leftover, PendingRun, Run
from kron.krond.runs.catch_up import CatchUp
from kron.krond.runs.conclusions import Conclusions
from kron.krond.runs.evidence import Search
from kron.krond.runs.fresh_runs import FreshRuns
from kron.krond.runs.launches import Launches
from kron.krond.runs.shortage import Shortage
from kron.krond.runs.slots import Slots
from kron.krond.runs.supervisor import Supervisor
from kron.krond.state.errors import PersistenceError
from kron.krond.state.record import Ended, RunRecord
from kron.krond.state.writeback import WriteBack
from kron.logs.event import Component, Event, Level

SLOT = "a slot: as many runs as --max-running allows are going on"
TURN = "its turn at {}: overdue runs do not start all at once (--catch-up-spread)"
REPLACING = "the end of the run that it replaces"
MANUAL = "the manual run that takes its place"
ROOM = "room: krond watches as many runs as it may open files (LimitNOFILE=, --limit-nofile)"
DISK = "the disk: the state cannot be written"
RESOURCES = "resources: "
_LINE = (SLOT, ROOM, DISK)
"""What all that are in the line wait for."""
TOO_LATE = "it could not start before its deadline, waiting for "


class ProcessStarter:
    def __init__(
        self,
        host: Host,
        writeback: WriteBack,
        supervisor: Supervisor,
        work: Work,
        clock_hold: ClockHold,
        catch_up: CatchUp,
        *,
        most_running: int,
    ) -> None:
        self.waiting: dict[str, PendingRun] = {}
        """Every run that has not started yet, by its run id."""
        self.conclusions = Conclusions(host, writeback)
        self.search = Search(host)
        """What was found of the runs of the krond before this one."""
        self._line: deque[PendingRun] = deque()
        self._slots = Slots()
        self._shortage = Shortage(host, self._line.appendleft)
        self._launches = Launches(host, self._has_begun, self._not_started)
        self._fresh = FreshRuns(host, writeback, supervisor)
        self._host = host
        self._writeback = writeback
        self._supervisor = supervisor
        self._work = work
        self._clock_hold = clock_hold
        self._catch_up = catch_up
        self._most_running = most_running
        self.is_closed = False

    # The executor of `kron.runtime`

    def prepare(
        self, job: HostMember, intent: Intent, latest_s: int, *, replaces: bool
    ) -> PendingRun:
        record = RunRecord(intent.run_id, intent.nominal_s, intent.chosen_s)
        is_never_late = latest_s > LAST_S
        pending = PendingRun(job, record, None if is_never_late else latest_s, replaces=replaces)
        if latest_s > intent.chosen_s and not job.entry.schedule.policy.deadline_ns:
            pending.worked_ns = self._work.before_ns
        return pending

    def manual(self, job: HostMember, on_end: Callable[[Ended], None]) -> PendingRun:
        """A run outside any period. The job's concurrency holds for it too."""
        attempts = job.giving_way
        is_free = job.pending == attempts and not (job.runs or job.leftovers)
        if not is_free and job.concurrency is Concurrency.FORBID:
            raise job.forbidden()
        replaces = not is_free and job.concurrency is Concurrency.REPLACE
        record = RunRecord(os.urandom(10).hex(), None, None, boot_id=self._host.processes.boot_id())
        pending = PendingRun(job, record, replaces=replaces)
        pending.instead_of = ", ".join(str(each.attempt) for each in attempts)
        pending.on_end.append(on_end)
        return pending

    def request(self, job: HostMember, pending: PendingRun) -> None:
        """Start this run as soon as it can, or in its turn if it is overdue; `go` does it."""
        if pending.nominal_s is None:
            self._host.journal.of_job(Event.MANUAL_RUN, job.entry, run_id=pending.run_id)
        self.waiting[pending.run_id] = pending
        self._line_up_after(self._catch_up.delay_ns(pending), job, pending, TURN)

    def try_again(self, job: HostMember, attempt: Attempt) -> None:
        """A run has failed: start this one after its delay, unless it is clear that it cannot."""
        if attempt.obstacle:
            self.conclusions.without_attempt(job, attempt, attempt.obstacle)
            return
        # What the attempt before has left behind in its cgroup ends first.
        replaces = job.concurrency is not Concurrency.ALLOW
        pending = PendingRun(job, attempt.record, attempt.latest_s, replaces=replaces)
        pending.attempt = attempt
        job.pending.append(pending)
        self.waiting[pending.run_id] = pending
        self._line_up_after(attempt.delay_ns, job, pending, f"{attempt}, at {{}}")

    def _line_up_after(
        self, delay_ns: int, job: HostMember, pending: PendingRun, what: str
    ) -> None:
        """Let the run wait for `what`, which has a place for the time, and then line up."""
        if not delay_ns:
            self._line_up(job, pending)
            return
        turn_s = -(-(self._host.clock.now_ns() + delay_ns) // SECOND_NS)
        self._wait(pending, what.format(to_text(turn_s)))
        self._check_deadline(pending)
        due_ns = self._host.clock.monotonic_ns() + delay_ns
        self._host.timers.at(due_ns, lambda: self._line_up(job, pending))

    def _line_up(self, job: HostMember, pending: PendingRun) -> None:
        """It is the run's turn, unless it is done. First stop those that it replaces."""
        if pending.is_done:
            return
        if not (pending.replaces and (job.runs or job.leftovers)):
            self._line.append(pending)
            return
        if pending.deadline is not None:
            pending.deadline.cancel()
            pending.deadline = None
        pending.blockers = [*job.leftovers, *job.runs]
        self._wait(pending, REPLACING)
        for run in pending.blockers:
            self._host.journal.of_job(
                Event.REPLACED_JOB,
                job.entry,
                period=pending.record.period or "",
                old_job=run.run_id,
                new_job=pending.run_id,
            )
            if isinstance(run, Run):
                self._supervisor.stop(run, f"replaced by run {pending.run_id}")
            else:
                self._supervisor.leftovers.stop(run)

    def give_up(self, job: HostMember, pending: PendingRun, outcome: Outcome, reason: str) -> None:
        self._forget(pending)
        self._line.extendleft(reversed(self._slots.leave(pending.run_id)))
        if pending.attempt is not None:
            self.conclusions.without_attempt(job, pending.attempt, reason)
            return
        if pending.nominal_s is not None:
            job.gave_up(pending.nominal_s, outcome, reason)
        record = pending.record
        ended = self.conclusions.without_run(job, record, outcome, reason, job.active_run)
        for observe in pending.on_end:
            observe(ended)

    def adopt(self, job: HostMember, run: Sighting) -> None:
        """A run of the krond before this one goes on, unless it is watched already.

        The ledger may not know the period of one that is: the job was forgotten meanwhile.
        """
        if run.run_id in self._supervisor.runs:
            return
        self.adopt_run(job, RunRecord(run.run_id, run.nominal_s, run.chosen_s))

    def adopt_run(self, job: HostMember, record: RunRecord) -> None:
        self._fresh.announce_found(job, record)
        self._slots.hold(record.run_id, job)
        self._supervisor.adopt(job, record, self.search.pids[record.run_id])

    def conclude(self, job: HostMember, end: Conclude) -> None:
        record = RunRecord(end.intent.run_id, end.intent.nominal_s, end.intent.chosen_s)
        if end.outcome is Outcome.EXECUTED:
            self._fresh.announce_found(job, record)
            self.conclusions.of_run(job, record, end.reason)
        else:
            self.conclusions.without_run(job, record, end.outcome, end.reason, end.yields_to)

    # The line

    @property
    def is_anybody_waiting(self) -> bool:
        """Whether a run is in the line, or is about to be."""
        return bool(self.waiting)

    def resize(self, slots: Mapping[str, int]) -> None:
        """From now on the slots have these sizes. Runs that are going on keep theirs."""
        self._line.extendleft(reversed(self._slots.resize(slots, self.waiting)))

    def close(self) -> None:
        """Start no more runs."""
        self.is_closed = True

    def go(self) -> None:
        """Start the runs that can start, in the order of the line; then log and note them.

        So no start waits for the log. If krond is killed in between, the next one finds the runs by
        their environment.
        """
        try:
            self._start_line()
        finally:
            begun = self._launches.finish()
            self._fresh.announce((run.member, run.record) for run, _ in begun)
            for run, loggers in begun:
                self._fresh.take_up(run, loggers)

    def _start_line(self) -> None:
        held: list[PendingRun] = []
        while not self.is_closed:
            obstacle = self._obstacle() if self._line else ""
            if not self._line or obstacle:
                if self._launches.confirm():
                    continue  # one that has failed may have made room, or left its slots
                if obstacle:
                    self._log_line(obstacle)
                break
            pending = self._line.popleft()
            if pending.is_done:
                continue
            if pending.latest_s is not None and self._clock_hold.pause.is_on:
                held.append(pending)
            elif self._is_passed_by(pending):
                held.append(pending)
                self._line.extendleft(reversed(self._slots.leave(pending.run_id)))
                if pending.waits_for != MANUAL:
                    self._wait(pending, MANUAL)
            # A run that has waited may be too late, and krond may have been stopped until now.
            elif pending.deadline is None or self._check_deadline(pending):
                self._start_in_slots(pending)
        self._line.extendleft(reversed(held))

    def _is_passed_by(self, pending: PendingRun) -> bool:
        """Whether it is an attempt whose place a manual run takes, as soon as that can start."""
        if pending.attempt is None or pending not in pending.member.giving_way:
            return False
        return any(other.nominal_s is None for other in pending.member.pending)

    def _obstacle(self) -> str:
        """What keeps all that are in the line from starting; '' if nothing does."""
        if self._writeback.failure is not None:
            return DISK
        running = len(self._supervisor.runs) + self._launches.runs
        if running >= self._most_running:
            return SLOT
        # With nothing running, no end would make room.
        has_room = not running or self._host.poller.has_room(self._launches.processes)
        return "" if has_room else ROOM

    def _start_in_slots(self, pending: PendingRun) -> None:
        """Start the run if it has its slots. Else those behind it in the line pass it by."""
        obstacle = self._slots.take(pending)
        if not obstacle:
            self._launches.start(pending)
            return
        if obstacle != pending.waits_for:
            self._wait(pending, obstacle)
        if pending.deadline is None:
            self._check_deadline(pending)

    def _log_line(self, what: str) -> None:
        """Log what the runs in the line wait for. Those not logged yet are at its end."""
        unlogged: list[PendingRun] = []
        for pending in reversed(self._line):
            if pending.waits_for in _LINE:
                break
            if not pending.is_done:
                unlogged.append(pending)
        for pending in reversed(unlogged):
            self._wait(pending, what)
            self._check_deadline(pending)

    def run_ended(self, run: Run) -> None:
        """Its slots are free, and the run that replaces this one no longer waits for it.

        Its resources are free as well: one of those that lacked some tries again.
        """
        self._line.extendleft(reversed(self._slots.leave(run.run_id)))
        self.unblock(run.member, run)
        self._shortage.run_ended()

    def unblock(self, job: HostMember, ended: Run | Leftover) -> None:
        """A run of the job, or what it has left behind, has ended. What replaces it may start."""
        for pending in job.pending:
            if ended in pending.blockers:
                pending.blockers.remove(ended)
                if not pending.blockers:
                    self._line.append(pending)

    def check_deadlines(self) -> None:
        """The clock was set: give up on what is too late by it."""
        for pending in list(self.waiting.values()):
            if pending.waits_for not in ("", REPLACING):
                self._check_deadline(pending)

    def _has_begun(self, pending: PendingRun) -> None:
        self._forget(pending)
        if pending.nominal_s is None:
            for attempt in pending.member.giving_way:
                self.give_up(pending.member, attempt, Outcome.MISSED, TAKEN)
        elif pending.attempt is None:
            pending.member.started(pending.nominal_s)

    def _not_started(self, pending: PendingRun, error: StartError) -> None:
        for logger in error.loggers:
            self._supervisor.reap(logger)
        if error.state_error:  # the intent stays, and so does its place in the line
            what = f"the proof {self._host.store.proof(pending.run_id)} cannot be written"
            reason = OSError(error.state_error, error.reason)
            self._writeback.failed(PersistenceError(what, reason))
            self._line.appendleft(pending)
            return
        self._failed(pending, error)

    def _failed(self, pending: PendingRun, error: StartError) -> None:
        if error.for_good or pending.tries == 0:
            self._host.journal.error(
                "start",
                error.reason,
                pending.member.entry,
                period=pending.record.period,
                level=Level.ERROR if error.for_good else Level.WARN,
                component=Component.EXECUTOR,
            )
        if error.for_good:
            self.give_up(pending.member, pending, Outcome.MISSED, error.reason)
            return
        what = f"{RESOURCES}{error.reason}"
        if pending.waits_for != what:
            self._wait(pending, what)
        if self._check_deadline(pending):
            self._shortage.add(pending)

    def _wait(self, pending: PendingRun, what: str) -> None:
        pending.waits_for = what
        entry, period = pending.member.entry, pending.record.period
        self._host.journal.of_job(
            Event.WAITING, entry, period=period, run_id=pending.run_id, reason=what
        )

    def _check_deadline(self, pending: PendingRun) -> bool:
        """Give up on the run if it is too late; else look again when it will be. True: in time.

        A clock that is not believed makes nothing late.
        """
        if self._clock_hold.pause.is_on:
            return True
        if pending.deadline is not None:
            pending.deadline.cancel()
            pending.deadline = None
        if pending.latest_s is None:
            return True
        left_ns = (pending.latest_s + 1) * SECOND_NS - self._host.clock.now_ns()
        if pending.worked_ns is not None:
            left_ns += self._work.total_ns - pending.worked_ns
        if left_ns <= 0:
            self.give_up(pending.member, pending, Outcome.MISSED, f"{TOO_LATE}{pending.waits_for}")
            return False
        pending.deadline = self._host.timers.at(
            self._host.clock.monotonic_ns() + left_ns, lambda: self._check_deadline(pending)
        )
        return True

    def _forget(self, pending: PendingRun) -> None:
        pending.is_done = True
        if pending.deadline is not None:
            pending.deadline.cancel()
        self._shortage.drop(pending)
        del self.waiting[pending.run_id]
        pending.member.pending.remove(pending)
