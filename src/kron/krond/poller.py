"""What the daemon waits on: descriptors, each with the callback that it is for.

A thin layer over epoll, level-triggered unless a mask says otherwise. It calls nobody: `wait`
returns what is ready, and the loop that asked decides in which order to call.
"""

from __future__ import annotations

import resource
import select
from collections.abc import Callable

TYPE_CHECKING = False
if TYPE_CHECKING:
    Callback = Callable[[int], None]

OTHER_DESCRIPTORS = 32
"""More than krond needs for itself, and for the streams of a run that it starts."""
LONGEST_S = 86_400.0
"""The longest wait at a time: epoll counts milliseconds, and at most 2**31 of them."""


class _Entry:
    """A callback as `wait` hands it out: once its descriptor is removed, it calls nothing.

    Of two descriptors that are ready together, the callback of the first may close the second,
    and may even have opened another by the same number.
    """

    __slots__ = ("callback",)

    def __init__(self, callback: Callback) -> None:
        self.callback: Callback | None = callback

    def __call__(self, events: int) -> None:
        if self.callback is not None:
            self.callback(events)


class Poller:
    """Descriptors to wait on. A descriptor is removed before it is closed."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._entries: dict[int, _Entry] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def has_room(self, more: int = 0) -> bool:
        """Whether another descriptor may be opened for long, when `more` have been already.

        A quarter is left alone: for what a start opens, for those who ask, for the unforeseen.
        """
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[0] * 3 // 4
        return len(self) + more + OTHER_DESCRIPTORS <= most

    def add(self, descriptor: int, mask: int, callback: Callback) -> None:
        """Call `callback` with the events, whenever one of `mask` (or an error) is there."""
        self._epoll.register(descriptor, mask)
        self._entries[descriptor] = _Entry(callback)

    def change(self, descriptor: int, mask: int) -> None:
        """Wait for other events. Errors and hang-ups are reported whatever the mask."""
        self._epoll.modify(descriptor, mask)

    def remove(self, descriptor: int) -> None:
        """Forget the descriptor; what `wait` returned for it before calls nothing any more."""
        self._entries.pop(descriptor).callback = None
        self._epoll.unregister(descriptor)

    def wait(self, timeout_s: float | None) -> list[tuple[Callback, int]]:
        """Sleep until something is ready, at most `timeout_s`: the callbacks, with their events.

        Nothing ready in time is an empty list, and so is nothing ready after a day, however long
        `timeout_s` is. What does not fit in one list comes in the next.
        """
        entries = self._entries
        if timeout_s is not None:
            timeout_s = min(timeout_s, LONGEST_S)
        return [
            (entries[descriptor], events)
            for descriptor, events in self._epoll.poll(timeout_s)
            if descriptor in entries
        ]

    def close(self) -> None:
        """Wait on nothing any more. The descriptors themselves stay open."""
        for entry in self._entries.values():
            entry.callback = None
        self._entries.clear()
        self._epoll.close()
