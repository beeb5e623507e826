"""The life of a period: what to do now, what to remember, when to look again. Pure."""

from kron.engine.actions import Action, Outcome, Reschedule, Settle, SettleMany, Start
from kron.engine.job import Job
from kron.engine.ledger import Handled, Intent, Ledger
from kron.engine.recovery import (
    Adopt,
    Conclude,
    Evidence,
    Recovery,
    Restart,
    Sighting,
    adopt,
    recover,
)
from kron.engine.step import Plan, Step, latest_start_s, step
from kron.engine.storage import ledger_from_json, ledger_to_json

__all__ = [
    "Action",
    "Adopt",
    "Conclude",
    "Evidence",
    "Handled",
    "Intent",
    "Job",
    "Ledger",
    "Outcome",
    "Plan",
    "Recovery",
    "Reschedule",
    "Restart",
    "Settle",
    "SettleMany",
    "Sighting",
    "Start",
    "Step",
    "adopt",
    "latest_start_s",
    "ledger_from_json",
    "ledger_to_json",
    "recover",
    "step",
]
