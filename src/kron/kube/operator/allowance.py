"""An allowance: a burst of requests at once, and a limited number a second after that."""

from __future__ import annotations

import asyncio


class Allowance:
    def __init__(self, *, a_second: int, burst: int) -> None:
        self._a_second = a_second
        self._burst = burst
        self._left = float(burst)
        self._counted_at: float | None = None

    async def wait(self) -> None:
        """Wait until a request is allowed. Take it with `take`, unless it is not needed by then."""
        while (left := self._count()) < 1:
            await asyncio.sleep((1 - left) / self._a_second)

    def take(self) -> None:
        self._left -= 1

    def _count(self) -> float:
        now = asyncio.get_running_loop().time()
        passed_s = now - self._counted_at if self._counted_at is not None else 0.0
        self._counted_at = now
        self._left = min(self._burst, self._left + passed_s * self._a_second)
        return self._left
