"""Strict reading of JSON that anybody may have written: in bounded time and memory, or an error.

`parse_json` refuses what the standard library accepts (a key twice, NaN, 1e999, half a character)
and what makes it raise other errors than its own (deep nesting, a number of a million digits).
"""

from __future__ import annotations

import json
import re

from kron.core.errors import quoted

_MAX_CONTAINERS = 100_000
"""Each takes at least 60 bytes of memory, for two in the text."""
_ESCAPES = re.compile(r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|(\\u[dD][89a-fA-F]..)|\\.")


class StrictJsonError(ValueError):
    """What is wrong with a text: the rest of a sentence that begins with the text's name."""


def parse_json(text: str) -> object:
    """The JSON value of `text`; a `StrictJsonError` if it is not strict JSON."""
    if text.count("[") + text.count("{") > _MAX_CONTAINERS:
        raise StrictJsonError(f"has more than {_MAX_CONTAINERS:,} objects and lists")
    try:
        value: object = _DECODER.decode(text)
    except StrictJsonError:
        raise
    except RecursionError:
        raise StrictJsonError("is nested too deeply") from None
    except json.JSONDecodeError as error:
        where = f"at character {error.pos + 1:,}"
        raise StrictJsonError(f"is not JSON {where} ({error.msg})") from None
    except ValueError:  # from int(), for numbers of thousands of digits
        raise StrictJsonError("is not JSON: it holds a number that is too long") from None
    if "\\u" in text and any(match[1] for match in _ESCAPES.finditer(text)):
        raise StrictJsonError("is not valid Unicode: it holds half a character")
    return value


def without_halves(text: str) -> str:
    """JSON `text` in which half a character is written as the six characters that name it.

    Such a half (an unpaired surrogate) comes from the name of a file that is not UTF-8, in a reason
    for people.
    """
    if "\\ud" not in text:
        return text
    return _ESCAPES.sub(lambda match: f"\\{match[1]}" if match[1] else match[0], text)


def _once_each(pairs: list[tuple[str, object]]) -> dict[str, object]:
    values = dict(pairs)
    if len(values) == len(pairs):
        return values
    raise StrictJsonError("has a key twice in one object")


def _no_constant(name: str) -> None:
    raise StrictJsonError(f"is not JSON: {name} is not a number")


def _finite(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise StrictJsonError(f"holds a number that is too large: {quoted(digits)}")
    return value


_DECODER = json.JSONDecoder(
    object_pairs_hook=_once_each, parse_constant=_no_constant, parse_float=_finite
)
