"""The protocol of the control socket: its limit, and how a request is read."""

from __future__ import annotations

from kron.core.errors import quoted
from kron.krond.strict_json import StrictJsonError, parse_json

REQUEST_BYTES = 65_536
"""The longest request that krond reads, its line break not counted."""

FORM = 'send one line, such as {"command": "status"}'

_EXCERPT_BYTES = 200


def parse_request(line: bytes) -> dict[str, object]:
    """The request of a line; a `ValueError` with the reason if it is not one."""
    try:
        request = parse_json(line.decode())
    except UnicodeDecodeError:
        raise ValueError(f"the request {excerpt(line)} is not valid Unicode") from None
    except StrictJsonError as error:
        raise ValueError(f"the request {excerpt(line)} {error}") from None
    if not isinstance(request, dict) or not isinstance(request.get("command"), str):
        raise ValueError(f'the request {excerpt(line)} is not an object with a text "command"')
    return request


def excerpt(line: bytes) -> str:
    """The beginning of a line, quoted so that any bytes can be shown."""
    return quoted(line[:_EXCERPT_BYTES].decode(errors="backslashreplace"))
