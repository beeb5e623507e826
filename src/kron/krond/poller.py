"""The descriptors that the daemon waits on, each with its callback.

A thin layer over epoll, level-triggered unless a mask says otherwise. It calls no callback itself:
`wait` returns those that are ready, and the loop decides in which order to call them.
"""

from __future__ import annotations

import resource
import select
from collections.abc import Callable

Callback = Callable[[int], None]

OTHER_DESCRIPTORS = 32
"""More than krond itself and the streams of a run that it starts need."""
LONGEST_S = 86_400.0
"""The longest wait at a time: epoll counts milliseconds, and at most 2**31 of them."""


class Poller:
    """Descriptors to wait on. Remove a descriptor before closing it."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._callbacks: dict[int, Callback] = {}

    def __len__(self) -> int:
        return len(self._callbacks)

    def has_room(self, more: int = 0) -> bool:
        """Whether another descriptor may stay open for long, in addition to `more` others.

        A quarter of the limit is reserved: for starting runs, for clients, for the unforeseen.
        """
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[0] * 3 // 4
        return len(self) + more + OTHER_DESCRIPTORS <= most

    def add(self, descriptor: int, mask: int, callback: Callback) -> None:
        """Have `wait` return `callback` with the events, on one of `mask` or on an error."""

        def call(events: int) -> None:
            # Of two descriptors that are ready together, the callback of the first may remove the
            # second, and may even add another one with the same number.
            if self._callbacks.get(descriptor) is call:
                callback(events)

        self._epoll.register(descriptor, mask)
        self._callbacks[descriptor] = call

    def change(self, descriptor: int, mask: int) -> None:
        """Wait for other events. Errors and hang-ups are reported whatever the mask."""
        self._epoll.modify(descriptor, mask)

    def remove(self, descriptor: int) -> None:
        """Remove the descriptor. A callback that `wait` returned for it before does nothing."""
        del self._callbacks[descriptor]
        self._epoll.unregister(descriptor)

    def wait(self, timeout_s: float | None) -> list[tuple[Callback, int]]:
        """Sleep until something is ready, at most `timeout_s`: the callbacks, with their events.

        The list is empty if nothing is ready in time, or after a day even if `timeout_s` is longer.
        Descriptors that do not fit in one list come in the next.
        """
        if timeout_s is not None:
            timeout_s = min(timeout_s, LONGEST_S)
        return [
            (self._callbacks[descriptor], events)
            for descriptor, events in self._epoll.poll(timeout_s)
            if descriptor in self._callbacks
        ]

    def close(self) -> None:
        """Close the epoll descriptor. The other descriptors stay open."""
        self._callbacks.clear()
        self._epoll.close()
