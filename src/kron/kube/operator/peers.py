"""Whether the process that leads is alive, by a connection to it that ends when it does.

A process that is killed gives no lease back, and its lease takes a while to run out. But its host
closes its connections at once and refuses new ones, or another process answers in its place: then
it is certainly dead. A host that is silent proves nothing, and neither does one that was never
reached: the address may be wrong. Then only the lease counts.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Awaitable, Callable
from enum import Enum
from json import dumps

import aiohttp
from aiohttp import web

from kron.kube.client.errors import json_object

PATH = "/leading"
MOST_PEERS = 32
_CONNECT_S = 1.0
_AGAIN_S = 0.05
"""How long after a refusal the second one must come. One may be a moment's."""
_PATIENCE_S = 1.0
"""How long to wait where nothing was learnt."""
_MOST_BYTES = 4096


class _Found(Enum):
    NOBODY = "nobody listens there"
    ANOTHER = "another process does"
    ALIVE = "it was met, and led until now"
    NOTHING = "it could not be reached"


class Peers:
    """Tells the other replicas as long as this process leads, by answers that do not end."""

    def __init__(
        self, instance: str, wait_until_it_follows: Callable[[], Awaitable[object]]
    ) -> None:
        self._instance = instance
        self._wait_until_it_follows = wait_until_it_follows
        self._connected = 0

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if self._connected >= MOST_PEERS:
            return web.Response(status=503, text="too many connections\n")
        answer = web.StreamResponse(headers={"Content-Type": "application/json"})
        self._connected += 1
        try:
            await answer.prepare(request)
            await answer.write(dumps({"instance": self._instance}).encode() + b"\n")
            await self._wait_until_it_follows()
        except ConnectionResetError:
            pass  # it left before the answer, as after a freeze of this process
        finally:
            self._connected -= 1
        return answer


async def outlive(peer: str, instance: str) -> None:
    """Return when the process with this address and instance is certainly dead."""
    refusals = 0
    was_met = False
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session:
        while True:
            loop = asyncio.get_running_loop()
            began_s = loop.time()
            found = await _visit(session, peer, instance)
            was_met = was_met or found is _Found.ALIVE
            refusals = refusals + 1 if was_met and found is _Found.NOBODY else 0
            if (was_met and found is _Found.ANOTHER) or refusals > 1:
                return
            lasted_s = loop.time() - began_s
            is_over = found is _Found.ALIVE and lasted_s > _PATIENCE_S
            await asyncio.sleep(_AGAIN_S if refusals or is_over else _PATIENCE_S)


async def _visit(session: aiohttp.ClientSession, peer: str, instance: str) -> _Found:
    """Stay connected as long as the process leads, and say what was found there."""
    found: object = None
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S)
    try:
        async with session.get(
            f"http://{peer}{PATH}", timeout=timeout, allow_redirects=False
        ) as answer:
            line = (await answer.content.readline())[:_MOST_BYTES]
            found = (json_object(line) or {}).get("instance") if answer.status == 200 else None
            if not isinstance(found, str):
                return _Found.NOTHING  # not one of us
            if found != instance:
                return _Found.ANOTHER
            while await answer.content.readany():
                pass
    except aiohttp.ClientConnectorError as error:
        is_refused = error.os_error.errno == errno.ECONNREFUSED
        return _Found.NOBODY if is_refused else _Found.NOTHING
    except (aiohttp.ClientError, OSError, TimeoutError, ValueError):
        pass  # the next visit says more
    return _Found.ALIVE if found == instance else _Found.NOTHING
