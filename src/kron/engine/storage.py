"""A ledger as JSON values and back. The schema has a version; anything else is refused.

A ledger is written in the oldest schema that can hold it, so that an older version of Kron reads
it where it can, and refuses it as newer where it would lose something.
"""

from __future__ import annotations

from functools import lru_cache

from kron.core.errors import Code, KronError, quoted
from kron.core.instant import from_text, optional_text, to_text
from kron.engine.actions import Outcome
from kron.engine.ledger import MAX_HANDLED, Handled, Intent, Ledger
from kron.engine.packing import PackedInstants, pack, unpack

SCHEMA = 3
"""Schema 3 may have many handled periods packed."""
INTENT_SCHEMA = 2
"""Schema 2 has the schedule of each intent. In schema 1 an intent was made by the ledger's own."""
PLAIN_SCHEMA = 1
"""The schema of a ledger without intents."""

MOST_LISTED = 32
"""More handled periods than that are packed; this many people can read."""

_KEYS = frozenset(("schema", "schedule", "since", "handled_through", "handled", "starting", "last"))
_PACKED = "handled_packed"
_KEYS_IF_PACKED = _KEYS - {"handled"} | {_PACKED}
_PACKED_KEYS = frozenset(("count", "first", "unit_s", "gaps"))
_INTENT_KEYS = frozenset(("period", "chosen", "run_id", "schedule"))
_HANDLED_KEYS = frozenset(("period", "chosen", "outcome", "reason"))
_OUTCOMES = {str(outcome): outcome for outcome in Outcome}

_instant_s = lru_cache(maxsize=4096)(from_text)
"""`from_text`, which remembers: the jobs of a host share their instants."""


def ledger_to_json(ledger: Ledger) -> dict[str, object]:
    """The ledger as JSON values: instants are RFC3339 text, periods in order."""
    last = ledger.last
    is_plain = all(intent.schedule == ledger.schedule for intent in ledger.starting)
    schema = PLAIN_SCHEMA if is_plain else INTENT_SCHEMA
    is_packed = len(ledger.handled_s) > MOST_LISTED
    return {
        "schema": SCHEMA if is_packed else schema,
        "schedule": ledger.schedule,
        "since": to_text(ledger.since_s),
        "handled_through": optional_text(ledger.handled_through_s),
        **(_packed_to_json if is_packed else _listed_to_json)(ledger.handled_s),
        "starting": [
            {
                "period": to_text(intent.nominal_s),
                "chosen": to_text(intent.chosen_s),
                "run_id": intent.run_id,
                **({} if intent.schedule == ledger.schedule else {"schedule": intent.schedule}),
            }
            for intent in ledger.starting
        ],
        "last": last
        and {
            "period": to_text(last.nominal_s),
            "chosen": optional_text(last.chosen_s),
            "outcome": last.outcome.value,
            "reason": last.reason,
        },
    }


def ledger_from_json(value: object) -> Ledger:
    """The inverse of `ledger_to_json`. Anything else is an error that names the field."""
    schema = value.get("schema") if isinstance(value, dict) else None
    if isinstance(schema, int) and schema > SCHEMA:
        message = f"the ledger has schema {schema}, and this version of Kron knows {SCHEMA}"
        fix = "run the newer version, or remove the state to start without a past"
        raise KronError(Code.LEDGER_NEWER, message, fix)
    is_packed = schema == SCHEMA and isinstance(value, dict) and _PACKED in value
    fields = _Fields(value, _KEYS_IF_PACKED if is_packed else _KEYS)
    if type(schema) is not int or schema < PLAIN_SCHEMA:
        raise _mismatch(schema, "schema", f"a number from {PLAIN_SCHEMA} to {SCHEMA}")
    last, schedule = fields.values["last"], fields.text("schedule")
    return Ledger(
        schedule=schedule,
        since_s=fields.instant("since"),
        handled_through_s=fields.optional_instant("handled_through"),
        handled_s=_packed(fields.values[_PACKED]) if is_packed else _listed(fields),
        starting=tuple([_intent(item, schedule) for item in fields.list("starting")]),
        last=None if last is None else _handled(last),
    )


def _listed_to_json(handled_s: frozenset[int]) -> dict[str, object]:
    return {"handled": [to_text(nominal_s) for nominal_s in sorted(handled_s)]}


def _packed_to_json(handled_s: frozenset[int]) -> dict[str, object]:
    packed = pack(handled_s)
    return {
        _PACKED: {
            "count": packed.count,
            "first": to_text(packed.first_s),
            "unit_s": packed.unit_s,
            "gaps": packed.gaps,
        }
    }


def _listed(fields: _Fields) -> frozenset[int]:
    return frozenset([_instant(item, "handled") for item in fields.list("handled")])


def _packed(value: object) -> frozenset[int]:
    fields = _Fields(value, _PACKED_KEYS)
    packed = PackedInstants(
        fields.integer("count"),
        fields.instant("first"),
        fields.integer("unit_s"),
        fields.text("gaps"),
    )
    try:
        return unpack(packed, MAX_HANDLED)
    except ValueError as error:
        raise _error(f'"{_PACKED}": {error}') from None


def _intent(value: object, schedule: str) -> Intent:
    """An intent. It names its schedule only if the job was edited since it was decided on."""
    if isinstance(value, dict):
        value = {"schedule": schedule} | value
    fields = _Fields(value, _INTENT_KEYS)
    return Intent(
        fields.instant("period"),
        fields.instant("chosen"),
        fields.text("run_id"),
        fields.text("schedule"),
    )


def _handled(value: object) -> Handled:
    fields = _Fields(value, _HANDLED_KEYS)
    outcome = _OUTCOMES.get(fields.text("outcome"))
    if outcome is None:
        raise _mismatch(fields.text("outcome"), "outcome", f"one of {', '.join(Outcome)}")
    return Handled(
        fields.instant("period"), fields.optional_instant("chosen"), outcome, fields.text("reason")
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
        self.values: dict[str, object] = value

    def text(self, name: str) -> str:
        value = self.values[name]
        if isinstance(value, str):
            return value
        raise _mismatch(value, name, "text")

    def list(self, name: str) -> list[object]:
        value = self.values[name]
        if isinstance(value, list) and len(value) <= MAX_HANDLED:
            return value
        raise _mismatch(value, name, f"a list of at most {MAX_HANDLED}")

    def integer(self, name: str) -> int:
        value = self.values[name]
        if type(value) is int:
            return value
        raise _mismatch(value, name, "a whole number")

    def instant(self, name: str) -> int:
        return _instant(self.values[name], name)

    def optional_instant(self, name: str) -> int | None:
        value = self.values[name]
        return None if value is None else _instant(value, name)


def _instant(value: object, name: str) -> int:
    if isinstance(value, str):
        try:
            return _instant_s(value)
        except KronError:
            pass
    raise _mismatch(value, name, "an instant like 2026-03-01T02:32:20Z")


def _mismatch(value: object, name: str, expected: str) -> KronError:
    return _error(f'"{name}" is {_shown(value)}, and should be {expected}')


def _shown(value: object) -> str:
    """A bounded look at a value: its repr could be as long as the file."""
    return quoted(value) if isinstance(value, str) else f"a {type(value).__name__}"


def _error(message: str) -> KronError:
    return KronError(Code.LEDGER, f"the ledger does not read: {message}")
