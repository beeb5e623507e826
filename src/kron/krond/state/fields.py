"""Strict reading of JSON that anybody may have written: in bounded time and memory, or an error.

`parse` refuses what the standard library would let pass (a key twice, NaN, half a character) or
answer with a traceback (deep nesting, a number of a million digits). `Fields` is an object that
has exactly the keys it should have. Each error says what is wrong and where.
"""

from __future__ import annotations

import json
import re

from kron.core.errors import KronError, quoted
from kron.krond.state.errors import StateCorrupt
from kron.logs.timestamp import instant_s, read_timestamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

MAX_BYTES = 8 << 20
"""A state file's size at most: a full ledger, ten thousand periods planned and as many runs."""

_MAX_CONTAINERS = 100_000
"""Each takes 60 bytes of memory and more, for two in the file."""
_MAX_INTEGER = 2**63
_NANOSECONDS_TEXT = len("2026-03-01T02:32:20.001234567Z")
_ESCAPES = re.compile(r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|(\\u[dD][89a-fA-F]..)|\\.")


def corrupt(error: str) -> StateCorrupt:
    """The error for content that does not read; whoever knows the file adds its name."""
    return StateCorrupt("", "", error)


def parse(text: str) -> object:
    """The JSON value that `text` holds."""
    if text.count("[") + text.count("{") > _MAX_CONTAINERS:
        raise corrupt(f"it has more than {_MAX_CONTAINERS:,} objects and lists")
    try:
        value: object = _DECODER.decode(text)
    except RecursionError:
        raise corrupt("it is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise corrupt(f"at character {error.pos + 1:,} it is not JSON ({error.msg})") from None
    except ValueError:  # of int(), for numbers of thousands of digits
        raise corrupt("it holds a number that is too long") from None
    if "\\u" in text and any(match[1] for match in _ESCAPES.finditer(text)):
        raise corrupt("it holds half a character (an unpaired surrogate)")
    return value


def without_halves(text: str) -> str:
    """JSON `text` in which half a character is written as the six characters that name it.

    Such a half comes from the name of a file that is not UTF-8, in a reason for people.
    """
    if "\\ud" not in text:
        return text
    return _ESCAPES.sub(lambda match: f"\\{match[1]}" if match[1] else match[0], text)


class Fields:
    """A JSON object with exactly these keys."""

    __slots__ = ("_values",)

    def __init__(self, value: object, names: frozenset[str], what: str) -> None:
        if type(value) is not dict:
            raise corrupt(f"{shown(value)} stands where {what} belongs")
        if value.keys() != names:
            wrong = ", ".join(map(quoted, sorted(value.keys() ^ names)[:5]))
            raise corrupt(f"in {what} the keys {wrong} are missing or unknown")
        self._values = value

    def value(self, name: str) -> object:
        value: object = self._values[name]
        return value

    def text(self, name: str) -> str:
        value = self._values[name]
        if type(value) is str:
            return value
        raise self.error(name, "text")

    def items(self, name: str) -> list[object]:
        value = self._values[name]
        if type(value) is list:
            return value
        raise self.error(name, "a list")

    def integer(self, name: str) -> int | None:
        return integer(self._values[name], name)

    def instant(self, name: str) -> int | None:
        return instant(self._values[name], name)

    def nanoseconds(self, name: str) -> int | None:
        return nanoseconds(self._values[name], name)

    def error(self, name: str, expected: str) -> StateCorrupt:
        return _mismatch(self._values[name], name, expected)


def integer(value: object, name: str) -> int | None:
    """A whole number or null."""
    if value is None or (type(value) is int and -_MAX_INTEGER < value < _MAX_INTEGER):
        return value
    raise _mismatch(value, name, "null or a whole number of at most 63 bits")


def instant(value: object, name: str) -> int | None:
    """A whole second or null."""
    if value is None:
        return None
    if type(value) is str:
        try:
            return instant_s(value)
        except KronError:
            pass
    raise _mismatch(value, name, "null or an instant like 2026-03-01T02:32:20Z")


def nanoseconds(value: object, name: str) -> int | None:
    """An instant with nine digits, or null."""
    if value is None:
        return None
    if type(value) is str and len(value) == _NANOSECONDS_TEXT:
        try:
            return read_timestamp(value)
        except KronError:
            pass
    raise _mismatch(value, name, "null or an instant like 2026-03-01T02:32:20.001234567Z")


def shown(value: object) -> str:
    """A bounded look at a value: its repr could be as long as the file."""
    return quoted(value) if isinstance(value, str) else f"a {type(value).__name__}"


def _mismatch(value: object, name: str, expected: str) -> StateCorrupt:
    return corrupt(f'"{name}" is {shown(value)}, and should be {expected}')


def _once_each(pairs: list[tuple[str, object]]) -> dict[str, object]:
    values = dict(pairs)
    if len(values) == len(pairs):
        return values
    raise corrupt("it has a key twice in one object")


def _no_constant(name: str) -> NoReturn:
    raise corrupt(f"{name} is no number of JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_once_each, parse_constant=_no_constant)
