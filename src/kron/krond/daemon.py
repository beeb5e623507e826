"""The daemon: one loop that sleeps until something is due, ends, or is asked for."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable

import kron
from kron.console.report import many
from kron.core.duration import SECOND_NS
from kron.core.errors import KronError
from kron.engine.actions import Outcome
from kron.jobs.configuration import Configuration, ConfigurationError
from kron.krond.background import redirect_output
from kron.krond.configuration.reading import log_read
from kron.krond.configuration.settings import KrondSettings, OnStop
from kron.krond.control.orders import Orders
from kron.krond.control.requests import Requests
from kron.krond.control.server import ControlServer
from kron.krond.enrolment.enrolment import NOT_STARTED, HostEnrolment
from kron.krond.enrolment.removed import RemovedStates
from kron.krond.handover import Handover
from kron.krond.host import Host
from kron.krond.loop.notify import Notifier
from kron.krond.loop.signals import Signals
from kron.krond.loop.work import Work
from kron.krond.pauses.clock_hold import ClockHold
from kron.krond.pauses.outage import Outage
from kron.krond.pauses.pause import Pauses
from kron.krond.roster.attempts import following
from kron.krond.roster.member import HostMember
from kron.krond.roster.roster import HostRoster
from kron.krond.roster.run import Leftover, PendingRun, Run
from kron.krond.runs.catch_up import CatchUp
from kron.krond.runs.starter import ProcessStarter
from kron.krond.runs.supervisor import Supervisor
from kron.krond.state.errors import PersistenceError, StateLost
from kron.krond.state.record import RETRIED, Ended
from kron.krond.state.writeback import WriteBack
from kron.krond.upgrade.upgrade import Upgrade
from kron.logs.announcer import JournalAnnouncer
from kron.logs.event import Event, Level
from kron.runtime.scheduler import Scheduler
from kron.waking.queue import AT_ONCE

BUSY_NS = SECOND_NS // 2
"""Work that takes no longer makes no run late."""
STOPPED = "stopped with krond"


class Daemon:
    def __init__(
        self,
        settings: KrondSettings,
        read: Callable[[], Configuration],
        host: Host,
        notifier: Notifier,
        handover: Handover | None = None,
    ) -> None:
        """`handover`: what the program before this one has left, if it was upgraded."""
        self.settings = settings
        self.journal = host.journal
        self.started_ns = host.clock.now_ns()
        self.roster = HostRoster()
        self._read = read
        self._host = host
        self._notifier = notifier
        self._clock = host.clock
        host.poller.add(host.timer.fileno(), select.EPOLLIN, lambda _: self._timer_fired())
        boot_id = host.processes.boot_id()
        self._writeback = writeback = WriteBack(host.store, boot_id, host.history, host.notices)
        self.supervisor = Supervisor(host, self._run_ended, self._leftover_gone)
        self._work = work = Work(host.clock)
        hold_s = 0 if settings.is_once else settings.clock_hold_s
        self._pauses = pauses = Pauses(host, self._pause_changed)
        self._clock_hold = ClockHold(host, hold_s, pauses.add("clock"))
        spread_s, slack_s = settings.catch_up_spread_s, settings.slack_s
        catch_up = CatchUp(host.clock, work, spread_s=spread_s, slack_s=slack_s)
        self.starter = ProcessStarter(
            *(host, writeback, self.supervisor, work, self._clock_hold, catch_up),
            most_running=settings.most_running,
        )
        announcer = JournalAnnouncer[HostMember](host.journal)
        self._scheduler: Scheduler[HostMember, PendingRun] = Scheduler(
            writeback, writeback, self.starter, announcer, host.clock, slack_s=settings.slack_s
        )
        self._outage = Outage(host, writeback, pauses.add("state"))
        removed = RemovedStates(host, self.roster)
        self.orders = Orders(
            *(host.clock, self.roster, removed, writeback, self.starter, self._scheduler)
        )
        self._enrolment = HostEnrolment(
            *(host, self.roster, writeback, self.supervisor, self.starter, self._scheduler),
            *(self._clock_hold, removed),
        )
        self.upgrade = Upgrade(self, host, notifier, pauses, work)
        self._handover = handover
        self.stopping: OnStop | None = None
        """What happens to its runs; None while it is not stopping."""
        self._is_accepting = not settings.is_once
        """Whether periods that come due from now on are dealt with."""
        self._busy_ns = 0
        """How long it worked before it slept, if something came due in that time."""
        self._owes_reload = False
        """A change of the configuration was noticed in a pause."""
        self._held_ns = 0
        """How long it has just not believed the clock."""

    @property
    def is_stopping(self) -> bool:
        return self.stopping is not None

    def begin(self, configuration: Configuration) -> None:
        self._work.turn()
        log_read(self.journal, configuration)
        self._enrolment.begin(configuration, self._clock.now_ns(), self._handover)
        if self._handover is not None:
            self.supervisor.reap_others(self._handover.helpers)
        self._writeback.flush()
        if self._handover is None:  # else it pauses, as it would have without an upgrade
            self._writeback.check()
        self._busy_ns = self._work.turn_ns

    def serve(self, signals: Signals, on_ready: Callable[[], None]) -> None:
        """Go on until it is asked to stop, or with `--once` until what was due has run."""
        if os.getpid() == 1:
            self.supervisor.reap_strays()  # those that ended before anybody listened
        poller = self._host.poller
        poller.add(signals.fileno(), select.EPOLLIN, lambda _: self._signalled(signals))
        directory = self._host.store.directory.descriptor
        requests = Requests(self)
        listening = self._handover.control if self._handover else -1
        control = ControlServer(directory, requests.answer, poller, listening=listening)
        try:
            jobs, before = len(self.roster), self._handover.version if self._handover else None
            self.journal.event(
                Event.READY, version=kron.__version__, jobs=jobs, upgraded_from=before
            )
            self._notifier.ready(self._status())
            self._keep_watchdog_quiet()
            on_ready()
            if self._handover is not None:
                requests.go_on(self._handover, control)
                self._handover = None
            while not self._is_done():
                self.turn()
                self.upgrade.go(control, signals)
            self._host.notices.finish(self.turn, is_stopping=self.is_stopping)
            self._end()
            requests.ended(None)
        except KronError as error:
            requests.ended(error)
            raise
        finally:
            control.close()
            poller.close()
            self._host.timer.close()

    # What others ask for

    def stop(self, reason: str, how: OnStop | None = None) -> None:
        """Start no more runs, and end as `how` says. Asked again, krond stops the runs."""
        if self.stopping is None:
            self.stopping = how or self.settings.on_stop
            self._is_accepting = False
            self.upgrade.cancel()
            self.starter.close()
            active = len(self.supervisor.runs)
            self.journal.event(Event.STOPPING, reason=reason, active=active)
            self._notifier.stopping()
        else:
            self.stopping = how or OnStop.TERMINATE
        if self.stopping is OnStop.TERMINATE:
            for run in list(self.supervisor.runs.values()):
                self.supervisor.stop(run, STOPPED)

    def reload(self) -> str:
        """Read the configuration again. What is wrong with it, or ''; then nothing has changed."""
        if self.is_stopping:
            return "krond is stopping, and changes nothing any more"
        self.reopen_logs()
        self._notifier.reloading()
        try:
            configuration = self._read().checked()
            self._clock_hold.look()  # it may have been set while that took its time
            self._owes_reload = self._pauses.is_on
            if self._owes_reload:
                return f"krond does that when it goes on; {self._pauses.text}"
            self._change(configuration)
        except StateLost:
            raise
        except KronError as error:
            self._owes_reload = isinstance(error, PersistenceError)
            message = error.for_logs if isinstance(error, ConfigurationError) else str(error)
            jobs = len(self.roster)
            self.journal.event(
                Event.RELOAD, Level.ERROR, result="refused", jobs=jobs, error=message
            )
            return str(error)
        else:
            return ""
        finally:
            self._notifier.ready(self._status())

    def reopen_logs(self) -> None:
        """Go on in new files where the old ones were moved away."""
        try:
            self.journal.reopen()
            if self.settings.output_file:
                redirect_output(self.settings.output_file)
        except OSError as error:
            self.journal.error("reopen", f"{error.filename}: {error.strerror}")

    def troubles(self) -> list[dict[str, object]]:
        """What keeps krond from its work, as `krond status` has it."""
        troubles = self._pauses.troubles()
        if behind := sum(member.is_behind for member in self.roster):
            jobs = f"{behind} of {len(self.roster)} jobs"
            text = f"{jobs} wait for a clock that was ahead (krond forget --all-ahead)"
            troubles.append({"kind": "clock", "since": None, "text": text})
        if text := self._host.notices.trouble():
            troubles.append({"kind": "notices", "since": None, "text": text})
        return troubles

    # The loop

    def turn(self) -> None:
        self._host.timer.arm(self._next_ns())
        if not self._is_due(self._clock.now_ns()):
            self._busy_ns = 0  # what comes due from now on has not waited for it
        self._work.rest()
        ready = self._host.poller.wait(self._timeout_s())
        self._work.turn()
        self._clock_hold.look()  # before anybody goes by the wall clock
        for callback, events in ready:
            callback(events)
        self._host.timers.fire_due(self._clock.monotonic_ns())
        if self.starter.is_anybody_waiting:
            self._writeback.flush()  # an end is on record before the start that waited for it
        self._wake()
        self.starter.go()
        self._writeback.flush()
        if self.settings.is_once:
            self._writeback.check()
        self._outage.look()
        self._busy_ns = self._work.turn_ns

    def _wake(self) -> None:
        """Deal with what is due, if anything is."""
        self._clock_hold.look()
        now_ns = self._clock.now_ns()
        if self._is_due(now_ns):
            due = self._scheduler.due(now_ns)
            held_s = -(-self._held_ns // SECOND_NS)
            self._scheduler.step(due, now_ns, busy_s=self._busy_s(), held_s=held_s)
        self._held_ns = 0

    def _is_due(self, now_ns: int) -> bool:
        next_ns = self._next_ns()
        return next_ns is not None and next_ns <= now_ns

    def _busy_s(self) -> int:
        """How late krond's own work may have made what is due now."""
        busy_ns = self._busy_ns + self._work.turn_ns
        return -(-busy_ns // SECOND_NS) if busy_ns > BUSY_NS else 0

    def _next_ns(self) -> int | None:
        is_awake = self._is_accepting and not self._pauses.is_on
        next_s = self._scheduler.queue.next_s() if is_awake else None
        return None if next_s is None else next_s * SECOND_NS

    def _timeout_s(self) -> float | None:
        next_ns = self._host.timers.next_ns()
        if next_ns is None:
            return None
        # epoll counts in whole milliseconds and rounds up, so that no timer is early.
        return max(0, next_ns - self._clock.monotonic_ns()) / SECOND_NS

    def _timer_fired(self) -> None:
        if self._host.timer.read():
            return
        # The clock was set: what waits may be too late by it, and jobs may be due.
        self._clock_hold.look()
        self.starter.check_deadlines()
        now_ns = self._clock.now_ns()
        if self._pauses.is_on:
            self._scheduler.clock_changed((), now_ns)
            for member in self.roster:
                self._scheduler.queue.put(member, AT_ONCE)  # when the pause is over
        else:
            self._scheduler.clock_changed(self.roster if self._is_accepting else (), now_ns)

    def _status(self) -> str:
        return self._pauses.text or many(len(self.roster), "job")

    def _pause_changed(self) -> None:
        self._notifier.status(self._status())
        self._held_ns = self._clock_hold.take_held_ns()
        if self._pauses.is_on:
            return
        self.starter.check_deadlines()
        if self._owes_reload:
            self._owes_reload = False
            self.reload()

    def _run_ended(self, run: Run, ended: Ended, log: Callable[[], None]) -> None:
        def announce() -> None:
            log()
            for observe in run.on_end:
                observe(ended)

        is_retired = self.roster.is_retired(run.member)
        attempt = None if is_retired else following(run, ended, self._clock.now_ns())
        if attempt is not None:
            ended = ended.replace(outcome=RETRIED)
        run.member.remember_end(ended)
        self._writeback.let_go(run.run_id, announce)
        self.roster.run_ended(run.member)
        self.starter.run_ended(run)
        if attempt is not None:
            self.starter.try_again(run.member, attempt)

    def _leftover_gone(self, leftover: Leftover) -> None:
        self.roster.run_ended(leftover.member)
        self.starter.unblock(leftover.member, leftover)

    def _signalled(self, signals: Signals) -> None:
        for number in signals.read():
            if number == signal.SIGHUP:
                self.reload()
            elif number == signal.SIGUSR1:
                self.reopen_logs()
            elif number == signal.SIGUSR2:
                self.upgrade.ask()
            elif number == signal.SIGCHLD:
                self.supervisor.reap_strays(self.upgrade.pids)
            else:
                self.stop(signal.Signals(number).name)

    def _keep_watchdog_quiet(self) -> None:
        interval_ns = self._notifier.interval_ns
        if interval_ns is not None:
            self._notifier.watchdog()
            self._host.timers.after(interval_ns, self._keep_watchdog_quiet)

    def _change(self, configuration: Configuration) -> None:
        log_read(self.journal, configuration)
        self._wake()  # what came due while it was read is dealt with as it was planned
        counts = self._enrolment.change(configuration, self._clock.now_ns())
        self.journal.event(Event.RELOAD, result="applied", jobs=len(self.roster), **counts)

    def _is_done(self) -> bool:
        if self.is_stopping:
            return self.stopping is OnStop.LEAVE or not self.supervisor.runs
        return self.settings.is_once and not self.supervisor.runs and not self.starter.waiting

    def _end(self) -> None:
        if not self.is_stopping:
            self.journal.event(Event.STOPPING, reason="nothing more was due", active=0)
        if not self.put_down(NOT_STARTED):
            self._writeback.check()

    def put_down(self, why: str) -> bool:
        """Store what the next krond has to know of runs that go on. False: not all of it.

        `why` says of manual runs that wait why they are not started.
        """
        for run in self.supervisor.runs.values():
            self._writeback.changed(run.member)
        for member in self.roster:
            self._writeback.changed(member)  # one at least: so a disk that is full is noticed
            break
        for pending in list(self.starter.waiting.values()):
            self._writeback.changed(pending.member)
            if pending.nominal_s is None:  # nobody else will know of it
                self.starter.give_up(pending.member, pending, Outcome.MISSED, why)
        return self._writeback.write_all()
