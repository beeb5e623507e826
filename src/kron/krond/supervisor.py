"""The supervisor: watches runs, stops those that take too long, and tells how each one ended.

A run is a session of its own with one process group. To stop it is to stop the group: TERM, the
grace of its job, KILL. Until then its first process is not reaped, so that its pid, which is the
group's number, cannot become somebody else's.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable
from contextlib import suppress

from kron.core.duration import SECOND_NS, format_duration
from kron.krond.poller import Poller
from kron.krond.process.failure import StartError
from kron.krond.process.living import children, is_alive, members
from kron.krond.run import Run, Stage
from kron.krond.state.record import Ended
from kron.krond.timers import Timers
from kron.logs.event import Component, Event, Level
from kron.logs.journal import Journal
from kron.waking.clock import Clock

UNSEEN = "krond was not its parent when it ended, so its result is unknown"


class Supervisor:
    """All runs that are going on. `on_end` is told of each that has ended."""

    def __init__(
        self,
        poller: Poller,
        timers: Timers,
        journal: Journal,
        clock: Clock,
        on_end: Callable[[Run, Ended], None],
    ) -> None:
        self.runs: dict[str, Run] = {}
        self._poller = poller
        self._timers = timers
        self._journal = journal
        self._clock = clock
        self._on_end = on_end

    def check_room(self, unwatched: int) -> None:
        """A `StartError` if there may be no descriptor to watch another run by.

        `unwatched` processes were started just now, and are to be watched first.
        """
        if not self._poller.has_room(unwatched):
            raise StartError("krond watches as many runs as it may open files", for_good=False)

    def watch(self, run: Run) -> None:
        """Look after a run from now on."""
        self.runs[run.run_id] = run
        run.member.runs.append(run)
        timeout_ns = run.task.timeout_ns
        if timeout_ns is not None:
            run.timer = self._timers.at(
                run.began_ns + timeout_ns, lambda: self.stop(run, is_timeout=True)
            )
        if not self._watch_process(run, run.pid):  # adopted, and gone in this very moment
            self._finish(run)

    def stop(self, run: Run, *, is_timeout: bool = False) -> None:
        """Ask the run's group to end, and see to it that it does."""
        if run.stage is not Stage.RUNNING:
            return
        run.stage = Stage.ASKED
        if run.timer is not None:
            run.timer.cancel()
        if is_timeout:
            self._tell_timeout(run, signal.SIGTERM)
        self._signal(run, signal.SIGTERM)
        self._signal(run, signal.SIGCONT)  # one that is stopped would not even notice
        run.timer = self._timers.at(
            self._clock.monotonic_ns() + run.task.grace_ns,
            lambda: self._kill(run, is_timeout=is_timeout),
        )

    def reap(self, pid: int) -> None:
        """Look after a process that helps a run: it only has to be reaped when it ends."""
        try:
            descriptor = os.pidfd_open(pid)
        except OSError:
            return  # too many open files: it is reaped when krond ends

        def ended(_: int) -> None:
            self._poller.remove(descriptor)
            os.close(descriptor)
            _reap_if_there(pid)

        self._poller.add(descriptor, select.EPOLLIN, ended)

    def reap_strays(self) -> None:
        """As process 1 of a container krond is given every orphan; none is left a zombie."""
        own = {run.pid for run in self.runs.values()}
        for pid in children():
            if pid not in own:
                _reap_if_there(pid)

    def _kill(self, run: Run, *, is_timeout: bool) -> None:
        run.stage = Stage.KILLED
        if is_timeout:
            self._tell_timeout(run, signal.SIGKILL)
        self._signal(run, signal.SIGKILL)
        if run.is_over:  # only others of its group were left
            self._unwatch(run)
            self._finish(run)

    def _tell_timeout(self, run: Run, number: signal.Signals) -> None:
        self._journal.of_job(
            Event.TIMEOUT,
            run.member.entry,
            period=run.period,
            run_id=run.run_id,
            timeout=format_duration(run.task.timeout_ns or 0),
            signal=number.name,
        )

    def _signal(self, run: Run, number: signal.Signals) -> None:
        if run.is_adopted and not is_alive(run.pid, run.ticks or 0) and not members(run.pid):
            return  # not our child: its number may be somebody else's by now
        try:
            os.killpg(run.pid, number)
        except ProcessLookupError:
            pass
        except PermissionError as error:
            self._journal.error(
                f"send {number.name}",
                str(error.strerror),
                run.member.entry,
                period=run.period,
                component=Component.EXECUTOR,
            )

    def _watch_process(self, run: Run, pid: int) -> bool:
        try:
            run.watched = os.pidfd_open(pid)
        except ProcessLookupError:
            return False
        self._poller.add(run.watched, select.EPOLLIN, lambda _: self._process_ended(run))
        return True

    def _unwatch(self, run: Run) -> None:
        if run.watched >= 0:
            self._poller.remove(run.watched)
            os.close(run.watched)
            run.watched = -1

    def _process_ended(self, run: Run) -> None:
        self._unwatch(run)
        run.is_over = True
        if run.stage is Stage.ASKED and any(
            self._watch_process(run, pid) for pid in members(run.pid) if pid != run.pid
        ):
            return  # the rest of its group has the rest of the grace
        self._finish(run)

    def _finish(self, run: Run) -> None:
        if run.timer is not None:
            run.timer.cancel()
        exit_code, number = (None, None) if run.is_adopted else _reaped(run.pid)
        del self.runs[run.run_id]
        run.member.runs.remove(run)
        reason = UNSEEN if run.is_adopted else ""
        self._journal.of_job(
            Event.EXITED,
            run.member.entry,
            Level.INFO if exit_code == 0 else Level.WARN,
            period=run.period,
            run_id=run.run_id,
            exit_code=exit_code,
            signal=None if number is None else signal_name(number),
            seconds=round((self._clock.monotonic_ns() - run.began_ns) / SECOND_NS, 3),
            reason=reason or None,
        )
        self._on_end(run, run.ended(self._clock.now_ns(), exit_code, number, reason))


def _reap_if_there(pid: int) -> None:
    """Reap a child that has ended, unless that was done already."""
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _reaped(pid: int) -> tuple[int | None, int | None]:
    """The exit code of a child that has ended, or the signal that ended it."""
    result = os.waitid(os.P_PID, pid, os.WEXITED)
    assert result is not None  # only with WNOHANG
    if result.si_code == os.CLD_EXITED:
        return result.si_status, None
    return None, result.si_status


def signal_name(number: int) -> str:
    """SIGTERM for 15; a number for those without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
