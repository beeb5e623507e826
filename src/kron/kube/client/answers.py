"""What the API server sends, from bytes to objects. Nothing in it is trusted to be there."""

from __future__ import annotations

from json import loads

import aiohttp

from kron.kube.client.errors import MALFORMED, ApiError, no_answer, refusal, refusal_of_event
from kron.kube.client.resources import Resource

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Object = dict[str, Any]

_MOST_ERROR_BYTES = 64 * 1024


async def read_bounded(answer: aiohttp.ClientResponse, most: int) -> bytes:
    """The body of an answer, of at most so many bytes."""
    length = answer.content_length
    if length is not None and length <= most:
        return await answer.read()
    data = bytearray()
    while chunk := await answer.content.readany():
        data += chunk
        if len(data) > most:
            raise aiohttp.ClientPayloadError(f"the answer is longer than {most} bytes")
    return bytes(data)


async def refused(what: str, method: str, answer: aiohttp.ClientResponse) -> ApiError:
    """The error that an answer is. Its body is read in part only, if it is long."""
    body = b""
    try:
        while len(body) < _MOST_ERROR_BYTES and (chunk := await answer.content.readany()):
            body += chunk
    except (aiohttp.ClientError, OSError):
        pass  # half a reason is better than none
    after = answer.headers.get("Retry-After")
    is_write = method != "GET"
    return refusal(what, answer.status, body, retry_after=after, is_write=is_write)


def object_of(what: str, data: bytes, *, is_write: bool) -> Object:
    """The object in the body of an answer."""
    try:
        obj = loads(data)
    except (ValueError, RecursionError):
        obj = None
    if not isinstance(obj, dict):
        why = f"the answer is not a JSON object, it begins {data[:60]!r}"
        raise no_answer(what, why, reason=MALFORMED, is_sent=is_write)
    return obj


def page_of(resource: Resource, answer: Object) -> tuple[list[Object], str, str]:
    """The objects of a page of a list, their version, and the token of the next page or ''."""
    items, metadata = answer.get("items"), answer.get("metadata")
    if items is None:
        items = []  # Go writes an empty list so, at times
    if isinstance(items, list) and isinstance(metadata, dict):
        version, token = metadata.get("resourceVersion"), metadata.get("continue") or ""
        if isinstance(version, str) and isinstance(token, str):
            return items, version, token
    why = "the answer is not a list of objects"
    raise no_answer(f"list {resource.plural}", why, reason=MALFORMED, is_sent=False)


def event_of(what: str, line: bytes) -> tuple[str, Object]:
    """The type and the object of an event; ApiError if it is one of type ERROR."""
    event = object_of(what, line, is_write=False)
    kind, obj = event.get("type"), event.get("object")
    if not isinstance(kind, str) or not isinstance(obj, dict):
        why = f"not an event of a watch: {line[:60]!r}"
        raise no_answer(what, why, reason=MALFORMED, is_sent=False)
    if kind == "ERROR":
        raise refusal_of_event(what, obj)
    return kind, obj
