"""The agenda: what a job will do from a moment on, in the order in which it comes due.

With a window longer than the gap between periods, that is not the order of the nominal instants.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush

from kron.core.decision import Decision, decide_at
from kron.core.feasibility import is_feasible
from kron.engine.job import Job
from kron.engine.survey import due_s, nominals_after, nominals_between

LOOK_AHEAD = 20_000
"""How many periods are asked for one that has a time: nearly two weeks of minutes."""


def next_run(job: Job, from_s: int) -> Decision | None:
    """The first period from `from_s` on that has a chosen time; None if no period soon has one."""
    earliest: Decision | None = None
    nominals = nominals_after(job, from_s - job.trail_s - 1)
    for nominal_s, _ in zip(nominals, range(LOOK_AHEAD), strict=False):
        if earliest is not None and nominal_s - job.lead_s > due_s(earliest):
            break  # neither this period nor a later one can come due before
        if not is_feasible(job.schedule, nominal_s):
            continue  # 64 draws would say the same
        decision = decide_at(job.schedule, job.identity, nominal_s)
        if decision.chosen_s is None or decision.chosen_s < from_s:
            continue
        if earliest is None or decision.chosen_s < due_s(earliest):
            earliest = decision
    return earliest


def agenda(job: Job, from_s: int) -> Iterator[Decision]:
    """The periods that come due at `from_s` or later."""
    waiting: list[tuple[int, int, Decision]] = []
    for nominal_s in nominals_after(job, from_s - job.trail_s - 1):
        while waiting and waiting[0][0] < nominal_s - job.lead_s:
            yield heappop(waiting)[2]  # neither this period nor a later one can come due before
        decision = decide_at(job.schedule, job.identity, nominal_s)
        if due_s(decision) >= from_s:
            heappush(waiting, (due_s(decision), nominal_s, decision))
    while waiting:
        yield heappop(waiting)[2]


def open_periods(job: Job, at_s: int) -> list[Decision]:
    """The periods whose window holds the moment, in nominal order."""
    nominals = nominals_between(job, at_s - job.trail_s, at_s + job.lead_s + 1)
    return [decide_at(job.schedule, job.identity, nominal_s) for nominal_s in nominals]
