"""The service: makes a daemon from the settings, runs it, and turns its end into an exit code."""

from __future__ import annotations

import gc
import os
import resource
import signal
from contextlib import ExitStack

from kron.console.program import RESTARTED
from kron.core.errors import Code, KronError
from kron.jobs.configuration import Configuration
from kron.krond.background import Background, Foreground
from kron.krond.cgroups import Absence, take_delegated
from kron.krond.configuration.follower import Follower
from kron.krond.configuration.reading import (
    read_configuration,
    why_nothing_runs,
    with_limits_checked,
)
from kron.krond.configuration.settings import JobSource, KrondSettings
from kron.krond.control.server import check_socket
from kron.krond.daemon import Daemon
from kron.krond.directories import note_output_dir
from kron.krond.handover import Handover
from kron.krond.history.writer import History
from kron.krond.host import Host
from kron.krond.loop.notify import NAMES, Notifier
from kron.krond.loop.poller import Poller
from kron.krond.loop.signals import HEARD, Signals
from kron.krond.loop.timers import Timers
from kron.krond.notices.notices import Notices
from kron.krond.output.captures import Captures
from kron.krond.process import launched
from kron.krond.process.processes import Processes
from kron.krond.program import BROKEN, OK, PERSISTENCE, STATE, exit_code
from kron.krond.state.lock import lock
from kron.krond.state.store import StateStore
from kron.krond.surroundings import Surroundings
from kron.krond.upgrade.successor import initial_environment
from kron.logs.event import Level
from kron.logs.journal import Journal
from kron.waking.clock import Clock
from kron.waking.timer import WallTimer

ETC_NAMES = ("crontab", "cron.d", "localtime", "timezone", "passwd")
"""The files in /etc that crontabs depend on. A change of any other does not matter."""
FEW_RUNS = 16
MORE_FILES = "raise LimitNOFILE=, or ulimit -Hn"
LEAST_FILES = 32
"""With fewer open files, krond itself or its only run lacks some."""
WATCHED_LATER = 5
"""What krond watches once it serves: its timer, its socket, a client, the collector of outputs."""
FILES_OF_A_RUN = 2
"""Its process, and the pipe of an output that is kept."""
"""A limit on open files that lets fewer runs go on at a time is worth a warning."""
GARBAGE_AT = 20_000
"""How many more objects start a garbage collection: a burst makes many that stay."""


def serve(
    settings: KrondSettings, line: Background | Foreground, handover: Handover | None = None
) -> int:
    """Run a daemon to its end. `line` reports that it is ready, or why it is not."""
    service = _Service(settings, line, handover)
    try:
        service.run()
    except KronError as error:
        return service.failed(error)
    except Exception as error:
        return service.broken(error)
    return OK


class _Service:
    """A daemon and everything that it needs, as far as that exists yet."""

    def __init__(
        self, settings: KrondSettings, line: Background | Foreground, handover: Handover | None
    ) -> None:
        self._settings = settings
        self._line = line
        self._handover = handover
        self._journal: Journal | None = None
        self._warning = ""
        """For the terminal, when krond is ready."""
        self._is_ready = False

    def run(self) -> None:
        settings, handover = self._settings, self._handover
        notifier = Notifier.from_environment(os.environ)
        gc.disable()  # hardly anything made during the start is garbage
        open_files = _limits(settings)
        configuration = read_configuration(settings).checked()
        with ExitStack() as stack:
            signals = Signals(_signals())  # from here on no signal interrupts our code
            stack.callback(signals.restore)
            pid_file = None
            if settings.pid_file:
                pid_file = lock(settings.pid_file, held=handover.pid_file if handover else -1)
                stack.callback(pid_file.release, remove=True)
            held = None if handover is None else (handover.state_dir, handover.state_lock)
            store = StateStore.open(settings.state_dir, held)
            stack.callback(store.close)
            check_socket(store.directory.descriptor)  # before anything is started
            note_output_dir(settings.outputs.directory, store.directory.descriptor)
            self._journal = journal = _journal(settings)
            if handover is not None:
                open_files = handover.open_files
            launched.is_there()  # it is tried now, and not when a run is due
            taken = take_delegated()
            cgroups = None
            controllers: frozenset[str] | Absence
            if isinstance(taken, Absence):
                controllers = taken
            else:
                cgroups, controllers = taken, taken.controllers
                stack.callback(cgroups.close)
            with_limits_checked(configuration, controllers).checked()
            clock, poller, processes = Clock(), Poller(), Processes()
            timers = Timers(clock)
            captures = Captures(settings.outputs, journal, clock, timers, poller, processes)
            stack.callback(captures.close)
            if handover is not None:
                captures.take(handover.collectors, handover.unsent)
            environment = _own_environment()
            surroundings = Surroundings(environment, open_files, captures, cgroups, store.held)
            history = History(store.directory, journal, clock, timers)
            stack.callback(history.close)
            waits = (clock, timers, poller, processes)
            notices = Notices(store.directory, journal, *waits, surroundings, captures)
            stack.callback(notices.close)
            host = Host(
                *(store, journal, surroundings, clock, WallTimer(), timers, poller, processes),
                *(history, notices, cgroups, pid_file),
            )

            def read() -> Configuration:
                return with_limits_checked(read_configuration(settings), controllers)

            daemon = Daemon(settings, read, host, notifier, handover)
            if JobSource.CRON in settings.sources:
                from kron.jobs.crontab.host import watched

                # With the names to watch in each directory; none: all names.
                paths = {path: ETC_NAMES if path == "/etc" else () for path in watched()}
                Follower(paths, daemon.reload, journal, timers, poller)
            few = _why_few_run(poller.room())
            if few:
                journal.error("open files", few, level=Level.WARN)
            daemon.begin(configuration)
            if settings.log_file:  # else its log is on the terminal
                self._warning = why_nothing_runs(configuration) or few
            del configuration
            gc.freeze()  # everything made so far stays: the collector can ignore it
            gc.set_threshold(GARBAGE_AT)
            gc.enable()
            daemon.serve(signals, self._ready)

    def failed(self, error: KronError) -> int:
        """Report an error to the log and the command. Returns the exit code."""
        code = exit_code(error)
        if not self._is_ready and code == PERSISTENCE:
            code = STATE  # a disk that cannot be written is an error of the start
        if self._journal is not None:
            self._journal.error("serve", str(error))
        return code if self._is_ready else self._line.failed(code, f"krond: {error}")

    def broken(self, error: Exception) -> int:
        """Report a bug in krond with its traceback. Returns the exit code."""
        import traceback

        text = "".join(traceback.format_exception(error))
        if self._journal is not None:
            self._journal.error("serve", text)
        if self._is_ready:
            os.write(2, text.encode(errors="backslashreplace"))
            return BROKEN
        return self._line.failed(BROKEN, text)

    def _ready(self) -> None:
        self._is_ready = True
        self._line.ready(self._warning and f"krond: warning: {self._warning}")


def _journal(settings: KrondSettings) -> Journal:
    try:
        return Journal(
            Clock(),
            settings.log_file,
            settings.log_format,
            settings.log_level,
            explain=settings.explain,
        )
    except OSError as error:
        raise KronError(
            Code.FILE_UNWRITABLE,
            f"the log file {settings.log_file} cannot be opened: {error.strerror}",
            fix="name another one with --log-file",
        ) from None


def _signals() -> set[signal.Signals]:
    heard = set(HEARD)
    # As process 1 of a container krond becomes the parent of every orphan, and must reap it.
    return heard | {signal.SIGCHLD} if os.getpid() == 1 else heard


def _limits(settings: KrondSettings) -> tuple[int, int]:
    """Set the limits of the settings. Returns the limit on open files for runs.

    krond raises its own to the hard limit: every active run needs a descriptor.
    """
    for name, value in settings.limits:
        kind = getattr(resource, f"RLIMIT_{name}")
        try:
            resource.setrlimit(kind, (value, value))
        except (OSError, ValueError):
            message = f"the system refuses --limit-{name.lower()} {value}"
            hard = resource.getrlimit(kind)[1]
            fix = "name a smaller one" + ("" if hard < 0 else f": {hard} is allowed")
            raise KronError(Code.LIMIT, message, fix) from None
    for_runs = resource.getrlimit(resource.RLIMIT_NOFILE)
    hard = for_runs[1]
    if 0 <= hard < LEAST_FILES:
        message = f"krond may open {hard} files, and needs at least {LEAST_FILES}"
        raise KronError(Code.LIMIT, message, fix=MORE_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return for_runs


def _why_few_run(room: int) -> str:
    """For people, if krond may open too few files for the runs of a host; else ''."""
    runs = max(1, (room - WATCHED_LATER) // FILES_OF_A_RUN)
    if runs >= FEW_RUNS:
        return ""
    how_many = "about 1 run goes" if runs == 1 else f"about {runs} runs go"
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return f"krond may open {limit} files, so only {how_many} on at a time; {MORE_FILES}"


def _own_environment() -> dict[bytes, bytes]:
    """The environment that krond was started with and that its runs inherit, except `NAMES`.

    krond may have started itself again with PYTHONUTF8: that is not meant for a job.
    """
    variables = initial_environment()
    before = variables.pop(RESTARTED.encode(), None)
    if before is not None:
        variables.pop(b"PYTHONUTF8", None)
    if before:
        variables[b"PYTHONUTF8"] = before
    for name in NAMES:
        variables.pop(name.encode(), None)
    return variables
