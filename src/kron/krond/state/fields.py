"""The values of a state file, each of its type: anything else is `StateCorrupt`.

A record is written as a row of columns, and each column is read and written by its type. Every
error says what is wrong and where.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from kron.core.errors import KronError, quoted
from kron.core.frozen import Frozen
from kron.core.instant import optional_text
from kron.krond.state.errors import StateCorrupt
from kron.krond.strict_json import StrictJsonError, parse_json
from kron.logs.timestamp import instant_s, read_timestamp, timestamp_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    _Record = TypeVar("_Record", bound=Frozen)

MAX_BYTES = 8 << 20
"""The largest state file: a full ledger, ten thousand planned periods and as many runs."""

_MAX_INTEGER = 2**63
_NANOSECONDS_TEXT = len("2026-03-01T02:32:20.001234567Z")


def mismatch(value: object, name: str, expected: str) -> StateCorrupt:
    return StateCorrupt(f'"{name}" is {shown(value)}, and should be {expected}')


def shown(value: object) -> str:
    """A short description of a value: its repr could be as long as the file."""
    return quoted(value) if isinstance(value, str) else f"a {type(value).__name__}"


def decode(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise StateCorrupt(f"at byte {error.start + 1:,} it is not UTF-8") from None


def parse(text: str) -> object:
    try:
        return parse_json(text)
    except StrictJsonError as error:
        raise StateCorrupt(f"it {error}") from None


def object_with(names: Collection[str], value: object, what: str) -> dict[str, object]:
    """A JSON object that has exactly these keys."""
    if type(value) is not dict:
        raise StateCorrupt(f"it has {shown(value)} where {what} should be")
    if wrong := sorted(value.keys() ^ set(names)):
        keys = ", ".join(map(quoted, wrong[:5]))
        raise StateCorrupt(f"in {what} the keys {keys} are missing or unknown")
    return value


def text(value: object, name: str) -> str:
    if type(value) is str:
        return value
    raise mismatch(value, name, "text")


def items(value: object, name: str) -> list[object]:
    if type(value) is list:
        return value
    raise mismatch(value, name, "a list")


def integer(value: object, name: str) -> int | None:
    if value is None or (type(value) is int and -_MAX_INTEGER < value < _MAX_INTEGER):
        return value
    raise mismatch(value, name, "null or a whole number of at most 63 bits")


def process_id(value: object, name: str) -> int | None:
    """A process id or null. kill() takes 0 and negative numbers for groups."""
    pid = integer(value, name)
    if pid is None or 0 < pid < 2**31:
        return pid
    raise mismatch(value, name, "null or a process id")


def instant(value: object, name: str) -> int | None:
    """A whole second or null."""
    if value is None:
        return None
    if type(value) is str:
        try:
            return instant_s(value)
        except KronError:
            pass
    raise mismatch(value, name, "null or an instant like 2026-03-01T02:32:20Z")


def nanoseconds(value: object, name: str) -> int | None:
    """An instant with nine digits, or null."""
    if value is None:
        return None
    if type(value) is str and len(value) == _NANOSECONDS_TEXT:
        try:
            return read_timestamp(value)
        except KronError:
            pass
    raise mismatch(value, name, "null or an instant like 2026-03-01T02:32:20.001234567Z")


def optional_timestamp(time_ns: int | None) -> str | None:
    return None if time_ns is None else timestamp_text(time_ns)


Columns = Mapping[str, Callable[[object, str], object]]
"""The names of a record's fields on disk, in the order of its class, and how each is read."""

_WRITERS: dict[object, Callable[[Any], object]] = {
    instant: optional_text,
    nanoseconds: optional_timestamp,
}


def read_record(kind: type[_Record], columns: Columns, values: Sequence[object]) -> _Record:
    """The record of these values, which are in the order of the columns."""
    read: list[Any] = [
        read(value, name) for (name, read), value in zip(columns.items(), values, strict=True)
    ]
    try:
        return kind(*read)
    except ValueError as error:
        raise StateCorrupt(str(error)) from None


def record_to_json(record: Frozen, columns: Columns) -> dict[str, object]:
    values = zip(columns.items(), record._values(), strict=True)
    return {
        name: _WRITERS[read](value) if read in _WRITERS else value for (name, read), value in values
    }
