"""The decision: which second of a period's window was chosen, and how.

This is the decision contract, engine version 1. A change here changes when people's jobs run; the
golden vectors in tests/vectors check it bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import islice
from math import floor

from kron.core.frozen import Frozen
from kron.core.instant import to_datetime, to_seconds, to_text, to_whole_seconds
from kron.core.schedule import Schedule

ENGINE_VERSION = 1
MAX_ATTEMPTS = 64
UNSCHEDULABLE = "no candidate accepted within MaxAttempts"

_MASK = 2**64 - 1
_STEP = 0x9E3779B97F4A7C15
_UNIT = 2.0**-53


class Decision(Frozen):
    """One period's decision. Instants are UTC seconds; the properties give datetimes and text."""

    schedule: Schedule
    identity: str
    nominal_s: int
    period_key: str
    seed_hash: str
    window_start_s: int
    window_end_s: int
    chosen_s: int | None
    attempts: int

    @property
    def period_id(self) -> str:
        """The nominal instant as RFC3339 text."""
        return to_text(self.nominal_s)

    @property
    def nominal_time(self) -> datetime:
        """When the cron expression says the work is due."""
        return to_datetime(self.nominal_s)

    @property
    def window_start(self) -> datetime:
        """The first second that could be chosen."""
        return to_datetime(self.window_start_s)

    @property
    def window_end(self) -> datetime:
        """The last second that could be chosen."""
        return to_datetime(self.window_end_s)

    @property
    def chosen_time(self) -> datetime | None:
        """When the work runs, or None if no second was found that the constraints accept."""
        return None if self.chosen_s is None else to_datetime(self.chosen_s)

    @property
    def unschedulable(self) -> bool:
        """Whether no second was found."""
        return self.chosen_s is None

    @property
    def reason(self) -> str:
        """Why no second was found; '' if one was."""
        return UNSCHEDULABLE if self.chosen_s is None else ""


class Draw(Frozen):
    """One attempt: the draw u, its place x in the window, the second, and why it was rejected."""

    u: float
    x: float
    offset_s: int
    candidate_s: int
    rejection: str | None


class Trace(Frozen):
    """A decision with every draw that led to it.

    A window without width has one second and no draw: `rejection` says why that one is refused.
    """

    decision: Decision
    draws: tuple[Draw, ...]
    rejection: str | None = None


def decide(schedule: Schedule, *, identity: str, nominal: datetime) -> Decision:
    """The decision for the period of `schedule` whose nominal instant is `nominal`.

    The caller makes sure that the schedule has this nominal instant; `decide` does not check it,
    because a log must replay even after the time zone database has changed.
    """
    return decide_at(schedule, identity, to_whole_seconds(nominal))


def trace(schedule: Schedule, *, identity: str, nominal: datetime) -> Trace:
    """The same decision with every draw on the way to it; `decide` does not record them."""
    draws: list[Draw] = []
    decision = decide_at(schedule, identity, to_whole_seconds(nominal), draws.append)
    only_second = None if draws else _rejection(schedule, decision.window_start_s)
    return Trace(decision, tuple(draws), only_second)


def upcoming(
    schedule: Schedule, *, identity: str, after: datetime, count: int | None = None
) -> Iterator[Decision]:
    """The decisions of the periods with a nominal instant > `after`, in that order."""
    return islice(_upcoming(schedule, identity, to_seconds(after)), count)


def decide_at(
    schedule: Schedule, identity: str, nominal_s: int, observe: Callable[[Draw], None] | None = None
) -> Decision:
    """`decide` in seconds; it calls `observe`, if given, with every draw."""
    period_key = schedule.seed.period_key(nominal_s, schedule.zone)
    digest = schedule.seed.digest(identity, period_key)
    start_s = nominal_s + schedule.start_offset_s
    end_s = start_s + schedule.width_s
    chosen_s: int | None
    if schedule.law is None:
        attempts = 0
        chosen_s = start_s if _accepts(schedule, start_s) else None
    else:
        chosen_s, attempts = _draw(schedule, schedule.law.quantile, digest, start_s, observe)
    return Decision(
        schedule, identity, nominal_s, period_key, digest.hex(), start_s, end_s, chosen_s, attempts
    )


def _draw(
    schedule: Schedule,
    quantile: Callable[[float], float],
    digest: bytes,
    start_s: int,
    observe: Callable[[Draw], None] | None,
) -> tuple[int | None, int]:
    """The first candidate that is accepted, and the attempts it took."""
    width_s = schedule.width_s
    state = int.from_bytes(digest[:8], "big")
    for attempt in range(1, MAX_ATTEMPTS + 1):
        # SplitMix64, as a float in [0, 1).
        state = z = state + _STEP & _MASK
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & _MASK
        z = (z ^ z >> 27) * 0x94D049BB133111EB & _MASK
        u = ((z ^ z >> 31) >> 11) * _UNIT
        x = quantile(u)
        offset_s = min(max(floor(x * (width_s + 1)), 0), width_s)
        candidate_s = start_s + offset_s
        if observe is not None:
            observe(Draw(u, x, offset_s, candidate_s, _rejection(schedule, candidate_s)))
        if _accepts(schedule, candidate_s):
            return candidate_s, attempt
    return None, MAX_ATTEMPTS


def _accepts(schedule: Schedule, candidate_s: int) -> bool:
    constraints = schedule.constraints
    return constraints.is_empty or constraints.accepts(schedule.zone.wall_at(candidate_s))


def _rejection(schedule: Schedule, candidate_s: int) -> str | None:
    return schedule.constraints.rejection(schedule.zone.wall_at(candidate_s))


def _upcoming(schedule: Schedule, identity: str, after_s: int) -> Iterator[Decision]:
    while True:
        after_s = schedule.nominals.after(after_s)
        yield decide_at(schedule, identity, after_s)
