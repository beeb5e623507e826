"""A random life of a few jobs, from a seed: schedules, policies, and all that happens to them.

The same seed gives the same life on every machine. Lives are short, since a test lives each of
them again for every effect that it could crash after. What is rare on a host is rare here.
"""

from __future__ import annotations

import random
from enum import StrEnum

from kron.core.frozen import Frozen
from kron.core.instant import DAY_S, from_text

START_S = from_text("2026-03-01T00:00:00Z")

_BASES = ("* * * * *", "*/2 * * * *", "*/3 * * * *")
_WINDOWS = ("", "@win(after,30s)", "@win(after,2m)", "@win(around,90s)", "@win(after,4m)")
_DEADLINES = ("0s", "0s", "3s", "20s", "90s", "10m")
_CONCURRENCIES = ("allow", "forbid", "replace")
_DURATIONS_S = (0, 0, 1, 20, 70, 200)


class LivedJob(Frozen):
    """A job of a life. A run of it takes this long, if nothing stops it."""

    name: str
    schedule: str
    takes_s: int
    timeout_s: int | None = None
    ignores_term: bool = False
    """Its runs end at KILL only, if they are stopped."""


class Edit(Frozen):
    """At this second of the life a job gets another schedule, and comes back if it was removed."""

    at_s: int
    name: str
    schedule: str
    is_down: bool = False
    """The adapter is down meanwhile."""


class Remove(Frozen):
    """A job is configured no longer, until an edit."""

    at_s: int
    name: str
    is_down: bool = False


class Trigger(Frozen):
    """Somebody asks for a manual run."""

    at_s: int
    name: str


class Forget(Frozen):
    """Somebody has the past of a job forgotten."""

    at_s: int
    name: str


class Reboot(Frozen):
    """The host loses its power: all processes are gone, and what was not synced may be."""

    at_s: int


class Jump(Frozen):
    """At this second of the life the wall clock is set by a difference."""

    at_s: int
    by_s: int


class FaultKind(StrEnum):
    """What fails. What that means, and whether it can happen at all, each adapter says."""

    STORE_FAILS = "store-fails"
    STORE_SLOW = "store-slow"
    START_FAILS = "start-fails"
    START_REFUSED = "start-refused"
    """As START_FAILS, but another attempt would fail too."""
    ANSWER_LOST = "answer-lost"
    ARRIVES_LATE = "arrives-late"
    TWO_LEADERS = "two-leaders"
    STOPPED = "stopped"


class Fault(Frozen):
    """At this second of the life something begins to fail, for a while."""

    at_s: int
    lasts_s: int
    kind: FaultKind


Happening = Edit | Remove | Trigger | Forget | Reboot | Jump | Fault


class Life(Frozen):
    """What happens, apart from crashes."""

    seed: int
    jobs: tuple[LivedJob, ...]
    events: tuple[Happening, ...]
    lasts_s: int
    down_s: int
    """How long nothing runs after a crash."""
    most_running: int = 0
    """How many runs may go on at once, of all jobs; 0 for any number."""
    loses_power: bool = False
    """A crash is the host's, not only the adapter's."""

    @property
    def clock_is_true(self) -> bool:
        return not any(isinstance(event, Jump) for event in self.events)

    @property
    def last_look_s(self) -> int:
        """How long it goes on after its last event, so that what was begun comes to an end.

        A leader that stood still waits for its own lease to run out before it leads again, and an
        adapter whose store has failed may wait before it tries again.
        """
        return 120 if self.has(FaultKind.STOPPED) or self.has(FaultKind.STORE_FAILS) else 60

    def has(self, kind: FaultKind) -> bool:
        return any(isinstance(event, Fault) and event.kind == kind for event in self.events)

    def changes(self, name: str) -> list[Edit | Remove | Forget]:
        """What is done to a job by which it owes nothing from before."""
        changes = [event for event in self.events if isinstance(event, Edit | Remove | Forget)]
        return [change for change in changes if change.name == name]

    def without(self, kinds: tuple[type[Happening], ...]) -> Life:
        """The life in which nothing of these kinds happens."""
        return self.replace(events=tuple(e for e in self.events if not isinstance(e, kinds)))


SLOW_S = 3
"""How long a slow store takes for each change."""
FAR_S = 40 * DAY_S
MANY_JOBS = 16
"""As many as have their states in a bundle, and their lines after their starts."""


def life(seed: int) -> Life:
    chance = random.Random(seed)  # noqa: S311 - a test has to be repeatable
    is_crowded = chance.random() < 0.004
    jobs = tuple(
        _job(chance, number)
        for number in range(MANY_JOBS if is_crowded else chance.choice((1,) * 20 + (2, 2, 3)))
    )
    lasts_s = chance.choice((60, 90, 120))
    events: list[Happening] = []
    for _ in range(chance.choice((0, 1, 1, 2, 3))):
        events += _happenings(chance, chance.choice(jobs), chance.randrange(5, lasts_s))
    events.sort(key=lambda event: event.at_s)
    down_s = chance.choice((0, 1, 8, 45, 400))
    most_running = chance.choice((1, 2, 5)) if is_crowded or chance.random() < 0.05 else 0
    loses_power = chance.random() < 0.1
    return Life(seed, jobs, tuple(events), lasts_s, down_s, most_running, loses_power)


def _job(chance: random.Random, number: int) -> LivedJob:
    job = LivedJob(f"job-{number}", _schedule(chance), chance.choice(_DURATIONS_S))
    if chance.random() < 0.05:
        return job.replace(timeout_s=chance.choice((10, 60)), ignores_term=chance.random() < 0.5)
    return job


def _happenings(chance: random.Random, job: LivedJob, at_s: int) -> list[Happening]:
    """Something that happens, with what follows from it."""
    name = job.name
    is_down = chance.random() < 0.2
    kind = chance.random()
    if kind < 0.35:
        return [Edit(at_s, name, _schedule(chance), is_down)]
    if kind < 0.5:
        return [Jump(at_s, chance.choice((-7200, -90, -5, 5, 90, 7200)))]
    if kind < 0.8:
        return [Fault(at_s, chance.choice((1, 10, 60)), chance.choice(tuple(FaultKind)))]
    if kind < 0.84:
        return [Trigger(at_s, name), Trigger(at_s + chance.choice((0, 1, 15)), name)]
    if kind < 0.88:
        return [Reboot(at_s)]
    later_s = at_s + chance.choice((1, 10, 60))
    if kind < 0.94:
        removed: list[Happening] = [Remove(at_s, name, is_down)]
        if chance.random() < 0.3:  # then a run may be about to start
            removed.append(Fault(max(at_s - 9, 0), 15, FaultKind.START_FAILS))
        if chance.random() < 0.7:
            schedule = chance.choice((job.schedule, _schedule(chance)))
            removed.append(Edit(later_s, name, schedule, chance.random() < 0.2))
        return removed
    # The clock was wrong for a while.
    by_s = chance.choice((90, 7200, FAR_S))
    forget = Forget(later_s + chance.choice((0, 5)), name)
    if chance.random() < 0.3:
        return [forget]
    return [Jump(at_s, by_s), Jump(later_s, -by_s), forget]


def _schedule(chance: random.Random) -> str:
    policy = f"concurrency={chance.choice(_CONCURRENCIES)},deadline={chance.choice(_DEADLINES)}"
    if chance.random() < 0.1:
        policy += ",suspend=true"
    constraint = "@only(between=00:00-00:02)" if chance.random() < 0.1 else ""
    words = (chance.choice(_BASES), chance.choice(_WINDOWS), constraint, f"@policy({policy})")
    return " ".join(filter(None, words))
