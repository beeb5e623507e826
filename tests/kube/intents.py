"""The intents of KronJobs, as a step makes them."""

from __future__ import annotations

from kron.core.decision import decide_at
from kron.engine.ledger import Intent
from kron.kube.resource.kronjob import KronJob


def intent_of(kronjob: KronJob, nominal_s: int) -> Intent:
    """The intent for this period."""
    decision = decide_at(kronjob.schedule, kronjob.identity, nominal_s)
    assert decision.chosen_s is not None
    run_id = kronjob.job.run_id(decision.period_id)
    return Intent(nominal_s, decision.chosen_s, run_id, kronjob.job.text)
