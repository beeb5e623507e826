"""Requests to the API server: one at a time, lists in pages, and watches.

It is thin on purpose: objects are what JSON holds, nothing is cached and nothing is tried again,
except once after a 401, when the credentials may merely be old. Who calls it decides what an
error means.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from json import dumps

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from kron.kube.api_object import Object
from kron.kube.client.access import Access
from kron.kube.client.errors import SILENT, ApiError, json_object, malformed, no_answer, refusal
from kron.kube.client.lines import Lines
from kron.kube.client.resources import Resource, escaped
from kron.kube.client.session import UNBOUNDED, Sessions

_WRITES = {
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
    "dry-run": "POST",
}
"""The methods of verbs that write; all others are GET. Metrics and messages name the verb."""

_JSON = "application/json"
_MERGE_PATCH = "application/merge-patch+json"
_BRIEF = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_BRIEF_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_MOST_ERROR_BYTES = 64 * 1024
_MOST_OBJECT_BYTES = 16 * 1024 * 1024
_MOST_PAGE_BYTES = 512 * 1024 * 1024
_CONNECT_S = 10.0
_REQUEST_S = 10.0
_LIST_S = 60.0
_PAGE = 500
"""How many objects a page of a list has."""


class Client(AbstractAsyncContextManager["Client"]):
    """A connection pool to one API server. Use it as an async context manager."""

    def __init__(
        self,
        access: Access,
        *,
        user_agent: str,
        observe: Callable[[str, str, int], None] = lambda *_: None,
        observe_date: Callable[[str, float], None] = lambda *_: None,
        limit: int = 128,
        request_s: float | None = None,
    ) -> None:
        """`request_s`: how long each request may take, instead of its own limit; 0: any time.

        A watch has no such limit.
        """
        self.access = access
        self._request_s = request_s
        self._sessions = Sessions(access, user_agent)
        self._observe = observe
        self._observe_date = observe_date
        """Gets the Date of each answer, and how long that answer took."""
        self._slots = asyncio.Semaphore(limit)

    async def __aexit__(self, *_: object) -> None:
        await self._sessions.close()

    async def get(
        self, resource: Resource, namespace: str | None, name: str, *, timeout_s: float = _REQUEST_S
    ) -> Object:
        path = resource.path(namespace, name)
        return await self._object("get", resource, path, timeout_s=timeout_s)

    async def create(
        self,
        resource: Resource,
        namespace: str | None,
        body: Object,
        *,
        is_brief: bool = False,
        timeout_s: float = _REQUEST_S,
    ) -> Object:
        """Create an object and return it; only its metadata if `is_brief`.

        A field that the server does not know is an error, as it is for kubectl.
        """
        path, query = resource.path(namespace), "&fieldValidation=Strict"
        return await self._object(
            "create", resource, path, body, is_brief=is_brief, query=query, timeout_s=timeout_s
        )

    async def dry_run(
        self,
        resource: Resource,
        namespace: str,
        body: Object,
        *,
        is_brief: bool = True,
        timeout_s: float = _REQUEST_S,
    ) -> Object:
        """What `create` would return, or its error. Nothing is created."""
        path, query = resource.path(namespace), "&fieldValidation=Strict&dryRun=All"
        return await self._object(
            "dry-run", resource, path, body, is_brief=is_brief, query=query, timeout_s=timeout_s
        )

    async def replace(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        body: Object,
        *,
        timeout_s: float = _REQUEST_S,
    ) -> Object:
        """Replace an object by `body`, unless its version has changed since."""
        path = resource.path(namespace, name)
        return await self._object("update", resource, path, body, timeout_s=timeout_s)

    async def patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        body: Object,
        *,
        subresource: str = "",
        is_brief: bool = False,
    ) -> Object:
        """Merge `body` into an object or a subresource of it (RFC 7386: null removes)."""
        path = resource.path(namespace, name, subresource)
        return await self._object("patch", resource, path, body, is_brief=is_brief)

    async def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        uid: str,
        propagation: str = "Background",
    ) -> None:
        """Delete the object with this uid, not a newer one of the same name."""
        body = {"propagationPolicy": propagation, "preconditions": {"uid": uid}}
        await self._object("delete", resource, resource.path(namespace, name), body)

    async def pages(
        self,
        resource: Resource,
        namespace: str | None,
        *,
        selector: str = "",
        fields: str = "",
        is_brief: bool = False,
    ) -> AsyncGenerator[tuple[list[Object], str], None]:
        """All objects as of one version, page by page, each page with that version.

        Only their metadata if `is_brief`. The server keeps the version for some minutes: then the
        next page is an ApiError 410.
        """
        path = resource.path(namespace)
        query = f"&limit={_PAGE}{_selected(selector, fields)}"
        token = ""
        while True:
            words = f"{query}&continue={escaped(token)}" if token else query
            answer = await self._object(
                "list", resource, path, is_brief=is_brief, query=words, timeout_s=_LIST_S
            )
            items, version, token = _page(resource, answer)
            yield items, version
            if not token:
                return

    async def events(
        self,
        resource: Resource,
        namespace: str | None,
        version: str,
        *,
        selector: str = "",
        fields: str = "",
        timeout_s: int,
        silence_s: float,
        opened: Callable[[], None] = lambda: None,
    ) -> AsyncGenerator[tuple[str, Object], None]:
        """What happens after `version`, from one watch: the type of each event, and its object.

        `opened` is called when the server has accepted the watch. It ends the watch after
        `timeout_s` at the latest. A bookmark has only a version.
        An ERROR event is raised as an ApiError, and so is a silence of `silence_s`.
        """
        what = f"watch {resource.plural}"
        url = (
            f"{resource.path(namespace)}?watch=1&allowWatchBookmarks=true"
            f"&resourceVersion={escaped(version)}&timeoutSeconds={timeout_s}"
            f"{_selected(selector, fields)}"
        )
        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=min(silence_s, _CONNECT_S), sock_read=silence_s
        )
        lines = Lines(what, _MOST_OBJECT_BYTES)
        try:
            async with self._answer("watch", resource, url, timeout=timeout) as answer:
                opened()
                while data := await answer.content.readany():
                    for line in lines.feed(data):
                        yield _event(what, line)
        except aiohttp.SocketTimeoutError:
            why = f"nothing heard for {silence_s:g} s"
            raise no_answer(what, why, reason=SILENT, is_sent=False) from None
        except (aiohttp.ClientError, OSError) as error:
            raise no_answer(what, _why(error), is_sent=False) from None

    async def _object(
        self,
        verb: str,
        resource: Resource,
        path: str,
        body: Object | None = None,
        *,
        is_brief: bool = False,
        query: str = "",
        timeout_s: float = _REQUEST_S,
    ) -> Object:
        """One request that returns an object, within `timeout_s` in total."""
        most_s = timeout_s if self._request_s is None else self._request_s or None
        written = None if body is None else dumps(body, separators=(",", ":")).encode()
        what = f"{verb} {resource.plural}"
        is_write = verb in _WRITES
        most = _MOST_PAGE_BYTES if verb == "list" else _MOST_OBJECT_BYTES
        is_sent = False
        try:
            async with asyncio.timeout(most_s) as limit:
                async with nullcontext() if resource.is_urgent else self._slots:
                    # The server gives up when we do: after the rest of our time, not all of it.
                    ends_s = limit.when()
                    left_s = 0.0 if ends_s is None else ends_s - asyncio.get_running_loop().time()
                    asked = "" if ends_s is None else f"timeout={max(1, int(left_s * 1000))}ms"
                    url = f"{path}?{asked}{query}"
                    is_sent = is_write
                    brief = _BRIEF_LIST if verb == "list" else _BRIEF
                    accept = brief if is_brief else _JSON
                    async with self._answer(verb, resource, url, written, accept) as answer:
                        data = await _read_bounded(answer, most)
            return _object_of(what, data, is_write=is_write)
        except TimeoutError:
            why = f"no answer within {most_s:g} s"
            raise no_answer(what, why, is_sent=is_sent) from None
        except aiohttp.ClientConnectorError as error:
            raise _unconnected(what, error, self.access.server) from None
        except (aiohttp.ClientError, OSError) as error:
            raise no_answer(what, _why(error), is_sent=is_sent) from None

    @asynccontextmanager
    async def _answer(
        self,
        verb: str,
        resource: Resource,
        url: str,
        body: bytes | None = None,
        accept: str = _JSON,
        *,
        timeout: aiohttp.ClientTimeout = UNBOUNDED,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """The answer to a request; ApiError if it is a refusal."""
        content_type = _MERGE_PATCH if verb == "patch" else _JSON
        for is_last in (False, True):
            session = await self._sessions.current()
            known = {**session.headers, "Accept": accept, "Content-Type": content_type}
            headers = CIMultiDict(known)
            headers.extend(self.access.impersonation)
            is_answered = False
            loop = asyncio.get_running_loop()
            began_s = loop.time()
            session.connections.take()
            try:
                async with session.connections.http.request(
                    _WRITES.get(verb, "GET"),
                    URL(self.access.server + url, encoded=True),
                    data=body,
                    headers=headers,
                    timeout=timeout,
                    allow_redirects=False,
                    server_hostname=self.access.server_name or None,
                ) as answer:
                    status, is_answered = answer.status, True
                    self._observe(verb, resource.plural, status)
                    self._observe_date(answer.headers.get("Date", ""), loop.time() - began_s)
                    if status < 300:
                        yield answer
                        return
                    if status != 401 or is_last:
                        raise await _refused(verb, resource, answer)
            except aiohttp.ClientConnectorCertificateError:
                session.is_refused = True  # the cluster may have a new certificate authority
                raise
            except asyncio.CancelledError:  # by its timeout
                session.gave_no_answer()
                raise
            finally:
                if not is_answered:
                    self._observe(verb, resource.plural, 0)
                await session.connections.give_back()
            session.is_refused = True


def _selected(selector: str, fields: str) -> str:
    words = f"&labelSelector={escaped(selector)}" if selector else ""
    return f"{words}&fieldSelector={escaped(fields)}" if fields else words


def _why(error: Exception) -> str:
    return str(error) or type(error).__name__


def _unconnected(what: str, error: aiohttp.ClientConnectorError, server: str) -> ApiError:
    cause = error.os_error
    is_plain = cause.errno is not None and cause.errno > 0 and not isinstance(cause, ssl.SSLError)
    why = os.strerror(cause.errno or 0) if is_plain else cause.strerror or str(cause)
    message = f"cannot connect to {URL(server).origin()}: {why}"  # without a password
    fix = "check that this is the cluster you mean (--context, KUBECONFIG), and that it is up"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        fix = "check the certificate-authority and the tls-server-name of the kubeconfig"
    return no_answer(what, message, is_sent=False, fix=fix)


async def _read_bounded(answer: aiohttp.ClientResponse, most: int) -> bytes:
    """The body of an answer; an error if it is longer than `most` bytes."""
    length = answer.content_length
    if length is not None and length <= most:
        return await answer.read()
    data = bytearray()
    while chunk := await answer.content.readany():
        data += chunk
        if len(data) > most:
            raise aiohttp.ClientPayloadError(f"the answer is longer than {most} bytes")
    return bytes(data)


async def _refused(verb: str, resource: Resource, answer: aiohttp.ClientResponse) -> ApiError:
    """The error that a refusal means. Only the beginning of a long body is read."""
    body = b""
    try:
        while len(body) < _MOST_ERROR_BYTES and (chunk := await answer.content.readany()):
            body += chunk
    except (aiohttp.ClientError, OSError):
        pass  # part of the reason is better than nothing
    what, after = f"{verb} {resource.plural}", answer.headers.get("Retry-After")
    is_write = verb in _WRITES
    return refusal(what, answer.status, body, retry_after=after, is_write=is_write)


def _object_of(what: str, data: bytes, *, is_write: bool) -> Object:
    obj = json_object(data)
    if obj is None:
        why = f"the answer is not a JSON object, it begins {data[:60]!r}"
        raise malformed(what, why, is_sent=is_write)
    return obj


def _page(resource: Resource, answer: Object) -> tuple[list[Object], str, str]:
    """The objects of a page of a list, their version, and the token of the next page or ''."""
    items, metadata = answer.get("items"), answer.get("metadata")
    if items is None:
        items = []  # Go may write an empty list as null
    if isinstance(items, list) and isinstance(metadata, dict):
        version, token = metadata.get("resourceVersion"), metadata.get("continue") or ""
        if isinstance(version, str) and isinstance(token, str):
            return items, version, token
    raise malformed(f"list {resource.plural}", "the answer is not a list of objects")


def _event(what: str, line: bytes) -> tuple[str, Object]:
    """The type and the object of an event; ApiError if it is one of type ERROR."""
    event = _object_of(what, line, is_write=False)
    kind, obj = event.get("type"), event.get("object")
    if not isinstance(kind, str) or not isinstance(obj, dict):
        raise malformed(what, f"not an event of a watch: {line[:60]!r}")
    if kind == "ERROR":  # its HTTP answer was 200 before
        code = obj.get("code")
        raise refusal(what, code if isinstance(code, int) and 400 <= code <= 599 else 500, obj)
    return kind, obj
