"""The upgrade: krond goes on as another program, in the same process.

The new program is tried out first, as a child: if it cannot read the configuration or the state,
nothing changes. Then krond stores what it knows and executes it. Runs stay children of this
process, so their ends are seen and their exit codes known; the locks are never released.

Whatever goes wrong up to the exec, krond goes on as it is. What goes wrong after it is that of a
start: krond ends, and its runs go on.
"""

from __future__ import annotations

import os
import select
import signal

import kron
from kron.console.report import many
from kron.core.duration import SECOND_NS, format_duration
from kron.core.errors import Code, KronError, visible
from kron.core.frozen import Frozen
from kron.krond.control.server import Connection, ControlServer, refusal
from kron.krond.handover import Handover, HeldRun
from kron.krond.host import Host
from kron.krond.loop.notify import Notifier
from kron.krond.loop.signals import HEARD, Signals
from kron.krond.loop.timers import Timer
from kron.krond.loop.work import Work
from kron.krond.pauses.pause import Pauses
from kron.krond.process.failure import NotStarted
from kron.krond.upgrade.successor import Successor, end_trial, said_in
from kron.krond.upgrade.trial import Fitness
from kron.logs.event import Event, Level

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

    from kron.krond.daemon import Daemon

PATIENCE_NS = 60 * SECOND_NS
"""How long the new program may take to read the configuration and the state."""
GIVEN_UP = "a manual run that waits is given up for an upgrade of krond"
_LONGEST_REASON = 2_000


class Upgrade:
    def __init__(
        self, daemon: Daemon, host: Host, notifier: Notifier, pauses: Pauses, work: Work
    ) -> None:
        self._daemon = daemon
        self._host = host
        self._notifier = notifier
        self._pauses = pauses
        self._work = work
        self._successor = Successor(daemon.settings.directory)
        self._clients: list[Connection] = []
        """Those that have asked for it."""
        self._trial: _Trial | None = None
        self._fitness: Fitness | None = None
        """That of the new program, which is executed once no hook is running."""

    @property
    def pids(self) -> set[int]:
        """The processes that it reaps itself."""
        return set() if self._trial is None else {self._trial.pid}

    def ask(self, client: Connection | None = None) -> None:
        """Try the new program, and execute it if it is fit. The client is answered later."""
        if client is not None:
            self._clients.append(client)
        if self._trial is not None or self._fitness is not None:
            return
        if why := self._why_not():
            self._refuse(why)
            return
        try:
            self._trial = self._begin_trial()
        except (NotStarted, OSError) as error:
            number = error.error if isinstance(error, NotStarted) else error.errno or 0
            program = visible(self._successor.program)
            reason = f"{program}, or the interpreter that it names: {os.strerror(number)}"
            self._refuse(f"the new program cannot be tried: {reason}")

    def cancel(self) -> None:
        """krond is about to end, and so is a trial."""
        trial, self._trial = self._trial, None
        if trial is not None:
            end_trial(trial.pid)
            self._refuse(self._why_not())

    def go(self, control: ControlServer, signals: Signals) -> None:
        """At the end of a turn: execute the new program, if it is fit."""
        fitness = self._fitness
        if fitness is None:
            return
        why = self._why_not()
        if not why and not self._host.notices.hold():
            return  # a hook or sendmail is running: the new program would run it again beside it
        if not why and not self._daemon.put_down(GIVEN_UP):
            why = "the state cannot be written"
        if why:
            self._refuse(why)
            return
        self._host.history.write_all()
        # A signal must neither meet a program that does not listen yet nor be lost with this one.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, HEARD)
        try:
            if not signals.is_any_unread:
                self._execute(fitness, self._handover(control))
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def _begin_trial(self) -> _Trial:
        cgroups = self._host.cgroups
        controllers = None if cgroups is None else cgroups.controllers
        pid, output, errors = self._successor.start_trial(controllers)
        try:
            watched = self._host.processes.watch(pid)
        except OSError:
            end_trial(pid)
            self._host.processes.reap(pid)
            raise
        patience = self._host.timers.after(PATIENCE_NS, lambda: end_trial(pid))
        trial = _Trial(pid, output, errors, watched, patience)
        self._host.poller.add(watched, select.EPOLLIN, lambda _: self._trial_ended(trial))
        return trial

    def _trial_ended(self, trial: _Trial) -> None:
        is_cancelled, self._trial = self._trial is not trial, None
        self._host.poller.remove(trial.watched)
        os.close(trial.watched)
        was_in_time = trial.patience.action is not None
        trial.patience.cancel()
        exit_code, number = self._host.processes.reap(trial.pid)
        output, errors = said_in(trial.output), said_in(trial.errors)
        if is_cancelled:
            return
        if not was_in_time:
            limit = format_duration(PATIENCE_NS)
            self._refuse(f"the new program did not say within {limit} whether it can go on")
        elif exit_code == 0:
            try:
                self._fitness = Fitness.unpacked(output)
            except ValueError:
                self._refuse(f"the new program is not krond: it says {_shown(output or errors)}")
        else:
            ended = f"signal {number}" if exit_code is None else f"exit code {exit_code}"
            cannot = "the new program cannot go on: "
            for_people = cannot + (_shown(errors or output) or ended)
            self._refuse(for_people, cannot + (_shown(output or errors) or ended))

    def _why_not(self) -> str:
        """For people, if krond has no time for another program now; else ''."""
        if self._daemon.is_stopping or self._daemon.settings.is_once:
            return "krond is about to end"
        if unsafe := self._host.notices.unsafe:
            return f"{many(unsafe, 'notice')} could not be written to the disk and would be lost"
        return self._pauses.text

    def _refuse(self, why: str, for_logs: str = "") -> None:
        self._fitness = None
        self._host.notices.release()
        error = for_logs or why
        self._host.journal.event(Event.UPGRADE, Level.ERROR, result="refused", error=error)
        clients, self._clients = self._clients, []
        for client in clients:
            client.answer(refusal(KronError(Code.CONTROL, f"nothing is upgraded: {why}")))

    def _handover(self, control: ControlServer) -> Handover:
        host, work = self._host, self._work
        listening, clients = control.held()
        captures = host.surroundings.captures
        collectors, unsent = captures.hold() if captures else ([], [])
        runs = {
            run.run_id: HeldRun(run.pid, run.began_ns, run.stopped_for)
            for run in self._daemon.supervisor.runs.values()
            if not run.is_adopted
        }
        known = {run.pid for run in runs.values()} | {each.pid for each in collectors}
        state_dir, state_lock = host.store.held
        return Handover(
            version=kron.__version__,
            # Since the turn began, it has not looked at what is due again.
            awake_s=(host.clock.now_ns() - work.turn_ns) // SECOND_NS,
            since_ns=host.clock.monotonic_ns() - work.turn_ns,
            open_files=host.surroundings.open_files or (0, 0),
            state_dir=state_dir,
            state_lock=state_lock,
            pid_file=-1 if host.pid_file is None else host.pid_file.descriptor,
            control=listening,
            clients=clients,
            runs=runs,
            collectors=collectors,
            unsent=unsent,
            helpers=[pid for pid in host.processes.children() if pid not in known],
        )

    def _execute(self, fitness: Fitness, handover: Handover) -> None:
        self._host.journal.event(Event.UPGRADE, result="executing", version=fitness.version)
        self._notifier.reloading()  # until the new program is ready
        try:
            self._successor.execute(handover)
        except OSError as error:
            what = f"{error.filename}: " if error.filename else ""
            self._refuse(f"the new program cannot be executed: {what}{error.strerror}")
            self._notifier.ready(f"{len(self._daemon.roster)} jobs")


class _Trial(Frozen):
    pid: int
    output: BinaryIO
    """What it says to krond and to its log."""
    errors: BinaryIO
    """What it says to people."""
    watched: int
    """Its pidfd."""
    patience: Timer


def _shown(output: bytes) -> str:
    text = output.decode(errors="backslashreplace").strip()
    lines = [visible(line) for line in text[-_LONGEST_REASON:].splitlines()]
    return "\n".join(lines)
