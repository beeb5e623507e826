"""Attempts: a run of a period that failed is tried again, if its job has retries left.

Each attempt is a run, with a run id, a proof and an output of its own. The period goes on until the
last of them has ended, and that is its outcome. An attempt that waits is in the job's state as a
run without a process, so the next krond goes on with it.
"""

from __future__ import annotations

from kron.core.duration import SECOND_NS
from kron.core.frozen import Frozen
from kron.core.instant import to_text
from kron.jobs.entry import Entry
from kron.jobs.task import LONGEST_RETRY_DELAY_NS
from kron.krond.state.record import RETRIED, Ended, RunRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kron.krond.roster.run import Run
    from kron.krond.state.past import Past

TAKEN = "a manual run takes its place"


class Attempt(Frozen):
    """What follows the failure of a run: another one, or none."""

    record: RunRecord
    failed: Ended
    """How the attempt before it ended."""
    of: int
    """How many there are at most."""
    delay_ns: int
    latest_s: int | None
    """The last second in which it may start; None: whenever it can."""
    obstacle: str
    """Why it will not start, for people; '' if it will."""

    def __str__(self) -> str:
        number = self.record.attempt  # retries may have been taken away since it was planned
        return f"attempt {number} of {self.of}" if number <= self.of else f"attempt {number}"

    def not_started(self, why: str, now_ns: int) -> Ended:
        """The end of the period if the attempt never starts: it failed as it had before."""
        failed = self.failed
        return self.record.ended(
            f"{self} did not start: {why}",
            ended_ns=now_ns,
            exit_code=failed.exit_code,
            signal=failed.signal,
        )


def following(run: Run, ended: Ended, now_ns: int) -> Attempt | None:
    """The attempt that follows a run; None if it has not failed, or no retries are left."""
    entry, record = run.member.entry, run.record
    is_failure = ended.succeeded is False and not run.is_unwanted
    if not is_failure or record.nominal_s is None or record.attempt > entry.task.retries:
        return None
    return _attempt(entry, record.next_attempt(), ended, now_ns)


def resumed(entry: Entry, record: RunRecord, past: Past, now_ns: int) -> Attempt:
    """The attempt with this record, for which the krond before this one waited."""
    earlier = record.earlier_attempt()
    known = past.ends_of({earlier.run_id})
    failed = known[-1] if known else earlier.ended("", outcome=RETRIED)
    return _attempt(entry, record, failed, now_ns)


def _attempt(entry: Entry, record: RunRecord, failed: Ended, now_ns: int) -> Attempt:
    task, policy = entry.task, entry.schedule.policy
    assert record.chosen_s is not None, "it is of a period that has run"
    delay_ns = task.retry_delay_ns << min(record.attempt - 2, 64)
    delay_ns = min(delay_ns, max(LONGEST_RETRY_DELAY_NS, task.retry_delay_ns))
    if failed.ended_ns is not None:  # krond may have been down since, or the clock was set
        delay_ns = min(max(0, failed.ended_ns + delay_ns - now_ns), delay_ns)
    within_ns = task.retry_within_ns or policy.deadline_ns
    latest_s = record.chosen_s + within_ns // SECOND_NS if within_ns else None
    obstacle = ""
    if policy.suspend:
        obstacle = "the job is suspended"
    elif record.attempt > task.retries + 1:
        obstacle = "the job has no retries left"
    elif latest_s is not None and now_ns + delay_ns >= (latest_s + 1) * SECOND_NS:
        obstacle = f"it would be later than {to_text(latest_s)}"
    return Attempt(record, failed, task.retries + 1, delay_ns, latest_s, obstacle)
