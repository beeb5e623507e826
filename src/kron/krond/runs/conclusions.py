"""Conclusions: the ends of runs that this krond has not watched, on record and in the log."""

from __future__ import annotations

from kron.core.duration import SECOND_NS
from kron.engine.actions import Outcome
from kron.krond.host import Host
from kron.krond.roster.attempts import Attempt
from kron.krond.roster.member import HostMember
from kron.krond.runs.supervisor import log_end
from kron.krond.state.record import Ended, RunRecord
from kron.krond.state.writeback import WriteBack
from kron.logs.event import Event


class Conclusions:
    def __init__(self, host: Host, writeback: WriteBack) -> None:
        self._host = host
        self._writeback = writeback

    def of_run(self, job: HostMember, record: RunRecord, reason: str) -> None:
        """A run has ended of which nothing is left."""
        entry, ended = job.entry, record.ended(reason)
        job.remember_end(ended)
        self._writeback.let_go(record.run_id, lambda: log_end(self._host.journal, entry, ended))

    def without_run(
        self, job: HostMember, record: RunRecord, outcome: Outcome, reason: str, active_run: str
    ) -> Ended:
        """A run which was decided on never starts; the ledger knows.

        `active_run` is the run that it was skipped for.
        """
        now_ns = self._host.clock.now_ns()
        ended = record.ended(reason, outcome=outcome.value, ended_ns=now_ns)
        job.remember_end(ended)
        entry = job.entry  # a reload before it is logged changes nothing about it

        def log() -> None:
            if record.period is None:
                log_end(self._host.journal, entry, ended)
            elif outcome is Outcome.SKIPPED:
                self._host.journal.skipped(entry, record.period, active_job=active_run)
            else:
                now_s, chosen_s = now_ns // SECOND_NS, record.chosen_s
                self._host.journal.missed(entry, record.period, now_s, reason, chosen_s=chosen_s)

        self._writeback.then(log)
        return ended

    def without_attempt(self, job: HostMember, attempt: Attempt, why: str) -> None:
        """A period that failed is not tried again, so it has ended with the attempt before."""
        ended = attempt.not_started(why, self._host.clock.now_ns())
        job.remember_end(ended)
        entry, log = job.entry, self._host.journal.of_job
        period, run_id, reason = attempt.record.period, ended.run_id, ended.reason
        self._writeback.then(
            lambda: log(Event.NOT_RETRIED, entry, period=period, run_id=run_id, reason=reason)
        )
