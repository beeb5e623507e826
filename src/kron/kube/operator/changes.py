"""ChangeSignals: lets a task wait until something about a member has changed."""

from __future__ import annotations

import asyncio

from kron.kube.operator.member import ClusterMember


class ChangeSignals:
    """Maps each member to the tasks that wait for it to change."""

    def __init__(self) -> None:
        self._waiting: dict[ClusterMember, set[asyncio.Event]] = {}

    def tell(self, member: ClusterMember) -> None:
        """Something about it has changed: wake the tasks that wait for that."""
        for event in self._waiting.get(member, ()):
            event.set()

    async def wait(self, member: ClusterMember, timeout_s: float) -> None:
        """Wait until something about the member has changed, or the time is over."""
        event = asyncio.Event()
        waiting = self._waiting.setdefault(member, set())
        waiting.add(event)
        try:
            async with asyncio.timeout(timeout_s):
                await event.wait()
        except TimeoutError:
            pass
        finally:
            waiting.discard(event)
            if not waiting and self._waiting.get(member) is waiting:
                del self._waiting[member]
