"""The descriptors that the daemon waits on, each with its callback.

A thin layer over epoll, level-triggered unless a mask says otherwise. It calls no callback itself:
`wait` returns those that are ready, and the loop decides in which order to call them.
"""

from __future__ import annotations

import resource
import select
from collections.abc import Callable

TYPE_CHECKING = False
if TYPE_CHECKING:
    Callback = Callable[[int], None]

OTHER_DESCRIPTORS = 32
"""More than krond itself and the streams of a run that it starts need."""
LONGEST_S = 86_400.0
"""The longest wait at a time: epoll counts milliseconds, and at most 2**31 of them."""


class _Entry:
    """A callback as `wait` returns it: it does nothing once its descriptor is removed.

    Of two descriptors that are ready together, the callback of the first may close the second,
    and may even open another one with the same number.
    """

    __slots__ = ("callback",)

    def __init__(self, callback: Callback) -> None:
        self.callback: Callback | None = callback

    def __call__(self, events: int) -> None:
        if self.callback is not None:
            self.callback(events)


class Poller:
    """Descriptors to wait on. Remove a descriptor before closing it."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._entries: dict[int, _Entry] = {}
        self.others = 0
        """How many descriptors are open for long that are not waited on here."""

    def __len__(self) -> int:
        return len(self._entries)

    def has_room(self, more: int = 0) -> bool:
        """Whether another descriptor may stay open for long, in addition to `more` others."""
        return self.room() > more

    def room(self) -> int:
        """How many more descriptors may stay open for long; 0 or less for none.

        A quarter of the limit is reserved: for starting runs, for clients, for the unforeseen.
        """
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[0] * 3 // 4
        return most + 1 - len(self) - self.others - OTHER_DESCRIPTORS

    def add(self, descriptor: int, mask: int, callback: Callback) -> None:
        """Have `wait` return `callback` with the events, on one of `mask` or on an error."""
        self._epoll.register(descriptor, mask)
        self._entries[descriptor] = _Entry(callback)

    def change(self, descriptor: int, mask: int) -> None:
        """Wait for other events. Errors and hang-ups are reported whatever the mask."""
        self._epoll.modify(descriptor, mask)

    def remove(self, descriptor: int) -> None:
        """Remove the descriptor. A callback that `wait` returned for it before does nothing."""
        self._entries.pop(descriptor).callback = None
        self._epoll.unregister(descriptor)

    def wait(self, timeout_s: float | None) -> list[tuple[Callback, int]]:
        """Sleep until something is ready, at most `timeout_s`: the callbacks, with their events.

        The list is empty if nothing is ready in time, or after a day even if `timeout_s` is longer.
        Descriptors that do not fit in one list come in the next.
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
        """Close the epoll descriptor. The other descriptors stay open."""
        for entry in self._entries.values():
            entry.callback = None
        self._entries.clear()
        self._epoll.close()
