"""Firings: the seconds at which a job runs. An unschedulable period fires nothing."""

from __future__ import annotations

from collections.abc import Iterator

from kron.core.decision import decide_at
from kron.engine.job import Job
from kron.engine.survey import nominals_after


def firings(job: Job, from_s: int, until_s: int) -> Iterator[int]:
    """When the job runs in [from_s, until_s), in the order of its periods.

    `agenda` has the same seconds in the order in which they come; counting needs no order.
    """
    if job.schedule.policy.suspend:
        return
    for nominal_s in nominals_after(job, from_s - job.trail_s - 1):
        if nominal_s - job.lead_s >= until_s:
            return
        fired_s = chosen_s(job, nominal_s)
        if fired_s is not None and from_s <= fired_s < until_s:
            yield fired_s


def chosen_s(job: Job, nominal_s: int) -> int | None:
    """When the period runs; None if it is unschedulable."""
    schedule = job.schedule
    if schedule.law is None and schedule.time_filter is None:
        return nominal_s + schedule.start_offset_s  # nothing to draw and nothing to refuse
    return decide_at(schedule, job.identity, nominal_s).chosen_s
