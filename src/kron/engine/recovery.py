"""What becomes of an intent that was on disk when its adapter died.

Between the intent and the start there is a moment in which nobody knows whether the run began.
The adapter looks for evidence; what follows from it is decided here (DESIGN section 6).
"""

from __future__ import annotations

from enum import StrEnum

from kron.core.frozen import Frozen
from kron.core.policy import Concurrency
from kron.engine.actions import ACTIVE, LATE, SUSPENDED, Outcome
from kron.engine.job import Job
from kron.engine.ledger import Intent, Ledger
from kron.engine.step import latest_start_s

UNKNOWN_RESULT = "it ran, and its result is unknown"


class Evidence(StrEnum):
    """What is left of a run: a live process, the proof that it began, or neither of them.

    After a reboot the proof may have gone with the page cache, so that nothing says that it did
    not run: it is taken to have run.
    """

    ALIVE = "alive"
    BEGAN = "began"
    ABSENT = "absent"
    REBOOTED = "rebooted"


class Adopt(Frozen):
    """The run goes on: watch it again."""

    intent: Intent


class Restart(Frozen):
    """The run never began: start it now, under the same run id."""

    intent: Intent
    replaces: bool


class Conclude(Frozen):
    """The period has ended: tell people how."""

    intent: Intent
    outcome: Outcome
    reason: str


class Recovery(Frozen):
    """The new ledger, to be committed first, and what to do after."""

    ledger: Ledger
    action: Adopt | Restart | Conclude


def recover(
    job: Job,
    ledger: Ledger,
    intent: Intent,
    evidence: Evidence,
    now_s: int,
    *,
    active: bool = False,
    slack_s: int = 0,
) -> Recovery:
    """Settle one of `ledger.starting` by what was found of its run."""
    if evidence is Evidence.ALIVE:
        return Recovery(ledger.with_started(intent.nominal_s), Adopt(intent))
    if evidence is not Evidence.ABSENT:
        action = Conclude(intent, Outcome.EXECUTED, UNKNOWN_RESULT)
        return Recovery(ledger.with_started(intent.nominal_s, UNKNOWN_RESULT), action)
    policy = job.schedule.policy
    if policy.suspend:
        return _given_up(ledger, intent, Outcome.MISSED, SUSPENDED)
    if now_s > latest_start_s(job.schedule, intent.chosen_s, slack_s):
        return _given_up(ledger, intent, Outcome.MISSED, LATE)
    if active and policy.concurrency is Concurrency.FORBID:
        return _given_up(ledger, intent, Outcome.SKIPPED, ACTIVE)
    return Recovery(ledger, Restart(intent, active and policy.concurrency is Concurrency.REPLACE))


def _given_up(ledger: Ledger, intent: Intent, outcome: Outcome, reason: str) -> Recovery:
    ledger = ledger.with_start_given_up(intent.nominal_s, outcome, reason)
    return Recovery(ledger, Conclude(intent, outcome, reason))
