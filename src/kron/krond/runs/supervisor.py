"""The supervisor: watches runs, stops those that take too long, and says how each one ended.

A run is a session of its own with one process group. To stop it is to stop the group, and whatever
else is in its cgroup, if it has one: TERM, the grace of its job, KILL. Until then its first process
is not reaped, so that its pid, which is the group's number, cannot become that of another process.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable, Iterable

from kron.core.duration import SECOND_NS, format_duration
from kron.core.instant import optional_text
from kron.jobs.entry import Entry
from kron.krond.handover import HeldRun
from kron.krond.host import Host
from kron.krond.process.cgroup import NO_USAGE, Usage, is_watched_populated
from kron.krond.result import signal_name
from kron.krond.roster.member import HostMember
from kron.krond.roster.run import Leftover, Run, Stage
from kron.krond.runs.leftovers import Leftovers
from kron.krond.state.record import Ended, RunRecord
from kron.logs.event import Component, Event, Level
from kron.logs.journal import Journal

TIMED_OUT = "timed out after "
UNSEEN = "krond was not its parent when it ended, so its result is unknown"


class Supervisor:
    """All runs that are going on.

    `on_end` is called with each end, and with what logs it once it is stored.
    """

    def __init__(
        self,
        host: Host,
        on_end: Callable[[Run, Ended, Callable[[], None]], None],
        on_leftover_gone: Callable[[Leftover], None],
    ) -> None:
        self.runs: dict[str, Run] = {}
        self.leftovers = Leftovers(host, on_leftover_gone)
        self.held: dict[str, HeldRun] = {}
        """The runs that an upgrade has left to this program, until they are taken up."""
        self._host = host
        self._on_end = on_end

    def watch(self, run: Run) -> None:
        self.runs[run.run_id] = run
        run.member.runs.append(run)
        if self._host.cgroups is not None:
            run.cgroup = self._host.cgroups.of(run.member.entry.identity, run.run_id)
        timeout_ns = run.task.timeout_ns
        if timeout_ns is not None:
            reason = f"{TIMED_OUT}{format_duration(timeout_ns)}"
            run.timer = self._host.timers.at(
                run.began_ns + timeout_ns, lambda: self.stop(run, reason, is_timeout=True)
            )
        if not self._watch_process(run, run.pid):  # adopted, and gone in this very moment
            self._finish(run)

    def adopt(self, member: HostMember, record: RunRecord, pid: int) -> None:
        """Take up a run of the krond before this one."""
        if held := self.held.pop(record.run_id, None):
            self._go_on(member, record, held)
            return
        ticks = self._host.processes.start_ticks(pid)
        age_ns = self._host.processes.age_ns(ticks) if ticks is not None else 0
        started_ns = self._host.clock.now_ns() - age_ns
        boot_id = self._host.processes.boot_id()
        record = record.replace(started_ns=started_ns, pid=pid, ticks=ticks, boot_id=boot_id)
        self._host.journal.of_job(
            Event.ADOPTED, member.entry, period=record.period, run_id=record.run_id, pid=pid
        )
        began_ns = self._host.clock.monotonic_ns() - age_ns
        self.watch(Run(member, record, pid, began_ns, is_adopted=True))

    def _go_on(self, member: HostMember, record: RunRecord, held: HeldRun) -> None:
        """Watch a run that this process has started, as another program. It may have ended."""
        if record.started_ns is None:  # no state reads, and it was found by its environment
            clock, processes = self._host.clock, self._host.processes
            record = record.replace(
                started_ns=clock.now_ns() - clock.monotonic_ns() + held.began_ns,
                pid=held.pid,
                ticks=processes.start_ticks(held.pid),
                boot_id=processes.boot_id(),
            )
        run = Run(member, record, held.pid, held.began_ns, is_adopted=False)
        if captures := self._host.surroundings.captures:
            run.on_end.append(captures.run_ended)
        self.watch(run)
        if held.stopped_for:
            is_timeout = held.stopped_for.startswith(TIMED_OUT)
            self._await_end(run, held.stopped_for, is_timeout=is_timeout)

    def stop(self, run: Run, reason: str, *, is_timeout: bool = False) -> None:
        """Ask the run's group to end, and see to it that it does. The first reason counts."""
        if run.stage is not Stage.RUNNING:
            return
        if is_timeout:
            self._log_timeout(run, signal.SIGTERM)
        self._signal(run, signal.SIGTERM)
        self._signal(run, signal.SIGCONT)  # one that is stopped would not even notice
        self._await_end(run, reason, is_timeout=is_timeout)

    def _await_end(self, run: Run, reason: str, *, is_timeout: bool = False) -> None:
        """Its group was asked to end: kill it after the grace."""
        run.stage = Stage.ASKED
        run.stopped_for = reason
        run.is_unwanted = not is_timeout
        if run.timer is not None:
            run.timer.cancel()
        run.timer = self._host.timers.after(
            run.task.grace_ns, lambda: self._kill(run, is_timeout=is_timeout)
        )

    def reap(self, pid: int) -> None:
        """Look after a process that helps a run: it only has to be reaped when it ends."""
        try:
            descriptor = self._host.processes.watch(pid)
        except OSError:
            return  # too many open files: it is reaped when krond ends

        def ended(_: int) -> None:
            self._host.poller.remove(descriptor)
            os.close(descriptor)
            self._host.processes.reap_if_ended(pid)

        self._host.poller.add(descriptor, select.EPOLLIN, ended)

    def reap_others(self, pids: Iterable[int]) -> None:
        """The same for these, and for the runs that were left to this program and are of no job."""
        for pid in (*pids, *(run.pid for run in self.held.values())):
            self.reap(pid)
        self.held = {}

    def reap_strays(self, others: Iterable[int] = ()) -> None:
        """As process 1 of a container krond inherits every orphan, and has to reap it.

        Whoever started these `others` reaps them.
        """
        runs = (run.pid for run in self.runs.values())
        own = {*others, *runs, *self._host.notices.pids}
        for pid in self._host.processes.children():
            if pid not in own:
                self._host.processes.reap_if_ended(pid)

    def _kill(self, run: Run, *, is_timeout: bool) -> None:
        run.stage = Stage.KILLED
        if is_timeout:
            self._log_timeout(run, signal.SIGKILL)
        self._signal(run, signal.SIGKILL)
        if run.cgroup is not None:
            run.cgroup.kill()
        if run.is_over:  # only others of its group or cgroup were left
            self._unwatch(run)
            self._finish(run)

    def _log_timeout(self, run: Run, number: signal.Signals) -> None:
        self._host.journal.of_job(
            Event.TIMEOUT,
            run.member.entry,
            period=run.record.period,
            run_id=run.run_id,
            timeout=format_duration(run.task.timeout_ns or 0),
            signal=number.name,
        )

    def _signal(self, run: Run, number: signal.Signals) -> None:
        if run.cgroup is not None and number is not signal.SIGKILL:
            run.cgroup.signal(number, except_group=run.pid)
        processes = self._host.processes
        if (
            run.is_adopted
            and not processes.is_alive(run.pid, run.record.ticks or 0)
            and not processes.members(run.pid)
        ):
            return  # not our child: its number may be another process's by now
        try:
            processes.signal_group(run.pid, number)
        except PermissionError as error:
            self._host.journal.error(
                f"send {number.name}",
                str(error.strerror),
                run.member.entry,
                period=run.record.period,
                component=Component.EXECUTOR,
            )

    def _watch_process(self, run: Run, pid: int) -> bool:
        try:
            run.watched = self._host.processes.watch(pid)
        except ProcessLookupError:
            return False
        self._host.poller.add(run.watched, select.EPOLLIN, lambda _: self._process_ended(run))
        return True

    def _unwatch(self, run: Run) -> None:
        if run.watched >= 0:
            self._host.poller.remove(run.watched)
            os.close(run.watched)
            run.watched = -1

    def _process_ended(self, run: Run) -> None:
        self._unwatch(run)
        run.is_over = True
        if run.stage is Stage.ASKED and self._watch_rest(run):
            return  # the rest of its group or cgroup has the rest of the grace
        self._finish(run)

    def _watch_rest(self, run: Run) -> bool:
        """Wait for the others of a run that is being stopped. False: it has no others."""
        if run.cgroup is None:
            others = (pid for pid in self._host.processes.members(run.pid) if pid != run.pid)
            return any(self._watch_process(run, pid) for pid in others)
        try:
            run.watched = run.cgroup.watch()
        except OSError:
            return False  # it was removed, or too many files are open
        self._host.poller.add(run.watched, select.EPOLLPRI, lambda _: self._look_at_rest(run))
        if is_watched_populated(run.watched):
            return True
        self._unwatch(run)
        return False

    def _look_at_rest(self, run: Run) -> None:
        if not is_watched_populated(run.watched):
            self._unwatch(run)
            self._finish(run)

    def _finish(self, run: Run) -> None:
        if run.timer is not None:
            run.timer.cancel()
        exit_code, number = (None, None) if run.is_adopted else self._host.processes.reap(run.pid)
        del self.runs[run.run_id]
        run.member.runs.remove(run)
        killed_for, usage, left = "", NO_USAGE, 0
        if run.cgroup is not None:
            usage = run.cgroup.usage()
            if not run.stopped_for and exit_code != 0:
                killed_for = run.cgroup.why_killed()
            left = self.leftovers.keep(run.member, run.run_id, run.cgroup)
            if run.stage is Stage.KILLED:
                left = 0  # they are dying
        why = (run.stopped_for, killed_for, UNSEEN if run.is_adopted else "")
        reason = "; ".join(filter(None, why))
        ended = run.record.ended(
            reason, ended_ns=self._host.clock.now_ns(), exit_code=exit_code, signal=number
        )
        entry = run.member.entry  # a reload before it is logged changes nothing about it
        seconds = round((self._host.clock.monotonic_ns() - run.began_ns) / SECOND_NS, 3)
        self._host.history.used(run.run_id, usage)
        self._on_end(
            run, ended, lambda: log_end(self._host.journal, entry, ended, seconds, usage, left)
        )


def log_end(
    journal: Journal,
    entry: Entry,
    ended: Ended,
    seconds: float | None = None,
    usage: Usage = NO_USAGE,
    left: int = 0,
) -> None:
    journal.of_job(
        Event.EXITED,
        entry,
        Level.INFO if ended.succeeded else Level.WARN,
        period=optional_text(ended.nominal_s),
        run_id=ended.run_id,
        exit_code=ended.exit_code,
        signal=None if ended.signal is None else signal_name(ended.signal),
        seconds=seconds,
        reason=ended.reason or None,
        cpu_seconds=usage.cpu_seconds,
        peak_memory=usage.peak_bytes,
        left=left or None,
    )
