"""The queue: which jobs are to be looked at next, by the instant at which they come due.

A heap. To move a job is to put it in again: its old entry is skipped when it comes up, or removed
together with the other old entries once they are the majority.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush

from kron.core.generic import Generic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol, TypeVar

    class Sleeper(Protocol):
        wake_s: int | None

    Member = TypeVar("Member", bound=Sleeper)
else:
    Member = None

AT_ONCE = 0
"""When to wake a member that is to be woken whatever the clock says."""
_FEW = 64


class Queue(Generic[Member]):
    """Members by their `wake_s`, which only the queue sets."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Member]] = []
        self._puts = 0
        """Orders the members of one second: the first that was put comes first."""
        self._left = 0
        """How many entries of the heap are out of date."""

    def put(self, member: Member, wake_s: int | None) -> None:
        """Wake the member then, and not when it was to be woken before; None: not at all."""
        if wake_s == member.wake_s:
            return
        if member.wake_s is not None:
            self._left += 1
        member.wake_s = wake_s
        if wake_s is not None:
            self._puts += 1
            heappush(self._heap, (wake_s, self._puts, member))
        if self._left > max(_FEW, len(self._heap) // 2):
            self.keep({id(place[2]): place[2] for place in sorted(self._heap)}.values())

    def next_s(self) -> int | None:
        """When the next member is due."""
        while self._heap and self._heap[0][0] != self._heap[0][2].wake_s:
            heappop(self._heap)
            self._left -= 1
        return self._heap[0][0] if self._heap else None

    def due(self, now_s: int) -> list[Member]:
        """Take out the members that are due, in the order in which they came due."""
        members = []
        while (wake_s := self.next_s()) is not None and wake_s <= now_s:
            member = heappop(self._heap)[2]
            member.wake_s = None
            members.append(member)
        return members

    def keep(self, members: Iterable[Member]) -> None:
        """Keep only these, and drop the entries that are out of date."""
        self._heap.clear()
        self._left = 0
        for member in members:
            if member.wake_s is not None:
                self._puts += 1
                self._heap.append((member.wake_s, self._puts, member))
        heapify(self._heap)
