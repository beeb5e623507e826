"""What became of a job's last periods and manual runs, kept as the text that is written.

A busy host holds ten thousand of these, writes a thousand at once and looks at one when somebody
asks. So what is held is the JSON text itself: writing costs nothing, reading a match, and it takes
half of the memory that the values would. `Ended` values are made when someone asks for them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from kron.core.frozen import Frozen
from kron.core.instant import to_text
from kron.krond.state.fields import corrupt, instant, integer, nanoseconds, shown, without_halves
from kron.krond.state.record import MANUAL, Ended
from kron.logs.timestamp import timestamp_text

HISTORY = 10
"""How many are kept."""

COLUMNS = (
    "period",
    "chosen",
    "outcome",
    "reason",
    "run_id",
    "started",
    "ended",
    "exit_code",
    "signal",
)
"""What a row holds, in order."""

_RAN = ("executed", MANUAL)

# Exactly what `_row` writes, except for the rare row with an escape in its reason or with a 29th of
# February: what does not match is read value by value. So a match needs no further look, and
# matching takes a fifth of the time that reading would.
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
"""The pattern of `Past.last` as it is written, in all but rare cases."""
ROWS = rf"\[(?:{_ROW}(?:,{_ROW}){{0,{HISTORY - 1}}})?\]"
"""That of `Past.rows`."""


class Past(Frozen):
    """The latest `HISTORY` that ended, and the last that ran, which may have been before them."""

    rows: str = "[]"
    """A JSON list of rows, oldest first, each a list of `COLUMNS`."""
    last: str = "null"
    """A row, or null."""

    @classmethod
    def of(cls, history: Iterable[Ended] = (), last_run: Ended | None = None) -> Past:
        """The past that these make, oldest first; of more than `HISTORY` the latest are kept."""
        rows = ",".join(map(_row, tuple(history)[-HISTORY:]))
        return cls(f"[{rows}]", "null" if last_run is None else _row(last_run))

    @property
    def history(self) -> tuple[Ended, ...]:
        """What ended, oldest first."""
        return tuple(map(_ended, json.loads(self.rows)))

    @property
    def last_run(self) -> Ended | None:
        """The last run, None if there was none."""
        row = json.loads(self.last)
        return None if row is None else _ended(row)

    def with_ended(self, ended: Ended) -> Past:
        """The past once this has ended too. It is the last run if it was executed or manual."""
        kept = json.loads(self.rows)[1 - HISTORY :]
        row = _row(ended)
        rows = ",".join([*map(_text, kept), row])
        return Past(f"[{rows}]", row if ended.outcome in _RAN else self.last)


def read_past(history: object, last_run: object) -> Past:
    """The past that two JSON values hold, read value by value."""
    if type(history) is not list or len(history) > HISTORY:
        raise corrupt(f'"history" is {shown(history)}, and should be a list of at most {HISTORY}')
    return Past.of(map(_ended, history), None if last_run is None else _ended(last_run))


def optional_text(instant_s: int | None) -> str | None:
    """A whole second, or null."""
    return None if instant_s is None else to_text(instant_s)


def optional_timestamp(time_ns: int | None) -> str | None:
    """An instant with nine digits, or null."""
    return None if time_ns is None else timestamp_text(time_ns)


def _row(ended: Ended) -> str:
    return _text(
        (
            optional_text(ended.nominal_s),
            optional_text(ended.chosen_s),
            ended.outcome,
            ended.reason,
            ended.run_id,
            optional_timestamp(ended.started_ns),
            optional_timestamp(ended.ended_ns),
            ended.exit_code,
            ended.signal,
        )
    )


def _text(row: object) -> str:
    return without_halves(json.dumps(row, separators=(",", ":")))


def _ended(row: object) -> Ended:
    if type(row) is not list or len(row) != len(COLUMNS):
        raise corrupt(f"{shown(row)} stands where a row of {len(COLUMNS)} columns belongs")
    period, chosen, outcome, reason, run_id, started, ended, exit_code, signal = row
    for name, text in zip(COLUMNS[2:5], (outcome, reason, run_id), strict=True):
        if type(text) is not str:
            raise corrupt(f'"{name}" of a row is {shown(text)}, and should be text')
    try:
        return Ended(
            instant(period, "period"),
            instant(chosen, "chosen"),
            outcome,
            reason,
            run_id,
            nanoseconds(started, "started"),
            nanoseconds(ended, "ended"),
            integer(exit_code, "exit_code"),
            integer(signal, "signal"),
        )
    except ValueError as error:
        raise corrupt(str(error)) from None
