"""Fresh runs: stored with their processes a second after they started, all of them together.

One that ends sooner is stored then; until then its proof has the process. So no start waits for
that, and a short run costs no write.
"""

from __future__ import annotations

from kron.core.duration import SECOND_NS
from kron.krond.host import Host
from kron.krond.run import Run
from kron.krond.state.writeback import WriteBack

STORED_AFTER_NS = SECOND_NS


class FreshRuns:
    def __init__(self, host: Host, writeback: WriteBack) -> None:
        self._host = host
        self._writeback = writeback
        self._runs: list[Run] = []

    def add(self, run: Run) -> None:
        if not self._runs:
            due_ns = self._host.clock.monotonic_ns() + STORED_AFTER_NS
            self._host.timers.at(due_ns, self._store)
        self._runs.append(run)

    def _store(self) -> None:
        runs, self._runs = self._runs, []
        for run in runs:
            if run in run.member.runs:
                self._writeback.changed(run.member)
