"""The service: from settings to a daemon that serves, and from its end to an exit code."""

from __future__ import annotations

import gc
import os
import resource
import signal
from contextlib import ExitStack

import kron
from kron.core.errors import Code, KronError
from kron.jobs.configuration import SYSTEM_DIRECTORY, Configuration, default_paths, load
from kron.krond.background import Background, Foreground
from kron.krond.daemon import Daemon
from kron.krond.environment import own_environment
from kron.krond.notify import NAMES, Notifier
from kron.krond.poller import Poller
from kron.krond.program import BROKEN, OK, PERSISTENCE, STATE, exit_code
from kron.krond.settings import Settings, Source
from kron.krond.signals import Signals
from kron.krond.state.lock import lock
from kron.krond.state.store import Store
from kron.krond.surroundings import Surroundings
from kron.logs.journal import Journal
from kron.waking.clock import Clock
from kron.waking.timer import WallTimer

ETC_NAMES = ("crontab", "cron.d", "localtime", "timezone", "passwd")
"""What crontabs depend on in /etc, where much else changes that is no reason to read them again."""
GARBAGE_AT = 20_000
"""So many more objects than before make krond look for garbage: a burst makes many that stay."""


def serve(settings: Settings, line: Background | Foreground) -> int:
    """Run a daemon to its end. `line` is told when it is ready, or why it is not to be."""
    service = _Service(settings, line)
    try:
        service.run()
    except KronError as error:
        return service.failed(error)
    except Exception as error:
        return service.broken(error)
    return OK


class _Service:
    """A daemon and what it stands on, as far as that has come."""

    def __init__(self, settings: Settings, line: Background | Foreground) -> None:
        self._settings = settings
        self._line = line
        self._journal: Journal | None = None
        self._is_ready = False

    def run(self) -> None:
        """Start, serve and end."""
        settings = self._settings
        notifier = Notifier.from_environment(os.environ)
        gc.disable()  # hardly anything that is made from here on is garbage
        configuration = read_configuration(settings).checked()
        with ExitStack() as stack:
            signals = Signals(_signals())  # from here on nothing of ours ends half-way
            stack.callback(signals.restore)
            if settings.pid_file:
                pid_file = lock(settings.pid_file)
                stack.callback(pid_file.release, remove=True)
            store = Store.open(settings.state_dir)
            stack.callback(store.close)
            self._journal = _journal(settings)
            daemon = Daemon(
                settings,
                lambda: read_configuration(settings),
                store,
                self._journal,
                notifier,
                Surroundings(own_environment(without=NAMES), _limits(settings)),
                kron.__version__,
                Clock(),
                WallTimer(),
                Poller(),
            )
            if Source.CRON in settings.sources:
                daemon.follow(_crontab_directories())
            daemon.begin(configuration)
            del configuration
            gc.freeze()  # what is here now stays: no need to look at it ever again
            gc.set_threshold(GARBAGE_AT)
            gc.enable()
            daemon.serve(signals, self._ready)

    def failed(self, error: KronError) -> int:
        """Say what is wrong, where it is looked for: the exit code."""
        code = exit_code(error)
        if self._journal is None:
            # Nothing was running yet, so a disk that cannot be written is a matter of the start.
            code = STATE if code == PERSISTENCE else code
        else:
            self._journal.error("serve", str(error))
        return code if self._is_ready else self._line.failed(code, f"krond: {error}")

    def broken(self, error: Exception) -> int:
        """A fault of krond's own: say where it is, for whoever is to mend it."""
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
        self._line.ready()


def _journal(settings: Settings) -> Journal:
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


def read_configuration(settings: Settings) -> Configuration:
    """Everything that is to be run, with its errors."""
    read = Configuration(())
    if Source.KRONTAB in settings.sources:
        paths = settings.config or _default_paths()
        read = load(paths, settings.access, node=settings.node)
    if Source.CRON not in settings.sources:
        return read
    from kron.jobs.crontab.host import load_host

    crontabs = load_host(settings.access, node=settings.node)
    return Configuration(
        (*read.documents, *crontabs.documents),
        (*read.failures, *crontabs.failures),
        (*read.ignored, *crontabs.ignored),
        crontabs.warnings,
    )


def _default_paths() -> list[str]:
    """What is there of the system's and the user's directories. Others do not run root's jobs."""
    is_root = os.geteuid() == 0
    return [path for path in default_paths() if is_root or path != SYSTEM_DIRECTORY]


def _crontab_directories() -> dict[str, tuple[str, ...]]:
    """The directories of the crontabs, with the names that matter in them; none: all do."""
    from kron.jobs.crontab.host import watched

    return {directory: ETC_NAMES if directory == "/etc" else () for directory in watched()}


def _signals() -> set[signal.Signals]:
    heard = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1}
    # As process 1 of a container krond is given every orphan, to reap it.
    return heard | {signal.SIGCHLD} if os.getpid() == 1 else heard


def _limits(settings: Settings) -> tuple[int, int]:
    """Set the limits that were asked for. Returns the one on open files that runs get.

    krond itself takes as many descriptors as it may have: every run that goes on needs one.
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
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return for_runs
