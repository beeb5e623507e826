"""A krond in this process, on a clock that only the test moves.

The daemon, its state files, its log and its runs are real. Only time is not: a sleep of a year is
over at once. A run that is quick has ended before time goes on; one that is to last is a `LASTING`
command, and ends when the test says so.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kron.core.duration import SECOND_NS
from kron.core.instant import from_text, to_text
from kron.jobs.configuration import Configuration
from kron.jobs.source import own_access
from kron.krond.configuration.reading import read_configuration
from kron.krond.configuration.settings import KrondSettings
from kron.krond.daemon import Daemon
from kron.krond.history.writer import History
from kron.krond.host import Host as KrondHost
from kron.krond.loop.notify import Notifier
from kron.krond.loop.timers import Timers
from kron.krond.notices.notices import Notices
from kron.krond.output.captures import Captures
from kron.krond.process.failure import StartError
from kron.krond.process.processes import Processes
from kron.krond.roster.member import HostMember
from kron.krond.roster.run import PendingRun, Run
from kron.krond.state.store import StateStore
from kron.krond.surroundings import Starting, Surroundings
from kron.logs.journal import Journal
from kron.logs.record import Record
from kron.testing.clock import FakeClock
from kron.testing.loop import FakePoller, FakeTimer
from tests.krond.host import Host
from tests.logbook import wait_for

QUICK = "command=/bin/true"
FAILING = "command=/bin/false"
LASTING = 'command="/bin/sleep 3600"'


class Launcher(Surroundings):
    """Starts real processes. A start may be made to take time, or to fail."""

    def __init__(self, clock: FakeClock, directory: Path) -> None:
        super().__init__({b"PATH": b"/usr/bin:/bin", b"KRON_TEST": os.fsencode(directory)}, None)
        self.takes_s: dict[str, float] = {}
        """How much time the start of a job's runs takes, by the fake clock."""
        self.failures: list[StartError] = []
        """How the next starts fail, the first one first."""
        self.tries_ns: list[int] = []
        """When starts were tried."""
        self._clock = clock

    def start(self, pending: PendingRun, proof: str, now_s: int) -> Starting:
        """Start a run."""
        self.tries_ns.append(self._clock.now_ns())
        self._clock.advance(self.takes_s.get(pending.member.entry.name, 0))
        if self.failures:
            raise self.failures.pop(0)
        return super().start(pending, proof, now_s)


class Clockwork(Host):
    """A host with such a krond: `begin` and `cease` take the place of `start` and `kill`."""

    def __init__(self, directory: Path, now: str) -> None:
        super().__init__(directory)
        self.clock = FakeClock(now)
        self.launcher = Launcher(self.clock, directory)
        self.reading_takes_s = 0.0
        """How much time it takes to read the configuration again, by the fake clock."""
        self._close: Callable[[], None] | None = None

    def __enter__(self) -> Clockwork:
        return self

    def __exit__(self, *_: object) -> None:
        if self._close is not None:
            for run in self.daemon.supervisor.runs.values():
                os.killpg(run.pid, signal.SIGKILL)
                os.waitpid(run.pid, 0)
                os.close(run.watched)
            self._close()
        os.close(self.launcher._null)

    def begin(self, *lines: str, **settings: Any) -> None:
        """Write the file, unless it is there, and start a krond. `settings` are what is special."""
        assert self._close is None, "one krond at a time"
        if lines:
            self.write(*lines)
        how = KrondSettings(
            state_dir=str(self.state),
            access=own_access(),
            config=(str(self.config),),
            log_file=str(self.log),
            **settings,
        )
        store = StateStore.open(how.state_dir)
        self.journal = Journal(self.clock, how.log_file)
        self.timer = FakeTimer(self.clock)
        self.poller = FakePoller(self.clock, self.timer)

        def read() -> Configuration:
            self.clock.advance(self.reading_takes_s)
            return read_configuration(how)

        timers, processes = Timers(self.clock), Processes()
        waits = (self.clock, timers, self.poller, processes)
        history = History(store.directory, self.journal, self.clock, timers)
        captures = Captures(how.outputs, self.journal, *waits)
        notices = Notices(store.directory, self.journal, *waits, self.launcher, captures)
        host = KrondHost(
            *(store, self.journal, self.launcher, self.clock, self.timer, timers, self.poller),
            *(processes, history, notices),
        )
        self.daemon = Daemon(how, read, host, Notifier())

        def close() -> None:
            notices.close()
            history.close()
            self.poller.close()
            self.timer.close()
            os.close(self.journal._descriptor)
            store.close()

        self._close = close
        self.daemon.begin(read_configuration(how).checked())
        self.settle()

    def cease(self) -> None:
        """The krond is gone, as if killed, and nothing of it goes on."""
        assert self._close is not None
        self.settle()
        self._close()
        self._close = None

    def until(self, instant: str) -> None:
        """Let the loop turn until this instant of the wall clock, whatever happens on the way."""
        until_ns = from_text(instant) * SECOND_NS
        while self.clock.now_ns() < until_ns:
            self.poller.until_ns = until_ns
            self.daemon.turn()
            self.settle()
        self.turn()

    def turn(self) -> None:
        """One turn of the loop, without a sleep; then quick runs come to their end."""
        self._look()
        self.settle()

    def settle(self) -> None:
        """Let the quick runs end, without a sleep."""

        def are_ended() -> bool:
            if not any(is_quick(run) for run in self.daemon.supervisor.runs.values()):
                return True
            self._look()
            return False

        wait_for(are_ended, "quick runs end")

    def end(self, run: Run) -> None:
        """Let a lasting run end."""
        os.killpg(run.pid, signal.SIGKILL)
        self.end_of(run)

    def end_of(self, run: Run) -> None:
        """Turn until krond has seen the end of a run."""

        def is_seen() -> bool:
            self._look()
            return run.run_id not in self.daemon.supervisor.runs

        wait_for(is_seen, "the end of a run is seen")

    def reload(self, *lines: str) -> None:
        """Change the file, and have it read again."""
        wrong: list[str] = []
        self.write(*lines)
        now_ns = self.clock.monotonic_ns()
        self.daemon._host.timers.at(now_ns, lambda: wrong.append(self.daemon.reload()))
        self.turn()  # it comes up as the loop turns, as a signal does
        assert wrong == [""]

    def member(self, name: str) -> HostMember:
        """A job as krond sees it."""
        return self.daemon.roster.find(name)

    def run(self, name: str) -> Run:
        """The one run of a job that is going on."""
        (run,) = self.member(name).runs
        return run

    def started(self, name: str | None = None) -> list[str]:
        """When runs started."""
        return [shown(record) for record in self.events("started", name)]

    def missed(self, name: str | None = None) -> list[tuple[str, str]]:
        """The periods that were missed, and when that was told."""
        return [
            (record["period"], shown(record)) for record in self.events("missed_deadline", name)
        ]

    @property
    def now(self) -> str:
        """The wall clock."""
        return to_text(self.clock.now_ns() // SECOND_NS)

    def _look(self) -> None:
        self.poller.until_ns = self.clock.now_ns()
        self.daemon.turn()


def is_quick(run: Run) -> bool:
    """Whether the run ends by itself, and soon."""
    return run.task.argv in (("/bin/true",), ("/bin/false",))


def shown(record: Record) -> str:
    """The second in which something was logged."""
    return to_text(record.time_ns // SECOND_NS)
