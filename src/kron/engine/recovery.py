"""What becomes of the intents that an adapter left behind when it died.

Between the intent and the start there is a moment in which a crash hides whether the run began.
The adapter looks for what is left of the job's runs; what follows from it is decided here, for all
intents of a job together, since one run may take the place of another.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from kron.core.frozen import Frozen
from kron.core.policy import Concurrency
from kron.engine.actions import ACTIVE, LATE, REPLACED, SUSPENDED, Outcome
from kron.engine.job import Job
from kron.engine.ledger import Handled, Intent, Ledger
from kron.engine.step import latest_start_s

UNKNOWN_RESULT = "it ran, and its result is unknown"


class Evidence(StrEnum):
    """What is left of a run. An intent of whose run nothing is found never began.

    After a reboot the proof may have gone with the page cache, so nothing says that the run did
    not begin: it counts as one that did.
    """

    ALIVE = "alive"
    ENDED = "ended"
    """It has ended, and what is left says how."""
    BEGAN = "began"
    """It left the proof that it began, and nothing that says how it ended."""
    REBOOTED = "rebooted"
    STARTING = "starting"
    """This adapter is about to start it: its intent stays."""


_ACTIVE = (Evidence.ALIVE, Evidence.STARTING)


class Sighting(Frozen):
    """A run of the job, as the adapter found it. A manual run has no period."""

    run_id: str
    nominal_s: int | None
    chosen_s: int | None
    evidence: Evidence


class Adopt(Frozen):
    """The run is known from now on: watch it if it goes on."""

    run: Sighting


class Restart(Frozen):
    """The run never began: start it now, under the same run id. Stop active ones if `replaces`."""

    intent: Intent
    replaces: bool


class Conclude(Frozen):
    """The period has ended: tell people how. `yields_to` is the run that it was skipped for."""

    intent: Intent
    outcome: Outcome
    reason: str
    yields_to: str = ""


class Recovery(Frozen):
    """The new ledger, to be committed first, and what to do after."""

    ledger: Ledger
    actions: tuple[Adopt | Restart | Conclude, ...]


def recover(
    job: Job, ledger: Ledger, found: Sequence[Sighting], now_s: int, *, slack_s: int = 0
) -> Recovery:
    """Decide about every intent of `ledger` by what was found, which is all runs that are known."""
    actions: list[Adopt | Restart | Conclude] = []
    for run in found:
        known, ledger = ledger, adopt(ledger, run)
        if ledger is not known:
            actions.append(Adopt(run))
    by_period = {run.nominal_s: run for run in found}
    absent = [intent for intent in ledger.starting if intent.nominal_s not in by_period]
    for intent in ledger.starting:
        sighting = by_period.get(intent.nominal_s)
        if sighting is not None and sighting.evidence in (Evidence.BEGAN, Evidence.REBOOTED):
            ledger = ledger.with_started(intent.nominal_s, UNKNOWN_RESULT)
            actions.append(Conclude(intent, Outcome.EXECUTED, UNKNOWN_RESULT))
    policy = job.schedule.policy
    startable = [
        intent
        for intent in absent
        if not policy.suspend and now_s <= latest_start_s(job.schedule, intent.chosen_s, slack_s)
    ]
    active = [run.run_id for run in found if run.evidence in _ACTIVE]
    for intent in absent:
        if intent not in startable:
            reason = SUSPENDED if policy.suspend else LATE
            action: Restart | Conclude = Conclude(intent, Outcome.MISSED, reason)
        else:
            action = _startable(policy.concurrency, intent, (*found, *startable), active)
        if isinstance(action, Restart):
            active.append(intent.run_id)
        else:
            ledger = ledger.with_start_given_up(intent.nominal_s, action.outcome, action.reason)
        actions.append(action)
    return Recovery(ledger, tuple(actions))


def adopt(ledger: Ledger, run: Sighting) -> Ledger:
    """The ledger once a run is known that goes on or has ended: its period is executed.

    The same ledger if it knew that, or if the run has no period.
    """
    if run.nominal_s is None or run.evidence not in (Evidence.ALIVE, Evidence.ENDED):
        return ledger
    if not ledger.is_handled(run.nominal_s):
        last = Handled(run.nominal_s, run.chosen_s, Outcome.EXECUTED)
        return ledger.with_handled((run.nominal_s,)).replace(last=last)
    is_starting = any(intent.nominal_s == run.nominal_s for intent in ledger.starting)
    return ledger.with_started(run.nominal_s) if is_starting else ledger


def _startable(
    concurrency: Concurrency,
    intent: Intent,
    runs: Sequence[Intent | Sighting],
    active: Sequence[str],
) -> Restart | Conclude:
    """What becomes of an intent that never began and is in time. `runs` has it and all others."""
    if concurrency is Concurrency.REPLACE:
        latest, run_id = max((_due_order(run), run.run_id) for run in runs)
        if latest > _due_order(intent):
            return Conclude(intent, Outcome.SKIPPED, REPLACED, run_id)
        return Restart(intent, replaces=bool(active))
    if concurrency is Concurrency.FORBID and active:
        return Conclude(intent, Outcome.SKIPPED, ACTIVE, active[-1])
    return Restart(intent, replaces=False)


def _due_order(run: Intent | Sighting) -> tuple[int, int]:
    """By when it came due, as steps take periods. A manual run comes before every period."""
    if run.nominal_s is None:
        return -1, -1
    return run.nominal_s if run.chosen_s is None else run.chosen_s, run.nominal_s
