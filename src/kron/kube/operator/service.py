"""The service: a process that runs an operator until a signal stops it.

It answers /healthz, /readyz and /metrics over HTTP, for probes and for Prometheus, and /leading for
the other replicas.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, closing

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

import kron
from kron.core.errors import Code, KronError
from kron.kube.client.access import Access
from kron.kube.client.client import Client
from kron.kube.client.server_clock import ServerClock
from kron.kube.operator.metrics import Metrics
from kron.kube.operator.operator import Operator
from kron.kube.operator.peers import PATH, Peers, outlive
from kron.kube.operator.program import BROKEN, OK
from kron.kube.operator.settings import OperatorSettings
from kron.logs.event import Event
from kron.logs.journal import Journal
from kron.waking.clock import Clock
from kron.waking.timer import WallTimer

_METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def serve(settings: OperatorSettings, access: Access) -> int:
    """Run until SIGTERM or SIGINT, and answer the exit code."""
    # Nearly all that is made stays: ten thousand KronJobs read in two thirds of the time.
    gc.set_threshold(20_000, 50, 50)
    try:
        return asyncio.run(_serve(settings, access))
    except KronError:
        raise
    except Exception:  # another replica takes over, and this one is started again
        traceback.print_exc()
        return BROKEN


async def _serve(settings: OperatorSettings, access: Access) -> int:
    clock = Clock()
    metrics = Metrics()
    journal = Journal(
        clock, form=settings.log_format, level=settings.log_level, explain=settings.explain
    )
    agent = f"kron-operator/{kron.__version__}"
    async with AsyncExitStack() as stack:
        server_clock = ServerClock(clock)
        client = Client(
            access,
            user_agent=agent,
            observe=metrics.requested,
            observe_date=server_clock.heard,
        )
        await stack.enter_async_context(client)
        timer = stack.enter_context(closing(WallTimer()))
        operator = Operator(settings, client, journal, metrics, clock, timer, server_clock, outlive)
        if settings.http is not None:
            peers = Peers(operator.instance, operator.wait_until_it_follows)
            health = _serve_health(
                settings.http, metrics, peers, operator.why_not_ready, _logger(journal)
            )
            await stack.enter_async_context(health)
        task = asyncio.create_task(operator.run())

        def stop(reason: str) -> None:
            journal.event(Event.STOPPING, reason=reason, active=operator.starting)
            task.cancel()

        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop, number.name)
        try:
            await task
        except asyncio.CancelledError:
            if not task.cancelled():
                raise
    return OK


@asynccontextmanager
async def _serve_health(
    address: tuple[str, int],
    metrics: Metrics,
    peers: Peers,
    why_not_ready: Callable[[], str],
    logger: logging.Logger,
) -> AsyncIterator[None]:
    """Answer while the context lasts. `why_not_ready` says '' once everything is known."""

    async def healthz(_: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def readyz(_: web.Request) -> web.Response:
        reason = why_not_ready()
        return web.Response(text=f"{reason or 'ok'}\n", status=503 if reason else 200)

    async def show_metrics(_: web.Request) -> web.Response:
        return web.Response(body=metrics.text().encode(), headers={"Content-Type": _METRICS_TYPE})

    application = web.Application()
    routes = [
        web.get("/healthz", healthz),
        web.get("/readyz", readyz),
        web.get("/metrics", show_metrics),
        web.get(PATH, peers.answer),
    ]
    application.add_routes(routes)
    # Cancelled, so that a connection that was closed does not count for ever.
    runner = web.AppRunner(
        application,
        access_log=None,
        logger=logger,
        handle_signals=False,
        handler_cancellation=True,
    )
    await runner.setup()
    host, port = address
    try:
        await web.TCPSite(runner, host, port).start()
    except OSError as error:
        message = f"health and metrics cannot be served on {host}:{port}: {error.strerror}"
        raise KronError(Code.CONTROL, message, fix="choose another with --http") from None
    else:
        yield
    finally:
        await runner.cleanup()


def _logger(journal: Journal) -> logging.Logger:
    """What goes wrong with a request of somebody else, as lines of our log.

    A request that is not HTTP is answered with 400 and not logged: anybody may send a million.
    """

    class Complaints(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            error = record.exc_info[1] if record.exc_info else None
            if not isinstance(error, HttpProcessingError):
                journal.error("answer a request", f"{record.getMessage()}: {error!r}")

    logger = logging.Logger("kron.http", logging.WARNING)
    logger.addHandler(Complaints())
    return logger
