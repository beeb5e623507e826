"""How a job's latest periods and manual runs ended, kept as the JSON text of the state file.

A busy host holds ten thousand of these, writes a thousand at once, and looks at one when a user
asks for its status. So krond keeps the text: it takes half of the memory of the values, and a full
history costs 1 us to write instead of 55, and 14 us to read instead of 130 (1.2 s of a start with
10,000 jobs). `Ended` values are made on demand.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable

from kron.core.frozen import Frozen
from kron.engine.actions import Outcome
from kron.krond.state import fields
from kron.krond.state.errors import StateCorrupt
from kron.krond.state.fields import shown
from kron.krond.state.record import MANUAL, Ended, succeeded
from kron.krond.strict_json import without_halves

HISTORY = 10
"""How many rows are kept."""

COLUMNS: fields.Columns = {
    "period": fields.instant,
    "chosen": fields.instant,
    "outcome": fields.text,
    "reason": fields.text,
    "run_id": fields.text,
    "started": fields.nanoseconds,
    "ended": fields.nanoseconds,
    "exit_code": fields.integer,
    "signal": fields.integer,
}

_RAN = ("executed", MANUAL)
_RUN_ID = list(COLUMNS).index("run_id")
_AFTER_RUN_ID = len(COLUMNS) - 1 - _RUN_ID

# Exactly what `_row` writes, except for the rare row with an escape in its reason or with a 29th of
# February. A row that matches needs no further check; one that does not is read value by value.
_DAY = (
    r"(?:19|2[0-9])[0-9]{2}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])"
    r"|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
)
_TIME = rf"{_DAY}T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
_SECOND = rf'(?:null|"{_TIME}Z")'
_NANOSECOND = rf'(?:null|"{_TIME}\.[0-9]{{9}}Z")'
_NUMBER = r"(?:null|0|-?[1-9][0-9]{0,17})"
_ROW = (
    rf'\[{_SECOND},{_SECOND},"[a-z]{{1,32}}","[ !#-\[\]-~]*+",'
    rf'"(?:[A-Za-z0-9_][A-Za-z0-9._-]{{0,99}})?",{_NANOSECOND},{_NANOSECOND},{_NUMBER},{_NUMBER}\]'
)
ROW = rf"null|{_ROW}"
"""The pattern of `Past.last` as it is written, except for rare cases."""
ROWS = rf"\[(?:{_ROW}(?:,{_ROW}){{0,{HISTORY - 1}}})?\]"
"""The pattern of `Past.rows`, likewise."""


class Standing(Frozen):
    """What a monitor asks of a job. Only the rows of its past are looked at."""

    success: Ended | None
    """The last run that succeeded."""
    failed: Ended | None
    """The latest run that has failed since; None if none has."""
    missed: Ended | None
    """The latest period that was missed since."""


class Past(Frozen):
    """The latest `HISTORY` rows, and the last run, which may be older."""

    rows: str = "[]"
    """A JSON list of rows, oldest first, each a list of `COLUMNS`."""
    last: str = "null"
    """A row, or null."""

    @classmethod
    def of(cls, history: Iterable[Ended] = (), last_run: Ended | None = None) -> Past:
        """The past made of these, oldest first. Only the latest `HISTORY` are kept."""
        rows = ",".join(map(_row, tuple(history)[-HISTORY:]))
        return cls(f"[{rows}]", "null" if last_run is None else _row(last_run))

    @property
    def history(self) -> tuple[Ended, ...]:
        """The rows, oldest first."""
        return tuple(map(_ended, json.loads(self.rows)))

    @property
    def latest(self) -> Ended | None:
        rows = json.loads(self.rows)
        return _ended(rows[-1]) if rows else None

    @property
    def standing(self) -> Standing:
        rows, last_run = json.loads(self.rows), json.loads(self.last)
        success = failed = missed = None
        for row in (*reversed(rows), *([last_run] if last_run not in (None, *rows) else ())):
            _, _, outcome, reason, _, *run = row
            has_succeeded = succeeded(outcome, reason, *run)
            if has_succeeded:
                success = row
                break
            if has_succeeded is False:
                failed = failed or row
            elif outcome == Outcome.MISSED:
                missed = missed or row
        return Standing(*(row and _ended(row) for row in (success, failed, missed)))

    @property
    def last_run(self) -> Ended | None:
        row = json.loads(self.last)
        return None if row is None else _ended(row)

    def ends_of(self, run_ids: Collection[str]) -> list[Ended]:
        """The ends of those of these runs that are in the history."""
        rows = json.loads(self.rows)
        return [_ended(row) for row in rows if row[_RUN_ID] in run_ids]

    def ends_with(self, nominal_s: int | None, run_id: str) -> bool:
        """Whether the latest row is of this run or, if that is '', of this period without a run.

        Thousands are asked at a start, so the row of a run is not parsed: from the run id on, a
        comma is between columns.
        """
        if run_id:
            return self.rows.rsplit(",", _AFTER_RUN_ID + 1)[1:2] == [f'"{run_id}"']
        latest = self.latest
        return latest is not None and (latest.nominal_s, latest.run_id) == (nominal_s, "")

    def with_ended(self, ended: Ended) -> Past:
        """The past with one more. It becomes the last run if it was executed or manual."""
        kept = json.loads(self.rows)[1 - HISTORY :]
        row = _row(ended)
        rows = ",".join([*map(_text, kept), row])
        return Past(f"[{rows}]", row if ended.outcome in _RAN else self.last)


def read_past(history: object, last_run: object) -> Past:
    """The past of two JSON values, read value by value."""
    if type(history) is not list or len(history) > HISTORY:
        raise fields.mismatch(history, "history", f"a list of at most {HISTORY}")
    return Past.of(map(_ended, history), None if last_run is None else _ended(last_run))


def _row(ended: Ended) -> str:
    return _text(list(fields.record_to_json(ended, COLUMNS).values()))


def _text(row: object) -> str:
    return without_halves(json.dumps(row, separators=(",", ":")))


def _ended(row: object) -> Ended:
    if type(row) is not list or len(row) != len(COLUMNS):
        raise StateCorrupt(f"it has {shown(row)} where a row of {len(COLUMNS)} columns should be")
    return fields.read_record(Ended, COLUMNS, row)
