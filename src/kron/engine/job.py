"""A job as the engine sees it: its identity and its schedule."""

from __future__ import annotations

import hashlib

from kron.core.errors import Code, KronError
from kron.core.frozen import Frozen, derived
from kron.core.instant import DAY_S, from_text
from kron.core.memo import remembered
from kron.core.schedule import Schedule

MAX_OPEN_PERIODS = 10_000
"""How many periods of one job may be open at once, which bounds its ledger and every step."""

_LEAP_YEAR_S = range(from_text("2024-01-01T00:00:00Z"), from_text("2025-01-01T00:00:00Z"), DAY_S)


class Job(Frozen):
    """An identity and a schedule."""

    identity: str
    schedule: Schedule
    written: Schedule | None = None
    """The schedule as somebody wrote it, if defaults of the host were added. To change a default is
    no edit of the job."""

    timing: Schedule = derived()
    """The schedule as written without its suspension, by which an edit is noticed. To suspend and
    to resume a job is no edit, because what came due in between is caught up with."""
    text: str = derived()
    """The canonical text of `timing`."""
    lead_s: int = derived()
    """How long before its nominal instant a period may be chosen."""
    trail_s: int = derived()
    """How long after its nominal instant a period may be chosen."""

    def __post_init__(self) -> None:
        timing, text = _timing(self.written or self.schedule)
        lead_s, trail_s = -self.schedule.start_offset_s, self.schedule.window.end_offset_s
        self._derive(timing=timing, text=text, lead_s=lead_s, trail_s=trail_s)
        check_open_periods(self.schedule, self.identity)

    def run_id(self, period_id: str) -> str:
        """The name of the one run that a period may have, the same after every restart."""
        return hashlib.sha256(f"{self.identity}\n{period_id}".encode()).hexdigest()[:20]


@remembered
def _timing(schedule: Schedule) -> tuple[Schedule, str]:
    policy = schedule.policy
    if policy.suspend:
        schedule = schedule.replace(policy=policy.replace(suspend=False))
    return schedule, str(schedule)


def check_open_periods(schedule: Schedule, what: str) -> None:
    """Refuse a schedule of which more periods would be open at once than a ledger may hold."""
    open_periods = _most_open_periods(schedule)
    if open_periods > MAX_OPEN_PERIODS:
        found = f"{open_periods:,} periods of {what} would be open at once"
        fix = "shorten the window, or let the job run less often"
        raise KronError(Code.LIMIT, f"{found}, more than {MAX_OPEN_PERIODS:,}", fix)


def _most_open_periods(schedule: Schedule) -> int:
    """How many periods can be open at once: exact, or a bound if that is small enough."""
    width_s = schedule.width_s
    bound = schedule.nominals.wall.matches_a_day * (width_s // DAY_S + 2)
    if bound <= MAX_OPEN_PERIODS:
        return bound
    return max(schedule.nominals.count(day_s - 1, day_s + width_s) for day_s in _LEAP_YEAR_S)
