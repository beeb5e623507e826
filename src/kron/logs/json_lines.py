"""The JSON format: a line is one object with the same keys, `timestamp` first, all values text.

Lines are ASCII, so that nothing in them can break a line or move a cursor. This module is imported
only when JSON is used, because importing `json` is slow.
"""

from __future__ import annotations

import re
from json import JSONDecodeError, JSONDecoder
from json.encoder import encode_basestring_ascii as _quoted

from kron.core.errors import Code, KronError, ParseError, quoted
from kron.logs.event import Event
from kron.logs.record import KEY, Record, from_values, repeated
from kron.logs.timestamp import read_timestamp, timestamp_text

# Objects become tuples of pairs, so that a repeated key is noticed; arrays stay lists.
_DECODER = JSONDecoder(object_pairs_hook=tuple)
_USUAL_KEYS = frozenset(("timestamp", "level", "component", "event")).union(
    *(event.fields for event in Event)
)
_WRAPPERS = ("MESSAGE", "message", "log", "msg")


def write_json(record: Record) -> str:
    """The record as one line, without the line break."""
    fields = "".join([json_pair(key, value) for key, value in record.fields])
    return (
        f'{{"timestamp":"{timestamp_text(record.time_ns)}","level":"{record.level}",'
        f'"component":"{record.component}"{json_pair("event", record.event)}{fields}}}'
    )


def json_pair(key: str, value: str) -> str:
    """A field as it stands in the object, with the comma before it."""
    return f',"{key}":{_quoted(value)}'


def read_json(line: str) -> Record:
    """The record of a line (without its line break); a `ParseError` if the line has none."""
    try:
        pairs = _DECODER.decode(line)
    except JSONDecodeError as error:
        message = f"the line is not JSON: {error.msg}"
        start = min(error.pos, len(line))
        raise ParseError.single(line, Code.TEXT, message, start=start, end=start + 1) from None
    except (ValueError, RecursionError):  # a number of 10,000 digits, a nest of brackets
        raise ParseError.single(
            line, Code.TEXT, "the line is not an object with text values"
        ) from None
    try:
        return _record(pairs)
    except KronError as error:
        raise ParseError.single(line, error.code, error.message, fix=error.fix) from None


def _record(pairs: object) -> Record:
    if not isinstance(pairs, tuple):
        raise KronError(Code.TEXT, "the line is JSON, but not an object")
    values: dict[str, str] = dict(pairs)
    if len(values) != len(pairs):
        raise repeated(key for key, _ in pairs)
    for key, value in pairs:
        if type(value) is not str:
            message = f"the value of {quoted(key)} is not text: every value is in quotes"
            raise KronError(Code.TEXT, message)
        if key not in _USUAL_KEYS and not re.fullmatch(KEY, key):
            raise KronError(
                Code.TEXT,
                f"{quoted(key)} cannot be the name of a field",
                fix="letters, digits, and _ . - after the first letter",
            )
    timestamp = values.pop("timestamp", None)
    if timestamp is None:
        wrapped = any(key in values for key in _WRAPPERS)
        fix = "remove what wraps the line: journalctl -o cat" if wrapped else ""
        raise KronError(Code.TEXT, 'the object has no "timestamp"', fix=fix)
    return from_values(read_timestamp(timestamp), values)
