"""When the process that leads is certainly dead, and when nobody can tell."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from kron.kube.operator import peers
from kron.kube.operator.peers import MOST_PEERS, PATH, Peers, outlive
from tests.cluster.ports import free_ports
from tests.kube.client.server import run

ANSWERS = Callable[[web.Request], Awaitable[web.StreamResponse]]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "_PATIENCE_S", 0.02)
    monkeypatch.setattr(peers, "_AGAIN_S", 0.01)
    monkeypatch.setattr(peers, "_CONNECT_S", 0.2)


@asynccontextmanager
async def serving(answer: ANSWERS, port: int) -> AsyncIterator[None]:
    application = web.Application()
    application.router.add_get(PATH, answer)
    runner = web.AppRunner(
        application, access_log=None, handler_cancellation=True, shutdown_timeout=0.01
    )
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    try:
        yield
    finally:
        await runner.cleanup()


def leader(instance: str) -> ANSWERS:
    """A process that leads for ever."""
    return Peers(instance, asyncio.Event().wait).answer


async def is_certain(port: int, instance: str = "one") -> bool:
    """Whether death is certain within a moment."""
    try:
        async with asyncio.timeout(0.5):
            await outlive(f"127.0.0.1:{port}", instance)
    except TimeoutError:
        return False
    return True


def test_a_process_that_leads_is_alive_until_its_host_refuses_connections() -> None:
    async def test() -> None:
        [port] = free_ports(1)
        async with serving(leader("one"), port):
            watching = asyncio.ensure_future(outlive(f"127.0.0.1:{port}", "one"))
            await asyncio.sleep(0.2)
            assert not watching.done()
        async with asyncio.timeout(2):
            await watching

    run(test())


def test_an_address_at_which_it_was_never_met_proves_nothing() -> None:
    """It may be wrong: of another host, or of a port that only loopback reaches."""

    async def test() -> None:
        closed, taken = free_ports(2)
        async with serving(leader("another"), taken):
            assert not any(await asyncio.gather(is_certain(closed), is_certain(taken)))

    run(test())


def test_another_process_at_its_address_is_death() -> None:
    async def test() -> None:
        [port] = free_ports(1)
        async with serving(leader("one"), port):
            watching = asyncio.ensure_future(outlive(f"127.0.0.1:{port}", "one"))
            peers._AGAIN_S = 0.2  # the next one listens before the second refusal
            await asyncio.sleep(0.2)
        async with serving(leader("another"), port), asyncio.timeout(2):
            await watching

    run(test())


def test_one_refusal_is_not_enough() -> None:
    """A listener may be away for a moment."""

    async def test() -> None:
        [port] = free_ports(1)
        peers._AGAIN_S = 0.3
        async with serving(leader("one"), port):
            watching = asyncio.ensure_future(outlive(f"127.0.0.1:{port}", "one"))
            await asyncio.sleep(0.2)
        await asyncio.sleep(0.1)
        async with serving(leader("one"), port):
            await asyncio.sleep(0.5)
            assert not watching.done()
            watching.cancel()

    run(test())


async def _page(_: web.Request) -> web.StreamResponse:
    return web.Response(text="<h1>hello</h1>")


async def _unavailable(_: web.Request) -> web.StreamResponse:
    return web.Response(status=503, text=json.dumps({"instance": "another"}))


async def _list(_: web.Request) -> web.StreamResponse:
    return web.Response(text="[1]\n")


async def _silent(_: web.Request) -> web.StreamResponse:
    await asyncio.sleep(60)
    return web.Response()


async def _follower(request: web.Request) -> web.StreamResponse:
    return await Peers("one", lambda: asyncio.sleep(0)).answer(request)


@pytest.mark.parametrize("answer", [_page, _unavailable, _list, _silent, _follower])
def test_what_is_no_answer_of_another_operator_proves_nothing(answer: ANSWERS) -> None:
    """A proxy's page, a sidecar's error, or the process itself, which no longer leads."""

    async def test() -> None:
        [port] = free_ports(1)
        async with serving(answer, port):
            assert not await is_certain(port)

    run(test())


def test_a_host_that_cannot_be_reached_proves_nothing() -> None:
    async def test() -> None:
        assert not await _is_certain_of("127.0.0.1:0x")
        assert not await _is_certain_of("nowhere.invalid:80")

    async def _is_certain_of(peer: str) -> bool:
        try:
            async with asyncio.timeout(0.3):
                await outlive(peer, "one")
        except TimeoutError:
            return False
        return True

    run(test())


def test_one_that_left_before_the_answer_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    """As after a freeze. aiohttp would write a traceback into the log of the operator."""

    async def frozen(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return await leader("one")(request)

    async def test() -> None:
        [port] = free_ports(1)
        async with serving(frozen, port):
            assert not await is_certain(port)

    run(test())
    assert caplog.messages == []


def test_connections_are_bounded_and_one_that_ends_makes_room() -> None:
    async def test() -> None:
        [port] = free_ports(1)
        async with serving(leader("one"), port):
            opened = [
                await asyncio.open_connection("127.0.0.1", port) for _ in range(MOST_PEERS + 1)
            ]
            for _, writer in opened:
                writer.write(f"GET {PATH} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            first = [await reader.readline() for reader, _ in opened]
            assert sorted(first)[-1].split()[1] == b"503"
            assert len([line for line in first if line.split()[1] == b"200"]) == MOST_PEERS
            for _, writer in opened:
                writer.close()
            await asyncio.sleep(0.1)
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(f"GET {PATH} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            assert (await reader.readline()).split()[1] == b"200"
            writer.close()

    run(test())
