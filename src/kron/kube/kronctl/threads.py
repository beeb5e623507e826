"""Threads that nobody waits for at the end: those in which asyncio resolves the names of hosts.

A resolver cannot be stopped. With the executor of asyncio, a command whose time is up would end
only when the resolver gives up.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ParamSpec, TypeVar

    P = ParamSpec("P")
    T = TypeVar("T")


class Threads(ThreadPoolExecutor):
    """One daemon thread for each call. asyncio takes no executor of another class."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()  # so that its end is never that of a cancelled one

        def run() -> None:
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as error:
                future.set_exception(error)

        Thread(target=run, daemon=True).start()
        return future
