"""Fresh runs: logged, watched and noted after they were started, so that no start waits for that.

Their proofs have their processes from then on. A second later they are stored, all of them
together; one that ends sooner is stored then, so a short run costs no write.
"""

from __future__ import annotations

from collections.abc import Iterable

from kron.core.duration import SECOND_NS
from kron.core.instant import optional_text
from kron.krond.host import Host
from kron.krond.roster.member import HostMember
from kron.krond.roster.run import Run
from kron.krond.runs.supervisor import Supervisor
from kron.krond.state.errors import PersistenceError
from kron.krond.state.record import RunRecord
from kron.krond.state.writeback import WriteBack
from kron.logs.event import Event, Level

STORED_AFTER_NS = SECOND_NS


class FreshRuns:
    def __init__(self, host: Host, writeback: WriteBack, supervisor: Supervisor) -> None:
        self._host = host
        self._writeback = writeback
        self._supervisor = supervisor
        self._runs: list[Run] = []

    def announce(self, runs: Iterable[tuple[HostMember, RunRecord]]) -> None:
        """Let people know of starts. The runs are noted after that, so no krond can miss one."""
        self._host.notices.started((job.entry, record) for job, record in runs)

    def announce_found(self, job: HostMember, record: RunRecord) -> None:
        """The same for a run that was found, if it was not noted: its krond may have been killed
        before it let anybody know."""
        if record.pid is None and self._host.store.noted_run(record.run_id) is None:
            self.announce([(job, record)])

    def take_up(self, run: Run, loggers: Iterable[int]) -> None:
        """Log a run that was started just now, watch it, and note which process it is."""
        self._host.journal.of_job(
            Event.STARTED,
            run.member.entry,
            at_ns=run.record.started_ns,
            period=run.record.period,
            run_id=run.run_id,
            pid=run.pid,
            chosen=optional_text(run.record.chosen_s),
        )
        self._supervisor.watch(run)
        for logger in loggers:
            self._supervisor.reap(logger)
        run.record = run.record.replace(ticks=self._host.processes.start_ticks(run.pid))
        try:
            self._host.store.note_run(run.record)
        except PersistenceError as error:
            # The next krond would find it by its environment, so it is as good as noted.
            self._host.journal.error("note the run", str(error), run.member.entry, level=Level.WARN)
        self._store_later(run)

    def _store_later(self, run: Run) -> None:
        if not self._runs:
            self._host.timers.after(STORED_AFTER_NS, self._store)
        self._runs.append(run)

    def _store(self) -> None:
        runs, self._runs = self._runs, []
        for run in runs:
            if run in run.member.runs:
                self._writeback.changed(run.member)
