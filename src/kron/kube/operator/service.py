"""The service: a process that runs an operator until a signal stops it."""

from __future__ import annotations

import asyncio
import gc
import signal
import traceback
from contextlib import AsyncExitStack, closing

import kron
from kron.core.errors import KronError
from kron.kube.client.access import Access
from kron.kube.client.client import Client
from kron.kube.operator.health import serve as serve_health
from kron.kube.operator.metrics import Metrics
from kron.kube.operator.operator import Operator
from kron.kube.operator.program import BROKEN, OK
from kron.kube.operator.settings import OperatorSettings
from kron.logs.event import Event
from kron.logs.journal import Journal
from kron.waking.clock import Clock
from kron.waking.timer import WallTimer


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
        client = Client(access, user_agent=agent, observe=metrics.requested)
        await stack.enter_async_context(client)
        timer = stack.enter_context(closing(WallTimer()))
        operator = Operator(settings, client, journal, metrics, clock, timer)
        if settings.http is not None:
            health = serve_health(settings.http, metrics, operator.why_not_ready)
            await stack.enter_async_context(health)
        task = asyncio.create_task(operator.run())

        def stop(reason: str) -> None:
            journal.event(Event.STOPPING, reason=reason, active=operator.starting)
            task.cancel()

        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop, number.name)
        try:
            await task
        except asyncio.CancelledError:
            if not task.cancelled():
                raise
    return OK
