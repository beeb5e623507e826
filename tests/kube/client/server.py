"""An API server that does what a test says: answers in a list, one for each request, in order.

For what a real one does not do on demand: cut a connection in the middle of a line, say nothing,
send a proxy's page. Real ones are in tests/cluster.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, NamedTuple, Self

from aiohttp import web

from kron.kube.client.access import Access
from kron.kube.client.client import Client
from kron.kube.client.credentials import Secret, StoredCredentials
from kron.waking.clock import Clock

Object = dict[str, Any]


class Request(NamedTuple):
    """What was asked for."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    connection: int
    """The client's port: the same for the same connection."""

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Answer = Callable[[Request, web.Request], Awaitable[web.StreamResponse]]


class FakeServer:
    """A web server on a loopback address. `answers` come first, then `otherwise` for ever."""

    def __init__(self, *answers: Answer, otherwise: Answer | None = None) -> None:
        self.answers = deque(answers)
        self.otherwise = otherwise or status(500, "InternalError", "no answer is left")
        self.requests: list[Request] = []
        self.arrived = asyncio.Event()
        """Set at each request; a test that waits clears it."""
        self.url = ""
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(
            application, handler_cancellation=True, shutdown_timeout=0.01, access_log=None
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        assert request.transport is not None
        _, port = request.transport.get_extra_info("peername")
        body = await request.read()
        seen = Request(request.method, request.path, dict(request.query), headers, body, port)
        self.requests.append(seen)
        self.arrived.set()
        answer = self.answers.popleft() if self.answers else self.otherwise
        return await answer(seen, request)

    async def wait_for_requests(self, count: int) -> None:
        """Wait until this many requests have come."""
        while len(self.requests) < count:
            self.arrived.clear()
            await self.arrived.wait()

    def client(self, **options: Any) -> Client:
        """A client of this server."""
        return Client(self.access(), user_agent="kron-test", **options)

    def access(self, token: Secret | None = None) -> Access:
        """How to reach this server, without a token or with one."""
        none = Secret("none")
        return Access(self.url, StoredCredentials(token or none, none, none, Clock()))


def run(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run a test that may not take long."""

    async def bounded() -> None:
        async with asyncio.timeout(10):
            await coroutine

    asyncio.run(bounded())


async def until(condition: Callable[[], bool]) -> None:
    """Until `condition` is true; `run` bounds it."""
    while not condition():
        await asyncio.sleep(0.002)


def raw(body: bytes, code: int = 200, **headers: str) -> Answer:
    """An answer of these bytes."""

    async def answer(_: Request, __: web.Request) -> web.StreamResponse:
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(body=body, status=code, headers=names)

    return answer


def obj(value: object, code: int = 200) -> Answer:
    """An object."""
    return raw(json.dumps(value).encode(), code, Content_Type="application/json")


def status(code: int, reason: str, message: str, **headers: str) -> Answer:
    """A refusal as an API server words it."""
    value = {"kind": "Status", "status": "Failure", "code": code}
    value |= {"reason": reason, "message": message}
    return raw(json.dumps(value).encode(), code, **headers)


def echo() -> Answer:
    """What was sent, as if it were stored."""

    async def answer(request: Request, _: web.Request) -> web.StreamResponse:
        return web.Response(body=request.body)

    return answer


def cut() -> Answer:
    """The connection is closed instead of an answer."""

    async def answer(_: Request, request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.close()
        return web.Response()

    return answer


def stall() -> Answer:
    """No answer, ever."""

    async def answer(_: Request, __: web.Request) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    return answer


def stream(*pieces: object, end: str = "end", go: asyncio.Event | None = None) -> Answer:
    """A watch: events (as tuples) and raw bytes, then it ends, is cut or stalls.

    With `go`, nothing but the head is sent before it is set.
    """

    async def answer(_: Request, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        if go is not None:
            await go.wait()
        for piece in pieces:
            await response.write(piece if isinstance(piece, bytes) else line(piece))
        if end == "stall":
            await asyncio.Event().wait()
        if end == "cut":
            assert request.transport is not None
            request.transport.close()
        return response

    return answer


def line(event: Any) -> bytes:
    """An event of a watch, as it is sent."""
    kind, value = event
    return json.dumps({"type": kind, "object": value}).encode() + b"\n"


def made(name: str, version: int | str, **more: Any) -> Object:
    """An object of a name and a version, in the namespace `ns`."""
    metadata = {"namespace": "ns", "name": name, "resourceVersion": str(version)}
    return {"metadata": metadata | more}


def page(items: Iterable[Object], version: int | str, following: str = "") -> Answer:
    """A page of a list."""
    metadata = {"resourceVersion": str(version), "continue": following}
    return obj({"kind": "List", "metadata": metadata, "items": list(items)})


def expired_event() -> tuple[str, Object]:
    """The event with which a server says that a version is too old."""
    return "ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
