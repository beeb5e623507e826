"""Feasibility: how much of a window the constraints leave, and how often that is too little.

The shares are exact, not sampled: the seconds that are accepted form runs, and a law's cumulative
distribution weighs each run.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from kron.core.decision import MAX_ATTEMPTS
from kron.core.frozen import Frozen
from kron.core.instant import DAY_S, to_whole_seconds
from kron.core.schedule import Schedule


class Feasibility(Frozen):
    """For one period: the share of draws that are accepted, and the chance that none of 64 is."""

    share: float
    unschedulable: float


def feasibility(schedule: Schedule, *, nominal: datetime) -> Feasibility:
    """How likely the period of `schedule` at `nominal` is to find a second that is accepted."""
    nominal_s = to_whole_seconds(nominal)
    law = schedule.law
    if law is None:
        share = float(is_feasible(schedule, nominal_s))
        return Feasibility(share, 1.0 - share)
    start_s = nominal_s + schedule.start_offset_s
    seconds = schedule.width_s + 1
    share = sum(
        law.cumulative((run_end_s - start_s) / seconds)
        - law.cumulative((run_start_s - start_s) / seconds)
        for run_start_s, run_end_s in _accepted_runs(schedule, nominal_s)
    )
    share = min(max(share, 0.0), 1.0)
    return Feasibility(share, (1.0 - share) ** MAX_ATTEMPTS)


def is_feasible(schedule: Schedule, nominal_s: int) -> bool:
    """Whether the window of a period holds any second that the constraints accept."""
    if schedule.constraints.is_empty:
        return True
    return any(True for _ in _accepted_runs(schedule, nominal_s))


def _accepted_runs(schedule: Schedule, nominal_s: int) -> Iterator[tuple[int, int]]:
    """The seconds of a period's window that the constraints accept, as [first, end) runs."""
    start_s = nominal_s + schedule.start_offset_s
    end_s = start_s + schedule.width_s + 1
    constraints = schedule.constraints
    if constraints.is_empty:
        yield start_s, end_s
        return
    times_of_day = constraints.accepted_seconds()
    while start_s < end_s:
        span = schedule.zone.span_at(start_s)
        stop_s = min(end_s, span.end_s)
        first_day = (start_s + span.offset_s) // DAY_S
        last_day = (stop_s - 1 + span.offset_s) // DAY_S
        for day in filter(constraints.accepts_day, range(first_day, last_day + 1)):
            midnight_s = day * DAY_S - span.offset_s
            for first, end in times_of_day:
                run_start_s = max(start_s, midnight_s + first)
                run_end_s = min(stop_s, midnight_s + end)
                if run_start_s < run_end_s:
                    yield run_start_s, run_end_s
        start_s = stop_s
