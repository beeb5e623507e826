"""Connections to the API server, and the credentials of their requests.

A new session is made when the credentials are no longer fresh or were refused. Connections are
kept as long as they present and trust the same certificates, and as long as requests are answered:
where one is not, the idle ones may lead nowhere as well, and each would cost a timeout. A
connection whose answer was not read to its end is reset, so that the host sends nothing more of its
request.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct

import aiohttp

from kron.core.errors import KronError
from kron.kube.client.access import Access
from kron.kube.client.credentials import Credential
from kron.kube.client.errors import CREDENTIALS, ApiError

UNBOUNDED = aiohttp.ClientTimeout(total=None)
"""asyncio.timeout bounds each request as a whole instead."""
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)
"""SO_LINGER for no time: the kernel drops what it has not sent, and sends a reset."""
_TRUST_S = 5.0
"""So old must connections be to be given up for want of an answer. New ones do not help a server
that is slow."""


class _Response(aiohttp.ClientResponse):
    """Resets its connection if it is given up.

    A connection that is merely closed is not over: its request waits in the kernel, which sends it
    again and again, for minutes, until the server takes it.
    """

    async def start(self, connection: aiohttp.connector.Connection) -> aiohttp.ClientResponse:
        try:
            return await super().start(connection)
        except BaseException:
            _reset(connection.transport)
            raise

    def close(self) -> None:
        _reset(None if self.connection is None else self.connection.transport)
        super().close()


def _reset(transport: asyncio.Transport | None) -> None:
    if transport is not None:
        connected = transport.get_extra_info("socket")
        if connected is not None and connected.fileno() >= 0:
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        transport.abort()


class Connections:
    """Those that present and trust the same certificates.

    Retired, they serve what is under way on them, and are closed after that. A watch whose
    connection is closed here would hear nothing for ever, not even that nothing is heard.
    """

    def __init__(self, context: ssl.SSLContext | None) -> None:
        self.opened_s = _now_s()
        self._used = 0
        self._is_retired = False
        # The client limits requests. A limit here would make a watch or the lease wait for others.
        connector = aiohttp.TCPConnector(
            limit=0, ssl=True if context is None else context, keepalive_timeout=60
        )
        self.http = aiohttp.ClientSession(
            connector=connector,
            response_class=_Response,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            timeout=UNBOUNDED,
            read_bufsize=2**18,
        )

    def take(self) -> None:
        """A request or a watch begins on one of them."""
        self._used += 1

    async def give_back(self) -> None:
        self._used -= 1
        await self._close_if_over()

    async def retire(self) -> None:
        """Nothing new begins on them."""
        self._is_retired = True
        await self._close_if_over()

    async def _close_if_over(self) -> None:
        if self._is_retired and not self._used:
            await self.http.close()


class Session:
    def __init__(
        self,
        connections: Connections,
        credential: Credential,
        authority: bytes,
        user_agent: str,
    ) -> None:
        self.connections = connections
        self.credential = credential
        self.authority = authority
        """The certificates that the connections trust."""
        self.headers = {"Accept-Encoding": "identity", "User-Agent": user_agent}
        if credential.token:
            self.headers["Authorization"] = f"Bearer {credential.token}"
        self.is_refused = False
        """Whether the server refused it, or we refused the server: it is not used again."""
        self.is_silent = False
        """Whether a request got no answer: its connections are not used again."""

    def gave_no_answer(self) -> None:
        """A request was given up."""
        self.is_silent = _now_s() - self.connections.opened_s >= _TRUST_S


class Sessions:
    def __init__(self, access: Access, user_agent: str) -> None:
        self._access = access
        self._user_agent = user_agent
        self._session: Session | None = None
        self._retired: list[Connections] = []
        """Those on which something may still be under way."""
        self._signing_in: asyncio.Task[Session] | None = None

    async def current(self) -> Session:
        """A session whose credential is fresh and was not refused."""
        if self._session is not None and self._is_good(self._session):
            return self._session
        if self._signing_in is None:
            self._signing_in = asyncio.create_task(self._sign_in())
            self._signing_in.add_done_callback(self._signed_in)
        # A request may time out before it ends: then it continues for the next one.
        return await asyncio.shield(self._signing_in)

    async def close(self) -> None:
        if self._signing_in is not None:
            self._signing_in.cancel()
            await asyncio.wait([self._signing_in])
        if self._session is not None:
            self._retired.append(self._session.connections)
            self._session = None
        while self._retired:
            await self._retired.pop().http.close()

    async def _sign_in(self) -> Session:
        try:
            self._session = await self._next(self._session)
        except KronError as error:
            # The server has not refused anything, but the caller's request has failed.
            raise ApiError(0, error.message, reason=CREDENTIALS, fix=error.fix) from error
        return self._session

    def _signed_in(self, task: asyncio.Task[Session]) -> None:
        self._signing_in = None
        if not task.cancelled():
            task.exception()  # if no request is waiting any more, asyncio would complain

    def _is_good(self, session: Session) -> bool:
        is_used = not session.is_refused and not session.is_silent
        return is_used and self._access.credentials.is_fresh(session.credential)

    async def _next(self, last: Session | None) -> Session:
        credential = await self._access.credentials.read()
        authority = self._access.authority.read()
        if (
            last is not None
            and not last.is_silent
            and authority == last.authority
            and credential.has_same_certificate(last.credential)
        ):
            return Session(last.connections, credential, authority, self._user_agent)
        context = self._access.ssl_context(credential)
        if last is not None:
            await last.connections.retire()
            retired = (*self._retired, last.connections)
            self._retired = [each for each in retired if not each.http.closed]
        return Session(Connections(context), credential, authority, self._user_agent)


def _now_s() -> float:
    return asyncio.get_running_loop().time()
