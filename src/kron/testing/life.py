"""A random life of a few jobs, from a seed: schedules, policies, edits, faults and clock jumps.

The same seed gives the same life on every machine. Lives are short, since a test lives each of
them again for every effect that it could crash after.
"""

from __future__ import annotations

import random
from enum import StrEnum

from kron.core.frozen import Frozen
from kron.core.instant import from_text

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


class Edit(Frozen):
    """At this second of the life a job gets another schedule."""

    at_s: int
    name: str
    schedule: str


class Jump(Frozen):
    """At this second of the life the wall clock is set by a difference."""

    at_s: int
    by_s: int


class FaultKind(StrEnum):
    """What fails. What that means, and whether it can happen at all, each adapter says."""

    STORE_FAILS = "store-fails"
    STORE_SLOW = "store-slow"
    START_FAILS = "start-fails"
    ANSWER_LOST = "answer-lost"
    ARRIVES_LATE = "arrives-late"
    TWO_LEADERS = "two-leaders"
    STOPPED = "stopped"


class Fault(Frozen):
    """At this second of the life something begins to fail, for a while."""

    at_s: int
    lasts_s: int
    kind: FaultKind


class Life(Frozen):
    """What happens, apart from crashes."""

    seed: int
    jobs: tuple[LivedJob, ...]
    events: tuple[Edit | Jump | Fault, ...]
    lasts_s: int
    down_s: int
    """How long nothing runs after a crash."""

    @property
    def clock_is_true(self) -> bool:
        return not any(isinstance(event, Jump) for event in self.events)

    @property
    def last_look_s(self) -> int:
        """How long it goes on after its last event, so that what was begun comes to an end.

        A leader that stood still waits for its own lease to run out before it leads again.
        """
        return 120 if self.has(FaultKind.STOPPED) else 60

    def has(self, kind: FaultKind) -> bool:
        return any(isinstance(event, Fault) and event.kind == kind for event in self.events)


SLOW_S = 3
"""How long a slow store takes for each change."""


def life(seed: int) -> Life:
    chance = random.Random(seed)  # noqa: S311 - a test has to be repeatable
    jobs = tuple(
        LivedJob(f"job-{number}", _schedule(chance), chance.choice(_DURATIONS_S))
        for number in range(chance.choice((1, 1, 1, 1, 1, 2)))
    )
    lasts_s = chance.choice((60, 90, 120))
    events: list[Edit | Jump | Fault] = []
    for _ in range(chance.choice((0, 1, 1, 2, 3))):
        at_s = chance.randrange(5, lasts_s)
        kind = chance.random()
        if kind < 0.4:
            events.append(Edit(at_s, chance.choice(jobs).name, _schedule(chance)))
        elif kind < 0.6:
            events.append(Jump(at_s, chance.choice((-7200, -90, -5, 5, 90, 7200))))
        else:
            events.append(Fault(at_s, chance.choice((1, 10, 60)), chance.choice(tuple(FaultKind))))
    events.sort(key=lambda event: event.at_s)
    return Life(seed, jobs, tuple(events), lasts_s, chance.choice((0, 1, 8, 45, 400)))


def _schedule(chance: random.Random) -> str:
    policy = f"concurrency={chance.choice(_CONCURRENCIES)},deadline={chance.choice(_DEADLINES)}"
    if chance.random() < 0.1:
        policy += ",suspend=true"
    constraint = "@only(between=00:00-00:02)" if chance.random() < 0.1 else ""
    words = (chance.choice(_BASES), chance.choice(_WINDOWS), constraint, f"@policy({policy})")
    return " ".join(filter(None, words))
