"""A job's state as the JSON of its file, and back. The schema has a version: an older one is
converted, a newer one is refused, and so is anything else.
"""

from __future__ import annotations

import json
import re

from kron.core.errors import KronError
from kron.core.instant import optional_text, to_text
from kron.engine.ledger import Ledger
from kron.engine.storage import SCHEMA as LEDGER_SCHEMA
from kron.engine.storage import ledger_from_json, ledger_to_json
from kron.krond.state import fields
from kron.krond.state.errors import StateCorrupt, StateNewer
from kron.krond.state.fields import shown
from kron.krond.state.past import ROW, ROWS, Past, read_past
from kron.krond.state.record import JobState, RunRecord, check_run_id
from kron.krond.strict_json import without_halves

SCHEMA = 2

NO_SCHEMA = 1_000_000
"""No version will ever be this high: such a number is junk, not a newer version."""
_PRESENT_KEYS = frozenset(("schema", "identity", "boot_id", "ledger", "planned", "active", "seed"))
_KEYS = _PRESENT_KEYS | {"last_run", "history"}
_RUN: fields.Columns = {
    "run_id": fields.text,
    "period": fields.instant,
    "chosen": fields.instant,
    "started": fields.nanoseconds,
    "pid": fields.process_id,
    "ticks": fields.integer,
    "boot_id": fields.text,
}
_SEED_KEYS = frozenset(("strategy", "salt"))
_FLAT_KEYS = (
    "schema", "identity", "last_handled_period", "last_chosen", "last_run", "last_exit_code",
    "active_pid", "seed",
)  # fmt: skip
"""Schema 1, a flat record."""
_EPOCH = "1970-01-01T00:00:00Z"

_LAST_RUN = ',"last_run":'
_HISTORY = ',"history":'
_WRITTEN_PAST = re.compile(rf"{_LAST_RUN}({ROW}){_HISTORY}({ROWS})\}}\n")

_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False, check_circular=False)


def to_json(state: JobState) -> bytes:
    """The state as one line."""
    strategy, salt = state.seed
    line = _ENCODER.encode(
        {
            "schema": SCHEMA,
            "identity": state.identity,
            "boot_id": state.boot_id,
            "ledger": ledger_to_json(state.ledger),
            "planned": [
                (to_text(nominal_s), optional_text(chosen_s))
                for nominal_s, chosen_s in state.planned
            ],
            "active": [fields.record_to_json(run, _RUN) for run in state.active],
            "seed": {"strategy": strategy, "salt": salt},
        }
    )
    # The past is JSON text already. It comes last, where `from_json` looks for it.
    past = state.past
    line = f"{without_halves(line)[:-1]}{_LAST_RUN}{past.last}{_HISTORY}{past.rows}}}\n"
    return line.encode("ascii")


def from_json(data: bytes, texts: dict[str, str] | None = None) -> JobState:
    """The inverse of `to_json`: `StateCorrupt` or `StateNewer` otherwise.

    Equal texts are shared between all states that are read with the same `texts`.
    """
    texts = {} if texts is None else texts
    line = fields.decode(data)
    start = line.rfind(_LAST_RUN)
    match = _WRITTEN_PAST.fullmatch(line, start) if start >= 0 else None
    if match is not None:
        # A quote inside a string has a backslash before it, so these are keys of an object; and if
        # the text up to them is a whole object but for the brace, they are that object's.
        value = fields.parse(line[:start] + "}")
        if _schema(value) == SCHEMA:
            values = fields.object_with(_PRESENT_KEYS, value, "a state")
            return _state(values, Past(match[2], match[1]), texts)
    value = fields.parse(line)
    if _schema(value) == 1:
        value = _from_flat(value)
    values = fields.object_with(_KEYS, value, "a state")
    return _state(values, read_past(values["history"], values["last_run"]), texts)


def run_to_json(run: RunRecord) -> bytes:
    """A run as one line, for its proof."""
    return (_ENCODER.encode(fields.record_to_json(run, _RUN)) + "\n").encode("ascii")


def run_from_json(data: bytes) -> RunRecord:
    """The inverse of `run_to_json`: `StateCorrupt` otherwise."""
    return _run(fields.parse(fields.decode(data)))


def _schema(value: object) -> int:
    if type(value) is not dict:
        raise StateCorrupt(f"it is {shown(value)}, and should be an object")
    schema = value.get("schema")
    if type(schema) is not int or not 0 < schema < NO_SCHEMA:
        raise StateCorrupt(
            f'"schema" is {shown(schema)}, and should be a number from 1 to {SCHEMA}'
        )
    if schema > SCHEMA:
        raise StateNewer("", schema, SCHEMA)
    return schema


def _state(values: dict[str, object], past: Past, texts: dict[str, str]) -> JobState:
    identity = fields.text(values["identity"], "identity")
    seed = fields.object_with(_SEED_KEYS, values["seed"], "a seed")
    try:
        return JobState(
            texts.get(identity, identity),
            _ledger(values["ledger"], texts),
            _once(fields.text(values["boot_id"], "boot_id"), texts),
            tuple(map(_planned, fields.items(values["planned"], "planned"))),
            tuple(map(_run, fields.items(values["active"], "active"))),
            (
                _once(fields.text(seed["strategy"], "strategy"), texts),
                _once(fields.text(seed["salt"], "salt"), texts),
            ),
            past,
        )
    except ValueError as error:
        raise StateCorrupt(str(error)) from None


def _once(text: str, texts: dict[str, str]) -> str:
    """The shared text that is equal to this one."""
    return texts.setdefault(text, text)


def _ledger(value: object, texts: dict[str, str]) -> Ledger:
    if type(value) is dict:
        schema = value.get("schema")
        if type(schema) is not int or schema >= NO_SCHEMA:
            raise StateCorrupt(f'"schema" of the ledger is {shown(schema)}')
        schedule = value.get("schedule")
        if type(schedule) is str:
            value["schedule"] = _once(schedule, texts)
        if schema > LEDGER_SCHEMA:
            raise StateNewer("", schema, LEDGER_SCHEMA)
    try:
        ledger = ledger_from_json(value)
    except KronError as error:
        raise StateCorrupt(error.message) from None
    for intent in ledger.starting:
        check_run_id(intent.run_id)  # it becomes the name of a file
    return ledger


def _planned(value: object) -> tuple[int, int | None]:
    if type(value) is not list or len(value) != 2 or value[0] is None:
        raise StateCorrupt('"planned" is not a list of pairs: a period and its chosen time or null')
    nominal_s = fields.instant(value[0], "planned")
    assert nominal_s is not None
    return nominal_s, fields.instant(value[1], "planned")


def _run(value: object) -> RunRecord:
    values = fields.object_with(_RUN, value, "a run")
    return fields.read_record(RunRecord, _RUN, [values[name] for name in _RUN])


def _from_flat(value: object) -> dict[str, object]:
    """Schema 1, the flat record, as schema 2.

    It does not have the schedule. With an empty one the engine takes the job for edited: periods
    that were handled stay handled, and nothing from before is owed. Nor does it have the start
    time, the boot or the run id of the active process, which therefore gets a new run id.
    """
    flat = fields.object_with(_FLAT_KEYS, value, "a state of schema 1")
    period, chosen, started = flat["last_handled_period"], flat["last_chosen"], flat["last_run"]
    if type(started) is str and len(started) == len(_EPOCH):  # it may be in whole seconds
        started = f"{started[:-1]}.000000000Z"
    fields.instant(period, "last_handled_period")
    fields.instant(chosen, "last_chosen")
    fields.nanoseconds(started, "last_run")
    exit_code = fields.integer(flat["last_exit_code"], "last_exit_code")
    pid = fields.integer(flat["active_pid"], "active_pid")
    last_run = [period, chosen, "executed", "", "", started, None, exit_code, None]
    run = [f"schema1-{pid}", period, chosen, started, pid, None, ""]
    return {
        "schema": 2,
        "identity": flat["identity"],
        "boot_id": "",
        "ledger": {
            "schema": 1,
            "schedule": "",
            "since": _EPOCH if period is None else period,
            "handled_through": period,
            "handled": [],
            "starting": [],
            "last": None,
        },
        "planned": [],
        "active": [] if pid is None else [dict(zip(_RUN, run, strict=True))],
        "seed": {"strategy": "", "salt": ""} if flat["seed"] is None else flat["seed"],
        "last_run": None if started is None else last_run,
        "history": [],
    }
