"""Changes: lets a task wait until something about a member has changed."""

from __future__ import annotations

import asyncio

from kron.kube.operator.member import Member


class Changes:
    """Who waits for a change of whom."""

    def __init__(self) -> None:
        self._waiting: dict[Member, set[asyncio.Event]] = {}

    def tell(self, member: Member) -> None:
        """Something about it has changed: whoever waits for that should look."""
        for event in self._waiting.get(member, ()):
            event.set()

    async def wait(self, member: Member, timeout_s: float) -> None:
        """Wait until something about the member has changed, or so long."""
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
