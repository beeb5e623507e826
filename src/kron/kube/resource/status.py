"""The status of a KronJob: the operator's memory of it, and what people see with kubectl.

The ledger is the memory. Everything else is for people and can be derived again. The ledger is
that of `kron.engine.storage` with names as Kubernetes has them, which is schema 3. Operators before
that wrote schemas 1 and 2 with the engine's own names, and these are still read.
"""

from __future__ import annotations

from collections.abc import Mapping

from kron.core.duration import format_duration
from kron.core.frozen import Frozen
from kron.core.instant import optional_text, to_text
from kron.engine.ledger import Ledger
from kron.engine.storage import SCHEMA, ledger_from_json, ledger_to_json
from kron.kube.api_object import (
    duration_ns,
    instant_s,
    instants_s,
    integer,
    member,
    objects,
    text,
)
from kron.kube.resource.results import RunResults, results_from_json, results_to_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_FIRST_SCHEMA = 3
"""The first schema of a ledger with the names below: an older operator refuses it as newer."""
_NAMES = {
    "handled_through": "handledThrough",
    "handled_packed": "handledPacked",
    "unit_s": "unitSeconds",
    "run_id": "runID",
}
_ENGINE_NAMES = {name: engine_name for engine_name, name in _NAMES.items()} | _NAMES
"""The names of the engine have no meaning here, so they become names that it does not know."""

MOST_ACTIVE = 1_000
"""More are not listed, but they count."""
MOST_UNANSWERED = 1_000
"""Far more than a KronJob has periods in the time for which one may be doubtful."""


class Condition(Frozen):
    type: str
    status: bool
    reason: str
    message: str
    since_s: int
    generation: int


class ActiveRun(Frozen):
    """A Job that has not finished. A manual one has no period: ''."""

    name: str
    uid: str
    period: str = ""


class Status(Frozen):
    generation: int = 0
    """The generation of the spec that it is about."""
    ledger: Ledger | None = None
    next_nominal_s: int | None = None
    next_chosen_s: int | None = None
    active: tuple[ActiveRun, ...] = ()
    active_count: int = 0
    """Also those that are not listed."""
    unanswered_s: tuple[int, ...] = ()
    """The nominal instants of periods whose Jobs must be kept: a request for one may arrive yet."""
    results: RunResults = RunResults()
    conditions: tuple[Condition, ...] = ()
    suspended: bool | None = None
    """None while the spec is invalid, as for the deadline."""
    deadline_ns: int | None = None
    """The deadline that applies, the spec's own or the operator's default."""


def status_to_json(status: Status) -> dict[str, object]:
    """The status as JSON values. An absent value is null, so that a merge patch removes it."""
    last = None if status.ledger is None else status.ledger.last
    return {
        "observedGeneration": status.generation,
        "suspended": status.suspended,
        "deadline": None if status.deadline_ns is None else format_duration(status.deadline_ns),
        "lastPeriodID": last and to_text(last.nominal_s),
        "lastNominalTime": last and to_text(last.nominal_s),
        "lastChosenTime": last and optional_text(last.chosen_s),
        "lastOutcome": last and last.outcome.value,
        "lastReason": (last and last.reason) or None,
        "nextPeriodID": optional_text(status.next_nominal_s),
        "nextNominalTime": optional_text(status.next_nominal_s),
        "nextChosenTime": optional_text(status.next_chosen_s),
        "active": [_run_to_json(run) for run in status.active],
        "activeCount": status.active_count,
        "unanswered": [to_text(nominal_s) for nominal_s in status.unanswered_s] or None,
        **results_to_json(status.results),
        "ledger": None if status.ledger is None else _ledger_to_json(status.ledger),
        "conditions": [_condition_to_json(condition) for condition in status.conditions],
    }


def status_from_json(obj: object) -> Status:
    """The status of a whole KronJob object.

    A malformed ledger is an error: without it, a period could run twice. A malformed value anywhere
    else is left out, because the operator derives it again.
    """
    status = member(obj, "status")
    ledger, suspended = status.get("ledger"), status.get("suspended")
    return Status(
        generation=integer(status, "observedGeneration"),
        ledger=None if ledger is None else _ledger_from_json(ledger),
        next_nominal_s=instant_s(status, "nextNominalTime"),
        next_chosen_s=instant_s(status, "nextChosenTime"),
        active=tuple(map(_run_from_json, objects(status, "active"))),
        active_count=integer(status, "activeCount"),
        unanswered_s=tuple(instants_s(status, "unanswered")),
        results=results_from_json(status),
        conditions=tuple(map(_condition_from_json, objects(status, "conditions"))),
        suspended=suspended if isinstance(suspended, bool) else None,
        deadline_ns=duration_ns(status, "deadline"),
    )


def _ledger_to_json(ledger: Ledger) -> dict[str, object]:
    """The ledger in the spelling of a status. A merge patch with it removes the engine's."""
    values = ledger_to_json(ledger)
    starting = values["starting"]
    assert isinstance(starting, list)  # it was just made
    return {
        "handled": None,
        "handled_through": None,
        **_renamed(values, _NAMES),
        "schema": SCHEMA,
        "starting": [_renamed(intent, _NAMES) for intent in starting],
        "handledPacked": _renamed(values.get("handled_packed"), _NAMES),
    }


def _ledger_from_json(ledger: object) -> Ledger:
    """The ledger of a status, in the spelling that its schema says; a mixture is refused."""
    if not isinstance(ledger, dict):
        return ledger_from_json(ledger)
    schema = ledger.get("schema")
    # The nulls are those that a merge patch has removed.
    values = {name: value for name, value in ledger.items() if value is not None}
    if type(schema) is int and schema >= _FIRST_SCHEMA:
        values = _renamed(values, _ENGINE_NAMES)
        starting = values.get("starting")
        if isinstance(starting, list):
            values["starting"] = [_renamed(intent, _ENGINE_NAMES) for intent in starting]
        if "handled_packed" in values:
            values["handled_packed"] = _renamed(values["handled_packed"], _ENGINE_NAMES)
    last = values.get("last")
    if isinstance(last, dict):
        values["last"] = {"chosen": None, **last}
    return ledger_from_json({"handled_through": None, "last": None, **values})


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    """An object with other names for some of its members; anything else as it is."""
    if not isinstance(value, dict):
        return value
    return {names.get(name, name): member for name, member in value.items()}


def _run_to_json(run: ActiveRun) -> dict[str, object]:
    period = {"periodID": run.period} if run.period else {}
    return {"name": run.name, "uid": run.uid, **period}


def _run_from_json(values: Mapping[str, object]) -> ActiveRun:
    return ActiveRun(text(values, "name"), text(values, "uid"), text(values, "periodID"))


def _condition_to_json(condition: Condition) -> dict[str, object]:
    return {
        "type": condition.type,
        "status": "True" if condition.status else "False",
        "reason": condition.reason,
        "message": condition.message,
        "lastTransitionTime": to_text(condition.since_s),
        "observedGeneration": condition.generation,
    }


def _condition_from_json(values: Mapping[str, object]) -> Condition:
    return Condition(
        type=text(values, "type"),
        status=values.get("status") == "True",
        reason=text(values, "reason"),
        message=text(values, "message"),
        since_s=instant_s(values, "lastTransitionTime") or 0,
        generation=integer(values, "observedGeneration"),
    )
