"""A ledger as JSON values and back. The schema has a version; whatever else arrives is refused."""

from __future__ import annotations

from functools import lru_cache

from kron.core.errors import Code, KronError, quoted
from kron.core.instant import from_text, to_text
from kron.engine.actions import Outcome
from kron.engine.ledger import MAX_HANDLED, Handled, Intent, Ledger

SCHEMA = 1

_KEYS = frozenset(("schema", "schedule", "since", "handled_through", "handled", "starting", "last"))
_INTENT_KEYS = frozenset(("period", "chosen", "run_id"))
_HANDLED_KEYS = frozenset(("period", "chosen", "outcome", "reason"))
_OUTCOMES = {str(outcome): outcome for outcome in Outcome}

_instant_s = lru_cache(maxsize=4096)(from_text)
"""`from_text`, which remembers: the jobs of a host share their instants."""


def ledger_to_json(ledger: Ledger) -> dict[str, object]:
    """The ledger as JSON values: instants are RFC3339 text, periods in order."""
    last = ledger.last
    return {
        "schema": SCHEMA,
        "schedule": ledger.schedule,
        "since": to_text(ledger.since_s),
        "handled_through": _optional_text(ledger.handled_through_s),
        "handled": [to_text(nominal_s) for nominal_s in sorted(ledger.handled_s)],
        "starting": [
            {
                "period": to_text(intent.nominal_s),
                "chosen": to_text(intent.chosen_s),
                "run_id": intent.run_id,
            }
            for intent in ledger.starting
        ],
        "last": last
        and {
            "period": to_text(last.nominal_s),
            "chosen": _optional_text(last.chosen_s),
            "outcome": last.outcome.value,
            "reason": last.reason,
        },
    }


def ledger_from_json(value: object) -> Ledger:
    """The inverse of `ledger_to_json`. Anything else is an error that names the field."""
    if (
        isinstance(value, dict)
        and isinstance(value.get("schema"), int)
        and value["schema"] > SCHEMA
    ):
        raise KronError(
            Code.LEDGER_NEWER,
            f"the ledger has schema {value['schema']}, and this version of Kron knows {SCHEMA}",
            fix="run the newer version, or remove the state to begin anew",
        )
    fields = _Fields(value, _KEYS)
    if type(fields.value("schema")) is not int or fields.value("schema") != SCHEMA:
        raise fields.error("schema", f"the number {SCHEMA}")
    last = fields.value("last")
    return Ledger(
        schedule=fields.text("schedule"),
        since_s=fields.instant("since"),
        handled_through_s=fields.optional_instant("handled_through"),
        handled_s=frozenset([_instant(item, "handled") for item in fields.list("handled")]),
        starting=tuple(map(_intent, fields.list("starting"))),
        last=None if last is None else _handled(last),
    )


def _intent(value: object) -> Intent:
    fields = _Fields(value, _INTENT_KEYS)
    return Intent(fields.instant("period"), fields.instant("chosen"), fields.text("run_id"))


def _handled(value: object) -> Handled:
    fields = _Fields(value, _HANDLED_KEYS)
    outcome = _OUTCOMES.get(fields.text("outcome"))
    if outcome is None:
        raise fields.error("outcome", f"one of {', '.join(Outcome)}")
    return Handled(
        fields.instant("period"),
        fields.optional_instant("chosen"),
        outcome,
        fields.text("reason"),
    )


class _Fields:
    """A JSON object that has exactly these keys."""

    def __init__(self, value: object, names: frozenset[str]) -> None:
        if not isinstance(value, dict):
            listed = ", ".join(sorted(names))
            raise _error(f"{_shown(value)} stands where an object with {listed} belongs")
        if value.keys() != names:
            wrong = sorted(map(str, value.keys() ^ names))
            raise _error(f"the fields {', '.join(map(quoted, wrong[:5]))} are missing or unknown")
        self._values = value

    def value(self, name: str) -> object:
        value: object = self._values[name]
        return value

    def text(self, name: str) -> str:
        value = self.value(name)
        if isinstance(value, str):
            return value
        raise self.error(name, "text")

    def list(self, name: str) -> list[object]:
        value = self.value(name)
        if isinstance(value, list) and len(value) <= MAX_HANDLED:
            return value
        raise self.error(name, f"a list of at most {MAX_HANDLED}")

    def instant(self, name: str) -> int:
        return _instant(self._values[name], name)

    def optional_instant(self, name: str) -> int | None:
        value = self._values[name]
        return None if value is None else _instant(value, name)

    def error(self, name: str, expected: str) -> KronError:
        return _mismatch(self.value(name), name, expected)


def _instant(value: object, name: str) -> int:
    if isinstance(value, str):
        try:
            return _instant_s(value)
        except KronError:
            pass
    raise _mismatch(value, name, "an instant like 2026-03-01T02:32:20Z")


def _mismatch(value: object, name: str, expected: str) -> KronError:
    return _error(f'"{name}" is {_shown(value)}, and should be {expected}')


def _optional_text(instant_s: int | None) -> str | None:
    return None if instant_s is None else to_text(instant_s)


def _shown(value: object) -> str:
    """A bounded look at a value: its repr could be as long as the file."""
    return quoted(value) if isinstance(value, str) else f"a {type(value).__name__}"


def _error(message: str) -> KronError:
    return KronError(Code.LEDGER, f"the ledger does not read: {message}")
