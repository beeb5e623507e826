"""What a step asks its adapter to do, once the new ledger is safe, and why periods end."""

from __future__ import annotations

from enum import StrEnum

from kron.core.decision import Decision
from kron.core.frozen import Frozen


class Outcome(StrEnum):
    """How a period ends. There is no way from one to another."""

    EXECUTED = "executed"
    SKIPPED = "skipped"
    MISSED = "missed"
    UNSCHEDULABLE = "unschedulable"


LATE = "the deadline has passed"
SUPERSEDED = "a later period is due as well, and only the latest is caught up with"
OVERDUE = "they were overdue, and at most the latest is caught up with"
REPLACED = "a later run replaced it before it could start"
ACTIVE = "an earlier run is still active and concurrency is forbid"
GIVEN_UP_BEFORE = "an earlier leader gave it up"
SUSPENDED = "the job was suspended before the run could start"


class Start(Frozen):
    """Start the period's run; its intent is in the ledger. Stop active runs first if `replaces`."""

    decision: Decision
    run_id: str
    replaces: bool


class Settle(Frozen):
    """Nothing to start: the period has ended, and the ledger has it. Tell people why."""

    decision: Decision
    outcome: Outcome
    reason: str


class SettleMany(Frozen):
    """Many or old periods were missed, and one line says so: the first and last nominal."""

    count: int
    first_s: int
    last_s: int
    reason: str = OVERDUE


class Reschedule(Frozen):
    """An edit moved a period that had not ended. `lapsed`: to a time already past, so not run."""

    decision: Decision
    previous_chosen_s: int | None
    lapsed: bool


Action = Start | Settle | SettleMany | Reschedule
