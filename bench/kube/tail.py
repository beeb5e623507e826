"""The end of the audit log: how many requests of a kind there were, while they are coming in."""

from __future__ import annotations

import time
from pathlib import Path

from bench.krond.workshop import SkippedError

_QUIET_LINES = 30
"""The operator sends ten Events a second for a while, everybody renews leases."""
_LOOK_S = 0.1


class Tail:
    """Counts the lines that have all of some words in them, and one not, from now on."""

    def __init__(self, log: Path, *words: str, without: str = "\n\n") -> None:
        self.count = 0
        self._log = log
        self._words = [word.encode() for word in words]
        self._without = without.encode()
        self._offset = log.stat().st_size if log.exists() else 0

    def look(self) -> int:
        """How many there are by now."""
        with self._log.open("rb") as log:
            log.seek(self._offset)
            for line in log:
                if not line.endswith(b"\n"):
                    break
                self._offset += len(line)
                is_one = all(word in line for word in self._words)
                self.count += is_one and self._without not in line
        return self.count

    def wait(self, count: int, until_s: float) -> bool:
        """Wait until it has that many; False if it has fewer by then."""
        while self.look() < count:
            if time.time() > until_s:
                return False
            time.sleep(_LOOK_S)
        return True

    def wait_for(self, count: int, what: str, until_s: float) -> None:
        """The same, but `SkippedError` if there are fewer."""
        if not self.wait(count, until_s):
            raise SkippedError(f"{self.count:,} of {count:,} {what}: this machine is too busy")


def jobs_of(log: Path, namespace: str) -> Tail:
    """The Jobs that are made in a namespace."""
    target = f'"resource":"jobs","namespace":"{namespace}"'
    words = ('"verb":"create"', target, '"stage":"ResponseComplete"', '"code":201')
    return Tail(log, *words, without="dryRun=All")


def statuses_of(log: Path, namespace: str) -> Tail:
    """The statuses of KronJobs that are written in a namespace."""
    target = f'"resource":"kronjobs","namespace":"{namespace}"'
    return Tail(log, '"verb":"patch"', target, '"subresource":"status"', '"code":200')


def wait_until_quiet(log: Path, until_s: float) -> None:
    """Wait for a second in which next to nothing is asked for."""
    while True:
        tail = Tail(log)
        time.sleep(1)
        if tail.look() < _QUIET_LINES:
            return
        if time.time() > until_s:
            raise SkippedError("the control plane does not come to rest in time")
