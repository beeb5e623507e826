"""Constraints that leave too little: periods that cannot run, and periods that may not."""

from __future__ import annotations

from collections.abc import Iterator

from kron.core.schedule import Schedule
from kron.jobs.advice.outlook import Outlook, outlook
from kron.jobs.advice.remark import Advice, Part, Remark, modifier
from kron.jobs.advice.wording import clipped, percent, wall_text
from kron.jobs.advice.year import Year

_OFTEN = 0.01


def constraint_remarks(schedule: Schedule, year: Year) -> Iterator[Remark]:
    """What there is to say about the share of periods that find no second to run."""
    if not schedule.constraints:
        return
    found = outlook(schedule, year)
    if found.looked_at and not found.runnable:
        yield _never(schedule, year, found)
        return
    if found.excluded:
        yield _excludes(schedule, found)
    if found.mean_risk >= _OFTEN:
        yield _starves(schedule, found)


def _never(schedule: Schedule, year: Year, found: Outlook) -> Remark:
    first_s = found.first_excluded_s
    if first_s is None:
        first_s = schedule.nominals.after(year.now_s)
    why, part = _rejection(schedule, first_s)
    which = f"none of {_periods(found)}" if found.looked_at > 1 else "not even the one period"
    return Remark(
        Advice.CONSTRAINT_NEVER,
        part,
        f"{which} of the coming year can run: all of their windows are {why}",
        "move the window to where the clauses allow it, or remove the job",
    )


def _excludes(schedule: Schedule, found: Outlook) -> Remark:
    assert found.first_excluded_s is not None  # there is one
    why, part = _rejection(schedule, found.first_excluded_s)
    count = f"{found.excluded:,}"
    if found.is_sample:
        count = percent(found.excluded / found.looked_at)
    fix = "if that is meant, say so in the cron fields, and such periods will not exist"
    if found.excluded == found.excluded_by_clocks:
        fix = "the clocks are set then: allow an hour that exists on that day too"
    return Remark(
        Advice.CONSTRAINT_EXCLUDES,
        part,
        f"{count} of {_periods(found)} of the coming year cannot run, beginning with that of "
        f"{_when(schedule, found.first_excluded_s)}: its window is {why}",
        fix,
    )


def _starves(schedule: Schedule, found: Outlook) -> Remark:
    _, part = _rejection(schedule, found.worst_s)
    judged = f", judged by {_periods(found)} of the coming year" if found.is_sample else ""
    return Remark(
        Advice.CONSTRAINT_STARVES,
        part,
        f"a period that could run finds no second in {percent(found.mean_risk)} of all cases"
        f"{judged}: at worst, as on {_when(schedule, found.worst_s)}, the clauses leave "
        f"{percent(found.worst.share)} of the window and none of 64 draws hits it with a "
        f"probability of {percent(found.worst.unschedulable)}",
        "move or shorten the window, so that the clauses leave at least a tenth of it",
    )


def _periods(found: Outlook) -> str:
    if found.is_sample:
        return f"the {found.looked_at:,} periods looked at (of {found.total:,})"
    return f"the {found.looked_at:,} periods"


def _rejection(schedule: Schedule, nominal_s: int) -> tuple[str, Part]:
    """Why the window is refused, as its first second has it, and the modifier that says so."""
    time_filter = schedule.time_filter
    assert time_filter is not None  # it has constraints
    wall_s = schedule.zone.wall_at(nominal_s + schedule.start_offset_s)
    why = clipped(time_filter.rejection(wall_s) or "")
    name = "avoid" if why.startswith("inside") or not schedule.constraints.only else "only"
    return why, modifier(name)


def _when(schedule: Schedule, nominal_s: int) -> str:
    return f"{wall_text(schedule.zone.wall_at(nominal_s))} ({schedule.zone.key})"
