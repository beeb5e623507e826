"""A history that a test writes itself, with a clock and a loop that only the test moves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kron.jobs.document import read_document
from kron.jobs.entry import Entry
from kron.krond.history.reader import Selection, open_history
from kron.krond.history.writer import History
from kron.krond.loop.timers import Timers
from kron.krond.state.directory import Directory
from kron.krond.state.names import PID_FILE
from kron.krond.state.record import Ended
from kron.logs.journal import Journal
from kron.testing.clock import FakeClock
from tests.logbook import Logbook

NOW = "2026-03-01T02:00:00Z"
NOW_S = 1_772_330_400
HOUR_S = 3_600


def entry(name: str, path: str = "/etc/krond.d/jobs.kron") -> Entry:
    line = f"0 * * * * name={name} command=/bin/true\n"
    return read_document(line.encode(), path).entries[0]


def executed(number: int = 0, *, exit_code: int | None = 0, reason: str = "", **more: Any) -> Ended:
    """The run of an hour: it starts 2 s late and takes 1.5 s."""
    nominal_s = NOW_S + number * HOUR_S
    return Ended(
        nominal_s=nominal_s,
        chosen_s=nominal_s + 10,
        outcome="executed",
        reason=reason,
        run_id=f"run-{number}",
        started_ns=(nominal_s + 12) * 10**9,
        ended_ns=(nominal_s + 13) * 10**9 + 500_000_000,
        exit_code=exit_code,
    ).replace(**more)


def missed(number: int = 0) -> Ended:
    nominal_s = NOW_S + number * HOUR_S
    return Ended(nominal_s, nominal_s, "missed", "too late", ended_ns=(nominal_s + 60) * 10**9)


class Written(Logbook):
    """The history of a state directory, its log, and the timers that write it."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "state"
        self.log = directory / "krond.log"
        self.clock = FakeClock(NOW)
        self.timers = Timers(self.clock)
        self.directory = Directory.make(str(self.path))
        (self.path / PID_FILE).touch()
        self._journal = Journal(self.clock, str(self.log))
        self.history = self.reopened()

    def reopened(self) -> History:
        """The one of a krond that was just started."""
        self.history = History(self.directory, self._journal, self.clock, self.timers)
        return self.history

    def turn(self, seconds: float = 0) -> None:
        """Let time pass, and the loop do what is due."""
        self.clock.advance(seconds)
        self.timers.fire_due(self.clock.monotonic_ns())
        self.history.flush()

    def add(self, *ends: Ended, job: str = "backup") -> None:
        """Let these ends be written, in one go."""
        for ended in ends:
            self.history.add(entry(job), ended)
        self.turn()

    def rows(self, **selection: Any) -> list[dict[str, Any]]:
        with open_history(str(self.path)) as reader:
            assert reader is not None
            return list(reader.rows(Selection(**selection)))

    def run_ids(self, **selection: Any) -> list[str]:
        return [row["run_id"] for row in self.rows(**selection)]

    def errors(self) -> list[str]:
        return [str(record["error"]) for record in self.events("error")]

    def is_waiting(self) -> bool:
        """Whether a timer will try again."""
        return self.timers.next_ns() is not None

    def close(self) -> None:
        self.history.close()
        self.directory.close()
