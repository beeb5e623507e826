"""A ledger as JSON values and back. The schema has a version; whatever else arrives is refused."""

from __future__ import annotations

from kron.core.errors import Code, KronError, quoted
from kron.core.instant import from_text, to_text
from kron.engine.actions import Outcome
from kron.engine.ledger import MAX_HANDLED, Handled, Intent, Ledger

SCHEMA = 1


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
    fields = _Fields(
        value, "schema", "schedule", "since", "handled_through", "handled", "starting", "last"
    )
    if fields.value("schema") != SCHEMA:
        raise fields.error("schema", f"the number {SCHEMA}")
    last = fields.value("last")
    return Ledger(
        schedule=fields.text("schedule"),
        since_s=fields.instant("since"),
        handled_through_s=fields.optional_instant("handled_through"),
        handled_s=frozenset(
            _Fields({"handled": item}, "handled").instant("handled")
            for item in fields.list("handled")
        ),
        starting=tuple(map(_intent, fields.list("starting"))),
        last=None if last is None else _handled(last),
    )


def _intent(value: object) -> Intent:
    fields = _Fields(value, "period", "chosen", "run_id")
    return Intent(fields.instant("period"), fields.instant("chosen"), fields.text("run_id"))


def _handled(value: object) -> Handled:
    fields = _Fields(value, "period", "chosen", "outcome", "reason")
    outcome = fields.text("outcome")
    if outcome not in set(Outcome):
        raise fields.error("outcome", f"one of {', '.join(Outcome)}")
    return Handled(
        fields.instant("period"),
        fields.optional_instant("chosen"),
        Outcome(outcome),
        fields.text("reason"),
    )


class _Fields:
    """A JSON object that has exactly these keys."""

    def __init__(self, value: object, *names: str) -> None:
        if not isinstance(value, dict):
            raise _error(f"{_shown(value)} stands where an object with {', '.join(names)} belongs")
        if set(value) != set(names):
            wrong = sorted(map(str, set(value) ^ set(names)))
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
        try:
            return from_text(self.text(name))
        except KronError:
            raise self.error(name, "an instant like 2026-03-01T02:32:20Z") from None

    def optional_instant(self, name: str) -> int | None:
        return None if self.value(name) is None else self.instant(name)

    def error(self, name: str, expected: str) -> KronError:
        return _error(f'"{name}" is {_shown(self.value(name))}, and should be {expected}')


def _optional_text(instant_s: int | None) -> str | None:
    return None if instant_s is None else to_text(instant_s)


def _shown(value: object) -> str:
    """A bounded look at a value: its repr could be as long as the file."""
    return quoted(value) if isinstance(value, str) else f"a {type(value).__name__}"


def _error(message: str) -> KronError:
    return KronError(Code.LEDGER, f"the ledger does not read: {message}")
