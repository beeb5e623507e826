"""Requests to the API server: one at a time, lists in pages, and watches.

It is thin on purpose: objects are what JSON holds, nothing is cached and nothing is tried again,
except once after a 401, when the credentials may merely be old. Who calls it decides what an
error means.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from json import dumps

import aiohttp
from yarl import URL

from kron.kube.client.access import Access
from kron.kube.client.answers import event_of, object_of, page_of, read_bounded, refused
from kron.kube.client.errors import MALFORMED, SILENT, no_answer
from kron.kube.client.lines import Lines, LineTooLongError
from kron.kube.client.resources import Resource
from kron.kube.client.session import BRIEF, JSON, MERGE_PATCH, UNBOUNDED, Sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self

    Object = dict[str, Any]

_MOST_OBJECT_BYTES = 16 * 1024 * 1024
_MOST_PAGE_BYTES = 512 * 1024 * 1024
_CONNECT_S = 10.0


class Client:
    """A connection pool to one API server. Use it as an async context manager."""

    def __init__(
        self,
        access: Access,
        *,
        user_agent: str,
        observe: Callable[[str, str, int], None] | None = None,
        limit: int = 128,
    ) -> None:
        self.access = access
        self._sessions = Sessions(access, user_agent)
        self._observe = observe
        self._slots = asyncio.Semaphore(limit)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close every connection. A request after this opens new ones."""
        await self._sessions.close()

    async def get(
        self, resource: Resource, namespace: str | None, name: str, *, timeout_s: float = 10
    ) -> Object:
        """The object of this name."""
        path = resource.path(namespace, name)
        return await self._object("get", "GET", resource, path, timeout_s=timeout_s)

    async def create(
        self,
        resource: Resource,
        namespace: str | None,
        body: Mapping[str, Any] | bytes,
        *,
        is_brief: bool = False,
        timeout_s: float = 10,
    ) -> Object:
        """Make an object, and answer what was made; only its metadata if `is_brief`.

        A field that the server does not know is an error, as it is for kubectl.
        """
        return await self._object(
            "create",
            "POST",
            resource,
            resource.path(namespace),
            body,
            is_brief=is_brief,
            query="&fieldValidation=Strict",
            timeout_s=timeout_s,
        )

    async def replace(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        body: Mapping[str, Any] | bytes,
        *,
        timeout_s: float = 10,
    ) -> Object:
        """Put `body` in the place of an object, which still has the version that `body` names."""
        path = resource.path(namespace, name)
        return await self._object("update", "PUT", resource, path, body, timeout_s=timeout_s)

    async def patch(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        body: Mapping[str, Any] | bytes,
        *,
        subresource: str = "",
        is_brief: bool = False,
        timeout_s: float = 10,
    ) -> Object:
        """Merge `body` into an object or a subresource of it (RFC 7386: null removes)."""
        path = resource.path(namespace, name, subresource)
        return await self._object(
            "patch",
            "PATCH",
            resource,
            path,
            body,
            content_type=MERGE_PATCH,
            is_brief=is_brief,
            timeout_s=timeout_s,
        )

    async def delete(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        *,
        uid: str = "",
        propagation: str = "Background",
        timeout_s: float = 10,
    ) -> None:
        """Delete an object; with `uid` only that one, and not another that has its name by now."""
        body: Object = {"propagationPolicy": propagation}
        if uid:
            body["preconditions"] = {"uid": uid}
        path = resource.path(namespace, name)
        await self._object("delete", "DELETE", resource, path, body, timeout_s=timeout_s)

    async def pages(
        self,
        resource: Resource,
        namespace: str | None,
        *,
        selector: str = "",
        limit: int = 500,
        timeout_s: float = 60,
    ) -> AsyncGenerator[tuple[list[Object], str], None]:
        """All objects as they are together at one version, page by page, each with that version.

        The version stops being kept after some minutes: then the next page is an ApiError 410.
        """
        path = resource.path(namespace)
        query = f"&limit={limit}{_selected(selector)}"
        token = ""
        while True:
            words = f"{query}&continue={_escaped(token)}" if token else query
            answer = await self._object(
                "list", "GET", resource, path, query=words, timeout_s=timeout_s
            )
            items, version, token = page_of(resource, answer)
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
        timeout_s: int,
        silence_s: float,
    ) -> AsyncGenerator[tuple[str, Object], None]:
        """What happens after `version`, as one watch tells it: types of event and their objects.

        It ends when the server ends it, which it does after `timeout_s` at the latest. A bookmark
        carries a version only. An ERROR event is raised, and so is a silence of `silence_s`.
        """
        what = f"watch {resource.plural}"
        url = (
            f"{resource.path(namespace)}?watch=1&allowWatchBookmarks=true{_selected(selector)}"
            f"&resourceVersion={_escaped(version)}&timeoutSeconds={timeout_s}"
        )
        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=min(silence_s, _CONNECT_S), sock_read=silence_s
        )
        lines = Lines(_MOST_OBJECT_BYTES)
        try:
            async with self._answer("watch", "GET", resource, url, timeout=timeout) as answer:
                while data := await answer.content.readany():
                    for line in lines.feed(data):
                        yield event_of(what, line)
        except aiohttp.SocketTimeoutError:
            why = f"nothing heard for {silence_s:g} s"
            raise no_answer(what, why, reason=SILENT, is_sent=False) from None
        except LineTooLongError as error:
            raise no_answer(what, str(error), reason=MALFORMED, is_sent=False) from None
        except (aiohttp.ClientError, OSError) as error:
            raise no_answer(what, _why(error), is_sent=False) from None

    async def _object(
        self,
        verb: str,
        method: str,
        resource: Resource,
        path: str,
        body: Mapping[str, Any] | bytes | None = None,
        *,
        content_type: str = JSON,
        is_brief: bool = False,
        query: str = "",
        timeout_s: float,
    ) -> Object:
        """One request that answers with an object, within `timeout_s` all told."""
        if body is not None and not isinstance(body, bytes):
            body = dumps(body, separators=(",", ":")).encode()
        what = f"{verb} {resource.plural}"
        is_write = method != "GET"
        most = _MOST_PAGE_BYTES if verb == "list" else _MOST_OBJECT_BYTES
        is_sent = False
        try:
            async with asyncio.timeout(timeout_s) as limit:
                if not resource.is_urgent:
                    await self._slots.acquire()
                try:
                    # The server gives up when we do: what is left of our time, not all of it.
                    left_s = (limit.when() or 0.0) - asyncio.get_running_loop().time()
                    url = f"{path}?timeout={max(1, int(left_s * 1000))}ms{query}"
                    is_sent = is_write
                    kind = (content_type, BRIEF if is_brief else JSON)
                    async with self._answer(verb, method, resource, url, body, kind=kind) as answer:
                        data = await read_bounded(answer, most)
                finally:
                    if not resource.is_urgent:
                        self._slots.release()
            return object_of(what, data, is_write=is_write)
        except TimeoutError:
            why = f"no answer within {timeout_s:g} s"
            raise no_answer(what, why, is_sent=is_sent) from None
        except aiohttp.ClientConnectorError as error:
            why = _why_unconnected(error, self.access.server)
            raise no_answer(what, why, is_sent=False, fix=_fix(error)) from None
        except (aiohttp.ClientError, OSError) as error:
            raise no_answer(what, _why(error), is_sent=is_sent) from None

    @asynccontextmanager
    async def _answer(
        self,
        verb: str,
        method: str,
        resource: Resource,
        url: str,
        body: bytes | None = None,
        *,
        kind: tuple[str, str] = (JSON, JSON),
        timeout: aiohttp.ClientTimeout = UNBOUNDED,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """The answer to a request, if it is a good one; ApiError if it is a refusal."""
        for is_last in (False, True):
            session = await self._sessions.current()
            is_answered = False
            try:
                async with session.connections.request(
                    method,
                    URL(self.access.server + url, encoded=True),
                    data=body,
                    headers=session.headers[kind],
                    timeout=timeout,
                    allow_redirects=False,
                    server_hostname=self.access.server_name or None,
                ) as answer:
                    status, is_answered = answer.status, True
                    self._tell(verb, resource, status)
                    if status < 300:
                        yield answer
                        return
                    if status != 401 or is_last:
                        raise await refused(f"{verb} {resource.plural}", method, answer)
            except aiohttp.ClientConnectorCertificateError:
                self._sessions.forget(session)  # the cluster may have a new authority
                raise
            finally:
                if not is_answered:
                    self._tell(verb, resource, 0)
            self._sessions.forget(session)

    def _tell(self, verb: str, resource: Resource, status: int) -> None:
        if self._observe is not None:
            self._observe(verb, resource.plural, status)


def _selected(selector: str) -> str:
    return f"&labelSelector={_escaped(selector)}" if selector else ""


def _escaped(text: str) -> str:
    from urllib.parse import quote

    return quote(text, safe="", errors="surrogatepass")


def _why(error: Exception) -> str:
    return str(error) or type(error).__name__


def _why_unconnected(error: aiohttp.ClientConnectorError, server: str) -> str:
    cause = error.os_error
    is_plain = cause.errno is not None and cause.errno > 0 and not isinstance(cause, ssl.SSLError)
    why = os.strerror(cause.errno or 0) if is_plain else cause.strerror or str(cause)
    return f"cannot connect to {URL(server).origin()}: {why}"  # without a password, if it has one


def _fix(error: aiohttp.ClientConnectorError) -> str:
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return "check the certificate-authority and the tls-server-name of the kubeconfig"
    return "check that this is the cluster you mean (--context, KUBECONFIG), and that it is up"
