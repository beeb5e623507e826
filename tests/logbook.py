"""The log of a process under test: read, waited for, and checked. And waiting itself."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from kron.logs.ordering import violations
from kron.logs.reader import read
from kron.logs.record import Record
from kron.logs.replay import Replay

PATIENCE_S = 30.0
"""How long a test waits for what takes milliseconds on a machine that has nothing else to do."""

T = TypeVar("T")


def wait_for(
    look: Callable[[], T | None],
    what: str,
    patience_s: float = PATIENCE_S,
    instead: Callable[[], object] | None = None,
) -> T:
    """Look again and again until there is something that is true; `instead`: what is there else."""
    deadline_s = time.monotonic() + patience_s
    while not (found := look()):
        if time.monotonic() >= deadline_s:
            there = f", but {instead()}" if instead else ""
            raise AssertionError(f"{what}: not within {patience_s} s{there}")
        time.sleep(0.01)
    return found


class Logbook:
    """Whoever writes a log; `log` is the file."""

    log: Path

    def records(self) -> list[Record]:
        """The log so far; a line that does not read (a traceback, say) makes the test fail."""
        if not self.log.exists():
            return []
        found = [record for _, record in read(self._lines())]
        problems = [record for record in found if not isinstance(record, Record)]
        assert problems == [], problems
        return [record for record in found if isinstance(record, Record)]

    def events(self, event: str, name: str | None = None) -> list[Record]:
        """The events of this kind so far; `name`: of this job."""
        return [
            record
            for record in self.records()
            if record.event == event and name in (None, record.get("name"))
        ]

    def wait_for_event(
        self, event: str, name: str | None = None, count: int = 1, patience_s: float = PATIENCE_S
    ) -> Record:
        """Wait until there are this many events of this kind: the last of them."""
        return self.wait_for_events(event, name, count, patience_s)[count - 1]

    def wait_for_events(
        self, event: str, name: str | None = None, count: int = 1, patience_s: float = PATIENCE_S
    ) -> list[Record]:
        """Wait until there are this many events of this kind, or more: all of them."""

        def look() -> list[Record] | None:
            found = self.events(event, name)
            return found if len(found) >= count else None

        return wait_for(look, f"{count} x {event} of {name}", patience_s)

    def check_log(self) -> None:
        """Every decision replays, and events are in the order that docs/logs.md promises."""
        wrong = list(Replay(self._lines()))
        assert wrong == [], wrong
        assert list(violations(enumerate(self.records(), 1))) == []

    def _lines(self) -> io.BytesIO:
        """The whole lines of the log. Of one that is being written, the half may be there."""
        whole, _, _ = self.log.read_bytes().rpartition(b"\n")
        return io.BytesIO(whole + b"\n")
