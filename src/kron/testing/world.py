"""A world: an adapter with all that surrounds it, and what was seen of it from outside."""

from __future__ import annotations

from typing import Protocol

from kron.core.decision import Decision
from kron.core.frozen import Frozen
from kron.engine.ledger import Ledger
from kron.testing.clock import FakeClock
from kron.testing.effects import Effects
from kron.testing.life import Fault

SLACK_S = 5


class World(Protocol):
    """An adapter and what surrounds it."""

    clock: FakeClock
    effects: Effects
    seen: Seen

    def boot(self) -> None:
        """Start the adapter on what its store has."""
        ...

    def crash(self) -> None:
        """The adapter is gone."""
        ...

    def live_until(self, monotonic_ns: int) -> None:
        """Let virtual time pass."""
        ...

    def edit(self, name: str, schedule: str) -> None: ...
    def jump(self, by_s: int) -> None: ...
    def fault(self, fault: Fault) -> None: ...
    def identity(self, name: str) -> str: ...
    def stored(self, name: str) -> Ledger | None: ...
    def close(self) -> None: ...


class StoreError(Exception):
    """The store of the adapter failed, which ends the adapter."""


class Began(Frozen):
    """A run was seen to begin."""

    name: str
    nominal_s: int
    chosen_s: int | None
    at_s: int
    others_active: int
    """How many runs of the job were active in that moment."""


class Said(Frozen):
    """The adapter announced that a period ended without a run."""

    name: str
    nominal_s: int
    outcome: str
    reason: str
    at_s: int
    chosen_s: int | None


class Seen:
    """All that was seen of a life."""

    def __init__(self) -> None:
        self.began: list[Began] = []
        self.said: list[Said] = []
        self.said_many: list[tuple[str, int, int]] = []
        """Announcements of many ends together: the job, the first and the last nominal instant."""
        self.triggered: set[tuple[str, int]] = set()
        """The runs that were announced: the job and the nominal instant of each."""
        self.decided: set[Decision] = set()
        """The decisions that were logged."""
        self.stored: list[dict[str, Ledger | None]] = []
        """What the store had at each crash."""
        self.crashed_s: list[int] = []
        """When that was."""

    @property
    def crashes(self) -> int:
        """How often the adapter crashed."""
        return len(self.stored)
