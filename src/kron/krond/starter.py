"""The starter: takes runs that were decided on and starts them, or says why it does not.

A run may have to wait: for the run that it replaces, for a slot where `--max-running` limits
them, or for the system to have room for another process. Its deadline counts while it waits for
one of the last two.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable

from kron.core.duration import SECOND_NS
from kron.core.errors import Code, KronError, quoted
from kron.core.instant import to_text
from kron.core.policy import Concurrency
from kron.engine.actions import Outcome
from kron.krond.keeper import Keeper
from kron.krond.member import Member
from kron.krond.pending import Pending
from kron.krond.process.launch import StartError
from kron.krond.process.living import boot_id, start_ticks
from kron.krond.run import Run
from kron.krond.state.errors import PersistenceError
from kron.krond.state.record import MANUAL, Ended
from kron.krond.state.store import Store
from kron.krond.supervisor import Supervisor
from kron.krond.surroundings import Surroundings
from kron.krond.timers import Timers
from kron.logs.event import Component, Event, Level
from kron.logs.journal import Journal
from kron.waking.clock import Clock

FIRST_RETRY_NS = SECOND_NS // 10
LONGEST_RETRY_NS = 5 * SECOND_NS
SLOT = "a slot: as many runs as --max-running allows are going on"
REPLACED = "the end of the run that it replaces"
RESOURCES = "resources: "
TOO_LATE = "it could not start before its deadline, waiting for "
SUPERSEDED = "a later run replaced it before it could start"


class Starter:
    """The line of runs that are ready to start, and those that are not yet."""

    def __init__(
        self,
        store: Store,
        keeper: Keeper,
        supervisor: Supervisor,
        surroundings: Surroundings,
        timers: Timers,
        journal: Journal,
        clock: Clock,
        *,
        most_running: int,
    ) -> None:
        self.pending: dict[str, Pending] = {}
        """Every run that is not there yet, by its run id."""
        self._line: deque[Pending] = deque()
        self._begun: list[tuple[Run, list[int]]] = []
        self._unwatched = 0
        """How many processes those are."""
        """The runs that were started just now, each with its loggers, and not told of yet."""
        self._store = store
        self._keeper = keeper
        self._supervisor = supervisor
        self._surroundings = surroundings
        self._timers = timers
        self._journal = journal
        self._clock = clock
        self._most_running = most_running
        self._is_closed = False

    def request(self, pending: Pending, *, replaces: bool = False) -> None:
        """Start this run as soon as it can; `go` does it. First stop those that it replaces."""
        member = pending.member
        earlier = list(member.waiting) if replaces else []
        self.pending[pending.run_id] = pending
        member.waiting.append(pending)
        for other in earlier:
            self.give_up(other, Outcome.SKIPPED, SUPERSEDED)
        if replaces and member.runs:
            pending.blockers = list(member.runs)
            self._wait(pending, REPLACED)
            for run in pending.blockers:
                self._journal.of_job(
                    Event.REPLACED_JOB,
                    member.entry,
                    period=pending.period or "",
                    old_job=run.run_id,
                    new_job=pending.run_id,
                )
                self._supervisor.stop(run)
        else:
            self._line.append(pending)

    def start_by_hand(self, member: Member, on_end: Callable[[Ended], None]) -> Pending:
        """Start a run outside any period. The job's concurrency holds for it too."""
        concurrency = member.entry.schedule.policy.concurrency
        is_active = bool(member.runs or member.waiting)
        if is_active and concurrency is Concurrency.FORBID:
            message = f"a run of {quoted(member.entry.name)} is going on, and concurrency is forbid"
            raise KronError(Code.CONTROL, message, fix="wait for its end, or stop it")
        pending = Pending(member, os.urandom(10).hex())
        pending.on_end.append(on_end)
        self._journal.of_job(Event.MANUAL_RUN, member.entry, run_id=pending.run_id)
        self.request(pending, replaces=is_active and concurrency is Concurrency.REPLACE)
        self._keeper.commit([member])
        self.go()
        return pending

    def close(self) -> None:
        """Start nobody any more."""
        self._is_closed = True

    def go(self) -> None:
        """Start whoever can start, in the order in which they came, then tell and note who was.

        So nobody waits for that. Should krond be killed before it, the next one finds the runs by
        their environment.
        """
        try:
            self._start_line()
        finally:
            begun, self._begun, self._unwatched = self._begun, [], 0
            for run, loggers in begun:
                self._take_up(run, loggers)

    def _start_line(self) -> None:
        while self._line and not self._is_closed:
            if self._line[0].is_settled:
                self._line.popleft()
            elif len(self._supervisor.runs) + len(self._begun) >= self._most_running:
                self._tell_line()
                return
            else:
                pending = self._line.popleft()
                # Who has waited may be too late, and krond may have been stopped until now.
                if pending.deadline is None or self._mind_deadline(pending):
                    self._start(pending)

    def _tell_line(self) -> None:
        """Say what those in the line wait for, if it was not said: they are at its end."""
        untold: list[Pending] = []
        for pending in reversed(self._line):
            if pending.waits_for == SLOT:
                break
            if not pending.is_settled:
                untold.append(pending)
        for pending in reversed(untold):
            self._wait(pending, SLOT)
            self._mind_deadline(pending)

    def run_ended(self, run: Run) -> None:
        """A slot is free, and whoever replaces this run need not wait for it any more."""
        for pending in run.member.waiting:
            if run in pending.blockers:
                pending.blockers.remove(run)
                if not pending.blockers:
                    self._line.append(pending)

    def check_deadlines(self) -> None:
        """The clock was set: give up on what is too late by it."""
        for pending in list(self.pending.values()):
            if pending.deadline is not None:
                self._mind_deadline(pending)

    def give_up(self, pending: Pending, outcome: Outcome, reason: str) -> None:
        """This run will not start: its period has ended."""
        self._forget(pending)
        member = pending.member
        if pending.nominal_s is not None and member.ledger is not None:
            member.ledger = member.ledger.with_start_given_up(pending.nominal_s, outcome, reason)
        self.end_without_run(pending, outcome, reason)

    def end_without_run(
        self, pending: Pending, outcome: Outcome, reason: str, active_job: str = ""
    ) -> None:
        """Remember and tell that a run which was decided on will not be; the ledger knows.

        `active_job` is the run that it was skipped for, the job's latest if that is not said.
        """
        ended = Ended(
            nominal_s=pending.nominal_s,
            chosen_s=pending.chosen_s,
            outcome=MANUAL if pending.nominal_s is None else outcome.value,
            reason=reason,
            run_id=pending.run_id,
            ended_ns=self._clock.now_ns(),
        )
        pending.member.record(ended)
        self._keeper.touch(pending.member)
        self._tell_given_up(pending, outcome, reason, active_job or pending.member.active_job)
        for told in pending.on_end:
            told(ended)

    def _start(self, pending: Pending) -> None:
        now_ns = self._clock.now_ns()
        try:
            self._supervisor.check_room(self._unwatched)
            pid, loggers = self._surroundings.start(
                pending, self._store.proof_in_child(pending.run_id), now_ns // SECOND_NS
            )
        except StartError as error:
            self._reap(error.loggers)
            if error.state_error:  # the intent stays: the next krond starts it, if it is in time
                what = f"the proof {self._store.proof(pending.run_id)} cannot be written"
                raise PersistenceError(what, OSError(error.state_error, error.reason)) from None
            self._failed(pending, error)
            return
        run = Run(
            pending.member,
            pending.run_id,
            pending.nominal_s,
            pending.chosen_s,
            pid,
            None,
            self._clock.now_ns(),
            self._clock.monotonic_ns(),
        )
        run.on_end = pending.on_end
        self._begun.append((run, loggers))
        self._unwatched += 1 + len(loggers)
        self._forget(pending)
        member = pending.member
        if pending.nominal_s is not None and member.ledger is not None:
            member.ledger = member.ledger.with_started(pending.nominal_s)

    def _take_up(self, run: Run, loggers: Iterable[int]) -> None:
        """Tell of a run that was started just now, watch it, and note which process it is."""
        self._journal.of_job(
            Event.STARTED,
            run.member.entry,
            at_ns=run.started_ns,
            period=run.period,
            run_id=run.run_id,
            pid=run.pid,
            chosen=None if run.chosen_s is None else to_text(run.chosen_s),
        )
        self._supervisor.watch(run)
        self._reap(loggers)
        run.ticks = start_ticks(run.pid)
        self._note(run)

    def _reap(self, loggers: Iterable[int]) -> None:
        for logger in loggers:
            self._supervisor.reap(logger)

    def _note(self, run: Run) -> None:
        try:
            self._store.note_run(run.record(boot_id()))
        except PersistenceError as error:
            # The next krond would find it by its environment, so it is as good as noted.
            self._journal.error("note the run", str(error), run.member.entry, level=Level.WARN)

    def _failed(self, pending: Pending, error: StartError) -> None:
        entry = pending.member.entry
        level = Level.ERROR if error.for_good else Level.WARN
        if error.for_good or pending.tries == 0:
            self._journal.error(
                "start",
                error.reason,
                entry,
                period=pending.period,
                level=level,
                component=Component.EXECUTOR,
            )
        if error.for_good:
            self.give_up(pending, Outcome.MISSED, error.reason)
            return
        delay_ns = min(FIRST_RETRY_NS << pending.tries, LONGEST_RETRY_NS)
        pending.tries = min(pending.tries + 1, 10)
        if not pending.waits_for:
            self._wait(pending, f"{RESOURCES}{error.reason}")
        if self._mind_deadline(pending):
            self._timers.at(self._clock.monotonic_ns() + delay_ns, lambda: self._again(pending))

    def _again(self, pending: Pending) -> None:
        if not pending.is_settled:
            self._line.appendleft(pending)
            self.go()

    def _wait(self, pending: Pending, what: str) -> None:
        pending.waits_for = what
        self._journal.of_job(
            Event.WAITING,
            pending.member.entry,
            period=pending.period,
            run_id=pending.run_id,
            reason=what,
        )

    def _mind_deadline(self, pending: Pending) -> bool:
        """Give up on the run if it is too late for it, and look again when it will be."""
        if pending.deadline is not None:
            pending.deadline.cancel()
            pending.deadline = None
        if pending.latest_s is None:
            return True
        left_ns = (pending.latest_s + 1) * SECOND_NS - self._clock.now_ns()
        if left_ns <= 0:
            self.give_up(pending, Outcome.MISSED, f"{TOO_LATE}{pending.waits_for}")
            return False
        pending.deadline = self._timers.at(
            self._clock.monotonic_ns() + left_ns, lambda: self._look_again(pending)
        )
        return True

    def _look_again(self, pending: Pending) -> None:
        pending.deadline = None
        self._mind_deadline(pending)

    def _forget(self, pending: Pending) -> None:
        pending.is_settled = True
        if pending.deadline is not None:
            pending.deadline.cancel()
        del self.pending[pending.run_id]
        pending.member.waiting.remove(pending)

    def _tell_given_up(
        self, pending: Pending, outcome: Outcome, reason: str, active_job: str
    ) -> None:
        entry = pending.member.entry
        if pending.nominal_s is None or pending.chosen_s is None:
            run_id = pending.run_id
            self._journal.of_job(Event.EXITED, entry, Level.WARN, run_id=run_id, reason=reason)
            return
        if outcome is Outcome.SKIPPED:
            self._journal.skipped(entry, pending.period or "", active_job=active_job)
            return
        now_s = self._clock.now_ns() // SECOND_NS
        self._journal.missed(entry, pending.period or "", now_s, reason, chosen_s=pending.chosen_s)
