"""Windows that overlap or smooth nothing, timeouts that outlast periods, and missing deadlines."""

from __future__ import annotations

from collections.abc import Iterator

from kron.core.bits import least_spacing
from kron.core.distribution import DEFAULT_DISTRIBUTION
from kron.core.duration import SECOND_NS, format_duration
from kron.core.gap import gap_below, shortest_wall_gap_s
from kron.core.policy import Concurrency
from kron.core.schedule import Schedule
from kron.core.year import Year
from kron.jobs.task import Task
from kron.lint.remark import SCHEDULE, Advice, Remark
from kron.lint.wording import duration, local_text

_NARROW_S = 60
_TAIL = 0.05
_RARE_DAYS = 27
"""Monthly or rarer: a lost run costs a month."""


def window_remarks(schedule: Schedule, year: Year) -> Iterator[Remark]:
    if schedule.width_s:
        yield from _narrow(schedule, year)
        yield from _overlapping(schedule, year)
    elif schedule.window.duration_ns:
        what = f"a window of {format_duration(schedule.window.duration_ns)}"
        message = f"{what} has only one second to choose from: the job always runs at the same time"
        fix = "widen it, for example to 5m, or leave out @win"
        yield Remark(Advice.WINDOW_NARROW, "@win", message, fix)
    elif schedule.distribution != DEFAULT_DISTRIBUTION:
        what = str(schedule.distribution)
        message = f"{what} has no window to act in: the job always runs at its nominal time"
        fix = "add a window, such as @win(after,15m), or leave out @dist"
        yield Remark(Advice.WINDOW_MISSING, "@dist", message, fix)


def _narrow(schedule: Schedule, year: Year) -> Iterator[Remark]:
    law = schedule.law
    assert law is not None  # there is a window
    seconds = schedule.width_s + 1
    middle_s = (law.quantile(1 - _TAIL) - law.quantile(_TAIL)) * seconds
    # If periods are this close together, a wider window would overlap the next.
    if middle_s >= _NARROW_S or 2 * schedule.width_s >= shortest_wall_gap_s(schedule, year) > 0:
        return
    name, what = "dist", f"{schedule.distribution} uses almost none of the window"
    fix = f"leave it out to use all of {schedule.window}, or flatten it"
    if (1 - 2 * _TAIL) * seconds < _NARROW_S:
        name, what = "win", f"{schedule.window} is too narrow to smooth anything"
        fix = "widen it, for example to 5m, or leave it out if the second matters"
    within = f"9 of 10 runs fall within {duration(max(1, round(middle_s)))} of each other"
    yield Remark(Advice.WINDOW_NARROW, f"@{name}", f"{what}: {within}", fix)


def _overlapping(schedule: Schedule, year: Year) -> Iterator[Remark]:
    gap = gap_below(schedule, year, schedule.width_s)
    if gap is None:
        return
    open_periods = schedule.nominals.count(gap.first_s - 1, gap.first_s + schedule.width_s)
    longest = duration(gap.seconds)
    message = (
        f"the window of {duration(schedule.width_s)} is longer than the {longest} between the "
        f"periods {local_text(schedule, gap.first_s)} and {local_text(schedule, gap.second_s)} "
        f"({schedule.zone.key}): {open_periods:,} periods are open at once and may run out of order"
    )
    fix = f"a window of at most {longest} keeps their order"
    yield Remark(Advice.WINDOW_OVERLAP, "@win", message, fix)


def timeout_remarks(schedule: Schedule, task: Task, year: Year) -> Iterator[Remark]:
    """A run that hangs skips the periods that come due before its timeout."""
    if task.timeout_ns is None or schedule.policy.concurrency is not Concurrency.FORBID:
        return
    timeout_s = task.timeout_ns // SECOND_NS
    gap = gap_below(schedule, year, timeout_s)
    if gap is None:
        return
    lost = schedule.nominals.count(gap.first_s, gap.first_s + timeout_s - 1)
    shortest, which = duration(gap.seconds), "period" if lost == 1 else f"{lost:,} periods"
    message = (
        f"a run may take {format_duration(task.timeout_ns)}, but periods are as little as "
        f"{shortest} apart ({local_text(schedule, gap.first_s)}, {schedule.zone.key}): with "
        f"concurrency=forbid, a run that hangs skips the next {which}"
    )
    fix = f"shorten it to {shortest}, or choose @policy(concurrency=replace) or allow"
    yield Remark(Advice.TIMEOUT_LONG, "timeout=", message, fix)


def slots_remarks(schedule: Schedule, task: Task) -> Iterator[Remark]:
    """A job that waits for its slots, and may hardly be late."""
    if not task.slots or schedule.terms.deadline_ns:
        return
    message = (
        f"without a deadline a run waits only for seconds (--trigger-slack) for "
        f"{' and '.join(task.slots)}, and is then missed"
    )
    fix = "let it wait, for example with @policy(deadline=1h)"
    yield Remark(Advice.SLOTS_DEADLINE, SCHEDULE, message, fix)


def deadline_remarks(schedule: Schedule, year: Year) -> Iterator[Remark]:
    """A job that runs monthly or less often, and is skipped if the host is down that second."""
    if schedule.policy.deadline_ns or schedule.nominals.wall.matches_a_day > 1:
        return
    if 0 < least_spacing(year.matching_days(schedule)) < _RARE_DAYS:
        return
    first_s = schedule.nominals.after(year.now_s)
    first = local_text(schedule, first_s)
    following = local_text(schedule, schedule.nominals.after(first_s))
    message = (
        f"without a deadline a run is lost if the host is down at its second, and after {first} "
        f"the next is due on {following} ({schedule.zone.key})"
    )
    fix = "allow late runs, for example with @policy(deadline=24h)"
    yield Remark(Advice.DEADLINE_NONE, SCHEDULE, message, fix)
