"""A pause: while it lasts, krond decides about no period.

Runs that go on are watched as usual, and requests are answered. When it is over, krond goes on by
itself: each period by its deadline, as after downtime.
"""

from __future__ import annotations

from collections.abc import Callable

from kron.core.duration import SECOND_NS
from kron.krond.host import Host
from kron.logs.event import Event
from kron.logs.timestamp import timestamp_text


class Pause:
    """One cause to pause for. `on_change` is called when it begins and when it ends."""

    def __init__(self, cause: str, host: Host, on_change: Callable[[], None]) -> None:
        self.reason = ""
        """For people; '' unless it lasts."""
        self._cause = cause
        self._host = host
        self._on_change = on_change
        self._since_ns = 0
        self._began_ns = 0

    @property
    def is_on(self) -> bool:
        return bool(self.reason)

    def begin(self, reason: str) -> None:
        """Begin, or go on for another reason."""
        if not self.is_on:
            self._since_ns = self._host.clock.now_ns()
            self._began_ns = self._host.clock.monotonic_ns()
        self.reason = reason
        self._host.journal.event(Event.PAUSED, cause=self._cause, reason=reason)
        self._on_change()

    def end(self) -> None:
        self.reason = ""
        took_ns = self._host.clock.monotonic_ns() - self._began_ns
        self._host.journal.event(
            Event.RESUMED, cause=self._cause, seconds=round(took_ns / SECOND_NS, 3)
        )
        self._on_change()

    def trouble(self) -> dict[str, object]:
        """The pause as `krond status` has it."""
        since = timestamp_text(self._since_ns)
        return {"kind": self._cause, "since": since, "text": f"paused: {self.reason}"}


class Pauses:
    """All causes to pause for."""

    def __init__(self, host: Host, on_change: Callable[[], None]) -> None:
        self._host = host
        self._on_change = on_change
        self._all: list[Pause] = []

    def add(self, cause: str) -> Pause:
        pause = Pause(cause, self._host, self._on_change)
        self._all.append(pause)
        return pause

    @property
    def is_on(self) -> bool:
        return any(pause.is_on for pause in self._all)

    @property
    def text(self) -> str:
        """Why krond pauses, for people; '' if it does not."""
        return "; ".join(f"paused: {pause.reason}" for pause in self._all if pause.is_on)

    def troubles(self) -> list[dict[str, object]]:
        return [pause.trouble() for pause in self._all if pause.is_on]
