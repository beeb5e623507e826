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
from kron.testing.life import START_S, Fault, FaultKind, Happening, Life

SLACK_S = 5
REFUSED = "it is refused for good"
"""Why a run is not started while starts are refused."""


class Crash(BaseException):
    """The process is gone, as after kill -9: no line after this one runs."""


class PowerLoss(Crash):
    """Every process of the host is gone."""


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
    never_happens: tuple[type[Happening], ...] = ()
    """What cannot happen to this adapter."""

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
    def write(self, name: str, schedule: str) -> None:
        """Change what is configured, whether or not the adapter is there; '' removes the job."""

    @abstractmethod
    def reload(self) -> None:
        """Let the adapter notice what was written."""

    @abstractmethod
    def identity(self, name: str) -> str: ...
    @abstractmethod
    def stored(self, name: str) -> Ledger | None: ...

    def close(self) -> None:
        self.crash()

    @abstractmethod
    def lose_power(self) -> None:
        """The host of a crashed adapter has no power for a moment, either."""

    def trigger(self, name: str) -> None:
        """Ask for a manual run."""
        raise NotImplementedError

    def forget(self, name: str) -> None:
        """Have a job's past forgotten. A `StoreError` means that it is not."""
        raise NotImplementedError

    def kept(self, name: str) -> Kept | None:
        """What is on record of a job's runs; None if the adapter has no history of them."""
        return None

    def lasted(self) -> list[Lasted]:
        """How long each process went on, where that is known."""
        return []

    def jump(self, by_s: int) -> None:
        self.clock.jump(by_s)

    def fault(self, fault: Fault) -> None:
        self._failing_ns[fault.kind] = self.clock.monotonic_ns() + fault.lasts_s * SECOND_NS

    def fails(self, kind: FaultKind) -> bool:
        return self.clock.monotonic_ns() < self._failing_ns.get(kind, 0)

    def stopped_ns(self) -> int:
        """For how long the adapter stands still from now on; 0 if that was asked before."""
        until_ns = self._failing_ns.pop(FaultKind.STOPPED, 0)
        stopped_ns = max(0, until_ns - self.clock.monotonic_ns())
        self.seen.away_s += -(-stopped_ns // SECOND_NS)
        return stopped_ns

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
    era: int = 0
    """How often the job had been forgotten before."""


class BeganManually(Frozen):
    name: str
    run_id: str
    others_active: int


class Said(Frozen):
    """The adapter announced that a period ended without a run."""

    name: str
    nominal_s: int
    outcome: str
    reason: str
    at_s: int
    chosen_s: int | None
    era: int = 0


class Exited(Frozen):
    """The adapter announced that a run has ended. A manual run has no period."""

    name: str
    nominal_s: int | None
    run_id: str


class Lasted(Frozen):
    """How long a process went on. One that goes on still is as old as this."""

    name: str
    run_id: str
    seconds: int


class KeptEnd(Frozen):
    """The end of a period or of a manual run, on record."""

    nominal_s: int | None
    run_id: str
    outcome: str
    reason: str


class Kept(Frozen):
    """What is on record of a job's runs."""

    ended: tuple[KeptEnd, ...]
    active: frozenset[str]
    """The run ids of what goes on or is about to start."""
    is_full: bool
    """Older ends may have made room."""
    is_busy: bool
    """A process of the job goes on, or did until now."""


class Seen:
    def __init__(self) -> None:
        self.began: list[Began] = []
        self.began_manually: list[BeganManually] = []
        self.said: list[Said] = []
        self.said_many: list[tuple[str, int, int]] = []
        """Announcements of many ends together: the job, the first and the last nominal instant."""
        self.exited: list[Exited] = []
        self.triggered: set[tuple[str, int]] = set()
        """The runs that were announced: the job and the nominal instant of each."""
        self.decided: set[Decision] = set()
        """The decisions that were logged."""
        self.accepted: list[tuple[str, str]] = []
        """The manual runs that were promised: the job and the run id of each."""
        self.forgotten: dict[str, list[int]] = {}
        """When each job was forgotten."""
        self.absent: dict[str, list[tuple[int, int | None]]] = {}
        """From when to when each job was not configured; None for the end of the life."""
        self.most_running = 0
        """How many runs, of all jobs, were seen to go on at once."""
        self.stored: list[dict[str, Ledger | None]] = []
        """What the store had at each crash."""
        self.kept: list[dict[str, Kept | None]] = []
        """What was on record at each crash."""
        self.crashed_s: list[int] = []
        """When that was."""
        self.losses_of_power = 0
        self.away_s = 0
        """For how long the adapter was down or stood still, all in all."""

    def era(self, name: str) -> int:
        return len(self.forgotten.get(name, ()))

    def is_absent(self, name: str) -> bool:
        """Whether the job is not configured now."""
        return any(until_s is None for _, until_s in self.absent.get(name, ()))

    def is_abandoned(self, name: str) -> bool:
        """Whether nobody looks after its runs: it is not configured, and was not at a boot."""
        return self.is_absent(name) and bool(self.crashed_s)

    def kept_at_crashes(self, name: str) -> list[KeptEnd]:
        """The ends that were on record whenever the adapter crashed."""
        kept = (at_crash[name] for at_crash in self.kept)
        return [end for each in kept if each is not None for end in each.ended]
