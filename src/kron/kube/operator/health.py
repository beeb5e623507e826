"""Health and metrics over HTTP: /healthz, /readyz and /metrics, for probes and for Prometheus."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from kron.core.errors import Code, KronError
from kron.kube.operator.metrics import Metrics

_METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@asynccontextmanager
async def serve(
    address: tuple[str, int], metrics: Metrics, why_not_ready: Callable[[], str]
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
    routes = {"/healthz": healthz, "/readyz": readyz, "/metrics": show_metrics}
    application.add_routes([web.get(path, answer) for path, answer in routes.items()])
    runner = web.AppRunner(application, access_log=None, handle_signals=False)
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
