"""A world: an adapter with all that surrounds it, and what was seen of it from outside.

An effect is whatever the adapter does that outlives it. A test can end it after any one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from kron.core.decision import Decision
from kron.core.duration import SECOND_NS
from kron.core.frozen import Frozen
from kron.core.instant import to_text
from kron.engine.ledger import Ledger
from kron.testing.clock import FakeClock
from kron.testing.life import START_S, Fault, FaultKind, Life

SLACK_S = 5


class Crash(BaseException):
    """The process is gone, as after kill -9: no line after this one runs."""


class Effects:
    """Counts effects, and crashes after those that the test chose."""

    def __init__(self, *crash_after: int) -> None:
        self.count = 0
        self.is_crashed = False
        """From a crash until the next boot."""
        self._crash_after = crash_after

    def happened(self) -> None:
        """Something was done that stays done."""
        self.count += 1
        if self.count in self._crash_after:
            self.is_crashed = True
            raise Crash

    def check(self) -> None:
        """Called before an effect: a dead process has none, though Python runs its `finally`."""
        if self.is_crashed:
            raise Crash


class World(ABC):
    def __init__(self, life: Life, effects: Effects) -> None:
        self.clock = FakeClock(to_text(START_S))
        self.effects = effects
        self.seen = Seen()
        self.takes_s = {job.name: job.takes_s for job in life.jobs}
        self._failing_ns: dict[FaultKind, int] = {}
        """Until when something fails, by the monotonic clock."""

    @abstractmethod
    def boot(self) -> None:
        """Start the adapter on what its store has."""

    @abstractmethod
    def crash(self) -> None:
        """The adapter is gone."""

    @abstractmethod
    def live_until(self, monotonic_ns: int) -> None:
        """Let virtual time pass."""

    @abstractmethod
    def edit(self, name: str, schedule: str) -> None: ...
    @abstractmethod
    def identity(self, name: str) -> str: ...
    @abstractmethod
    def stored(self, name: str) -> Ledger | None: ...

    def close(self) -> None:
        self.crash()

    def jump(self, by_s: int) -> None:
        self.clock.jump(by_s)

    def fault(self, fault: Fault) -> None:
        self._failing_ns[fault.kind] = self.clock.monotonic_ns() + fault.lasts_s * SECOND_NS

    def fails(self, kind: FaultKind) -> bool:
        return self.clock.monotonic_ns() < self._failing_ns.get(kind, 0)

    def stopped_ns(self) -> int:
        """For how long the adapter stands still from now on; 0 if that was asked before."""
        return max(0, self._failing_ns.pop(FaultKind.STOPPED, 0) - self.clock.monotonic_ns())

    @property
    def now_s(self) -> int:
        return self.clock.now_ns() // SECOND_NS


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
