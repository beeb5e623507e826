"""A job's state as the JSON of its file, and back. The schema has a version; older ones are
brought up to date one version at a time, newer ones are refused, and so is whatever else arrives.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress

from kron.core.errors import KronError
from kron.core.instant import to_text
from kron.engine.actions import Outcome
from kron.engine.ledger import Handled, Ledger
from kron.engine.storage import SCHEMA as LEDGER_SCHEMA
from kron.engine.storage import ledger_from_json, ledger_to_json
from kron.krond.state.errors import StateNewer
from kron.krond.state.fields import Fields, corrupt, instant, parse, shown, without_halves
from kron.krond.state.migration import MIGRATIONS
from kron.krond.state.past import ROW, ROWS, Past, optional_text, optional_timestamp, read_past
from kron.krond.state.record import JobState, RunRecord, check_run_id
from kron.logs.timestamp import instant_s

SCHEMA = 2

_NO_SCHEMA = 1_000_000
"""No version will ever be this high: such a number is junk, not a newer version's."""
_PRESENT_KEYS = frozenset(("schema", "identity", "boot_id", "ledger", "planned", "active", "seed"))
_KEYS = _PRESENT_KEYS | {"last_run", "history"}
_RUN_KEYS = frozenset(("run_id", "period", "chosen", "started", "pid", "ticks", "boot_id"))
_SEED_KEYS = frozenset(("strategy", "salt"))
_LAST_RUN = ',"last_run":'
_HISTORY = ',"history":'
_WRITTEN_PAST = re.compile(rf"{_LAST_RUN}({ROW}){_HISTORY}({ROWS})\}}\n")

# What stands before the past as `to_json` writes it where nothing is going on, at most one period
# is planned, and no text needs an escape: nearly every state of a start. What does not match, or
# names an instant that does not exist, is read value by value.
_TEXT = r'"([ !#-\[\]-~]*+)"'
_INSTANT = r'"([0-9TZ:-]{20})"'
_OUTCOMES = {outcome.value: outcome for outcome in Outcome}
_WRITTEN_PRESENT = re.compile(
    rf'\{{"schema":{SCHEMA},"identity":{_TEXT},"boot_id":{_TEXT},'
    rf'"ledger":\{{"schema":{LEDGER_SCHEMA},"schedule":{_TEXT},"since":{_INSTANT},'
    rf'"handled_through":(?:null|{_INSTANT}),"handled":\[\],"starting":\[\],'
    rf'"last":(?:null|\{{"period":{_INSTANT},"chosen":(?:null|{_INSTANT}),'
    rf'"outcome":"({"|".join(_OUTCOMES)})","reason":{_TEXT}\}})\}},'
    rf'"planned":\[(?:\[{_INSTANT},(?:null|{_INSTANT})\])?\],"active":\[\],'
    rf'"seed":\{{"strategy":{_TEXT},"salt":{_TEXT}\}}'
)

_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False, check_circular=False)


def to_json(state: JobState) -> bytes:
    """The state as one line."""
    strategy, salt = state.seed
    text = _ENCODER.encode(
        {
            "schema": SCHEMA,
            "identity": state.identity,
            "boot_id": state.boot_id,
            "ledger": ledger_to_json(state.ledger),
            "planned": [
                (to_text(nominal_s), optional_text(chosen_s))
                for nominal_s, chosen_s in state.planned
            ],
            "active": [_run_values(run) for run in state.active],
            "seed": {"strategy": strategy, "salt": salt},
        }
    )
    # The past is text already. It goes last, where `from_json` looks for it.
    past = state.past
    text = f"{without_halves(text)[:-1]}{_LAST_RUN}{past.last}{_HISTORY}{past.rows}}}\n"
    return text.encode("ascii")


def from_json(data: bytes, texts: dict[str, str] | None = None) -> JobState:
    """The inverse of `to_json`: `StateCorrupt` or `StateNewer` otherwise.

    Of `texts`, equal ones are shared between all states that are read with it.
    """
    texts = {} if texts is None else texts
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise corrupt(f"at byte {error.start + 1:,} it is not UTF-8") from None
    start = text.rfind(_LAST_RUN)
    match = _WRITTEN_PAST.fullmatch(text, start) if start >= 0 else None
    if match is not None:
        # A quote inside a string has a backslash before it, so these are keys of an object; and if
        # the text up to them is a whole object but for the brace, they are that object's.
        past = Past(match[2], match[1])
        if (present := _WRITTEN_PRESENT.fullmatch(text, 0, start)) is not None:
            with suppress(KronError, ValueError):  # to be said by what follows
                return _written_state(present, past, texts)
        value = parse(text[:start] + "}")
        if _schema(value) == SCHEMA:
            return _state(Fields(value, _PRESENT_KEYS, "a state"), past, texts)
    value = parse(text)
    for schema in range(_schema(value), SCHEMA):
        value = MIGRATIONS[schema](value)
    fields = Fields(value, _KEYS, "a state")
    return _state(fields, read_past(fields.value("history"), fields.value("last_run")), texts)


def run_to_json(run: RunRecord) -> bytes:
    """A run as one line, for its proof."""
    return (_ENCODER.encode(_run_values(run)) + "\n").encode("ascii")


def run_from_json(data: bytes) -> RunRecord:
    """The inverse of `run_to_json`: `StateCorrupt` otherwise."""
    try:
        text = data.decode("ascii")
    except UnicodeDecodeError:
        raise corrupt("it is not ASCII") from None
    return _run(parse(text), {})


def _schema(value: object) -> int:
    if type(value) is not dict:
        raise corrupt(f"{shown(value)} stands where an object belongs")
    schema = value.get("schema")
    if type(schema) is not int or not 0 < schema < _NO_SCHEMA:
        raise corrupt(f'"schema" is {shown(schema)}, and should be a number from 1 to {SCHEMA}')
    if schema > SCHEMA:
        raise StateNewer("", schema, SCHEMA)
    return schema


def _written_state(present: re.Match[str], past: Past, texts: dict[str, str]) -> JobState:
    """The same as `_state`, in a third of the time."""
    (
        identity, boot_id, schedule, since, through, period, chosen, outcome, reason, nominal,
        planned, strategy, salt,
    ) = present.groups()  # fmt: skip
    last = None
    if period is not None:
        last = Handled(instant_s(period), _optional_s(chosen), _OUTCOMES[outcome], reason)
    ledger = Ledger(_once(schedule, texts), instant_s(since), _optional_s(through), last=last)
    return JobState(
        texts.get(identity, identity),
        ledger,
        _once(boot_id, texts),
        ((instant_s(nominal), _optional_s(planned)),) if nominal else (),
        (),
        (_once(strategy, texts), _once(salt, texts)),
        past,
    )


def _optional_s(text: str | None) -> int | None:
    return None if text is None else instant_s(text)


def _state(fields: Fields, past: Past, texts: dict[str, str]) -> JobState:
    identity = fields.text("identity")
    seed = Fields(fields.value("seed"), _SEED_KEYS, "a seed")
    try:
        return JobState(
            texts.get(identity, identity),
            _ledger(fields.value("ledger"), texts),
            _once(fields.text("boot_id"), texts),
            tuple(map(_planned, fields.items("planned"))),
            tuple([_run(run, texts) for run in fields.items("active")]),
            (_once(seed.text("strategy"), texts), _once(seed.text("salt"), texts)),
            past,
        )
    except ValueError as error:
        raise corrupt(str(error)) from None


def _once(text: str, texts: dict[str, str]) -> str:
    """The text that is equal to this one and was there first."""
    return texts.setdefault(text, text)


def _ledger(value: object, texts: dict[str, str]) -> Ledger:
    if type(value) is dict:
        schema = value.get("schema")
        if type(schema) is not int or schema >= _NO_SCHEMA:
            raise corrupt(f'"schema" of the ledger is {shown(schema)}')
        schedule = value.get("schedule")
        if type(schedule) is str:
            value["schedule"] = _once(schedule, texts)
        if schema > LEDGER_SCHEMA:
            raise StateNewer("", schema, LEDGER_SCHEMA)
    try:
        ledger = ledger_from_json(value)
    except KronError as error:
        raise corrupt(error.message) from None
    for intent in ledger.starting:
        check_run_id(intent.run_id)  # it becomes the name of a file
    return ledger


def _planned(value: object) -> tuple[int, int | None]:
    if type(value) is not list or len(value) != 2 or value[0] is None:
        raise corrupt('"planned" is not a list of pairs: a period and its chosen time or null')
    nominal_s = instant(value[0], "planned")
    assert nominal_s is not None
    return nominal_s, instant(value[1], "planned")


def _run(value: object, texts: dict[str, str]) -> RunRecord:
    fields = Fields(value, _RUN_KEYS, "a run")
    pid, ticks = fields.integer("pid"), fields.integer("ticks")
    if pid is not None and not 0 < pid < 2**31:
        raise fields.error("pid", "null or a process id")  # kill() takes 0 and less as groups
    try:
        return RunRecord(
            fields.text("run_id"),
            fields.instant("period"),
            fields.instant("chosen"),
            fields.nanoseconds("started"),
            pid,
            ticks,
            _once(fields.text("boot_id"), texts),
        )
    except ValueError as error:
        raise corrupt(str(error)) from None


def _run_values(run: RunRecord) -> dict[str, object]:
    return {
        "run_id": run.run_id,
        "period": optional_text(run.nominal_s),
        "chosen": optional_text(run.chosen_s),
        "started": optional_timestamp(run.started_ns),
        "pid": run.pid,
        "ticks": run.ticks,
        "boot_id": run.boot_id,
    }
