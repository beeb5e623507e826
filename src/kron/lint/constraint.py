"""Constraints that leave too little time: periods that cannot run, or often do not."""

from __future__ import annotations

from collections.abc import Iterator

from kron.core.schedule import Schedule
from kron.core.year import Year
from kron.lint.outlook import Outlook, outlook
from kron.lint.remark import Advice, Remark
from kron.lint.wording import clipped, local_text, percent

_OFTEN = 0.01


def constraint_remarks(schedule: Schedule, year: Year) -> Iterator[Remark]:
    if schedule.constraints.is_empty:
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
    message = f"{which} of the coming year can run: all of their windows are {why}"
    fix = "move the window to a time that the clauses allow, or remove the job"
    return Remark(Advice.CONSTRAINT_NEVER, part, message, fix)


def _excludes(schedule: Schedule, found: Outlook) -> Remark:
    assert found.first_excluded_s is not None  # there is one
    why, part = _rejection(schedule, found.first_excluded_s)
    share = percent(found.excluded / found.looked_at)
    count = share if found.is_sample else f"{found.excluded:,}"
    first = _when(schedule, found.first_excluded_s)
    which = f"{count} of {_periods(found)} of the coming year"
    message = f"{which} cannot run, the first at {first}: its window is {why}"
    fix = "if this is intended, exclude these periods in the cron fields"
    if found.excluded == found.excluded_by_clocks:
        fix = "the clocks change then: also allow an hour that exists on that day"
    return Remark(Advice.CONSTRAINT_EXCLUDES, part, message, fix)


def _starves(schedule: Schedule, found: Outlook) -> Remark:
    _, part = _rejection(schedule, found.worst_s)
    judged = f", estimated from {_periods(found)} of the coming year" if found.is_sample else ""
    return Remark(
        Advice.CONSTRAINT_STARVES,
        part,
        f"a period finds no second to run in {percent(found.mean_risk)} of all cases{judged}: "
        f"in the worst case, {_when(schedule, found.worst_s)}, the clauses leave "
        f"{percent(found.worst.share)} of the window, and all 64 draws miss it with a "
        f"probability of {percent(found.worst.unschedulable)}",
        "move or shorten the window so that the clauses leave at least a tenth of it",
    )


def _periods(found: Outlook) -> str:
    if found.is_sample:
        return f"the {found.looked_at:,} periods checked (of {found.total:,})"
    return f"the {found.looked_at:,} periods"


def _rejection(schedule: Schedule, nominal_s: int) -> tuple[str, str]:
    """Why the first second of the window is rejected, and the modifier that rejects it."""
    wall_s = schedule.zone.wall_at(nominal_s + schedule.start_offset_s)
    why = clipped(schedule.constraints.rejection(wall_s) or "")
    name = "avoid" if why.startswith("inside") or not schedule.constraints.only else "only"
    return why, f"@{name}"


def _when(schedule: Schedule, nominal_s: int) -> str:
    return f"{local_text(schedule, nominal_s)} ({schedule.zone.key})"
