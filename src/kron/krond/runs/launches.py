"""Launches: several runs are on the way to their programs at a time.

If krond waited for each of them, the next run would wait as well, beside an idle processor.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from kron.core.duration import SECOND_NS
from kron.krond.host import Host
from kron.krond.process.failure import StartError
from kron.krond.roster.run import PendingRun, Run
from kron.krond.surroundings import Starting

TYPE_CHECKING = False
if TYPE_CHECKING:
    _Launch = tuple[PendingRun, Starting, int, int]
    """With the time of its start, by both clocks."""

MOST_STARTING = 8
"""Each has its descriptors open."""


class Launches:
    """Runs from the line to their programs. Each is reported once: that it was not started, or at
    the end that it has begun."""

    def __init__(
        self,
        host: Host,
        has_begun: Callable[[PendingRun], None],
        not_started: Callable[[PendingRun, StartError], None],
    ) -> None:
        self.processes = 0
        """How many processes are not watched yet, with the loggers."""
        self._host = host
        self._has_begun = has_begun
        self._not_started = not_started
        self._starting: deque[_Launch] = deque()
        self._begun: list[_Launch] = []

    @property
    def runs(self) -> int:
        return len(self._starting) + len(self._begun)

    def start(self, pending: PendingRun) -> None:
        now_ns = self._host.clock.now_ns()
        proof = self._host.store.proof_in_child(pending.run_id)
        try:
            starting = self._host.surroundings.start(pending, proof, now_ns // SECOND_NS)
        except StartError as error:
            self._not_started(pending, error)
            return
        clock = self._host.clock
        self._starting.append((pending, starting, clock.now_ns(), clock.monotonic_ns()))
        self.processes += 1 + len(starting.loggers)
        if len(self._starting) > MOST_STARTING:
            self._confirm_first()

    def confirm(self) -> bool:
        """Wait until each has begun, or has not. False: there was no other to wait for."""
        were_any = bool(self._starting)
        while self._starting:
            self._confirm_first()
        return were_any

    def finish(self) -> list[tuple[Run, list[int]]]:
        """The runs that have begun, each with its loggers."""
        self.confirm()
        begun, self._begun, self.processes = self._begun, [], 0
        boot_id = self._host.processes.boot_id()
        runs = []
        for pending, starting, started_ns, began_ns in begun:
            record = pending.record.replace(
                started_ns=started_ns, pid=starting.pid, boot_id=boot_id
            )
            run = Run(pending.member, record, starting.pid, began_ns, is_adopted=False)
            run.on_end = pending.on_end
            runs.append((run, starting.loggers))
            self._has_begun(pending)
        return runs

    def _confirm_first(self) -> None:
        launch = pending, starting, *_ = self._starting.popleft()
        try:
            starting.confirm()
        except StartError as error:
            self.processes -= 1 + len(starting.loggers)
            self._not_started(pending, error)
        else:
            self._begun.append(launch)
