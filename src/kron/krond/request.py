"""A request to krond: from a line of bytes that anybody may have sent, to an object.

Stricter than `json`: no NaN, no infinity, no key twice, no half of a surrogate pair, so what
comes out can be looked up, compared, logged and sent back without a surprise.
"""

from __future__ import annotations

from kron.core.errors import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FORM = 'send one line, such as {"command": "status"}'

_EXCERPT_BYTES = 200


def parse_request(line: bytes) -> dict[str, Any]:
    """The request of a line; a ValueError that says what is wrong with it otherwise."""
    import json

    try:
        request = json.loads(
            line.decode(), object_pairs_hook=_object, parse_constant=_refuse, parse_float=_finite
        )
        json.dumps(request, ensure_ascii=False).encode()  # half a surrogate pair fails here
    except RecursionError:
        raise ValueError(f"the request {excerpt(line)} is nested too deeply") from None
    except UnicodeError:
        raise ValueError(f"the request {excerpt(line)} is not valid Unicode") from None
    except ValueError as error:
        raise ValueError(f"the request {excerpt(line)} is not JSON: {error}") from None
    if not isinstance(request, dict) or not isinstance(request.get("command"), str):
        raise ValueError(f'the request {excerpt(line)} is not an object with a text "command"')
    return request


def excerpt(line: bytes) -> str:
    """The beginning of a line, quoted so that it can be shown whatever is in it."""
    return quoted(line[:_EXCERPT_BYTES].decode(errors="backslashreplace"))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object has a key twice")
    return found


def _refuse(word: str) -> float:
    raise ValueError(f"{word} is not a number of JSON")


def _finite(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{quoted(digits)} is too large")
    return value
