"""Timeouts that outlast the next period, and rare jobs that a reboot loses."""

from __future__ import annotations

from collections.abc import Iterator

from kron.core.duration import SECOND_NS, format_duration
from kron.core.policy import Concurrency
from kron.core.schedule import Schedule
from kron.jobs.advice.gap import gap_below
from kron.jobs.advice.remark import SCHEDULE, Advice, Remark, field
from kron.jobs.advice.wording import duration, wall_text
from kron.jobs.advice.year import Year, least_spacing
from kron.jobs.task import Task

_RARE_DAYS = 27
"""Monthly or rarer: losing such a run costs a month, and there are few of them."""


def timeout_remarks(schedule: Schedule, task: Task, year: Year) -> Iterator[Remark]:
    """A run that hangs may cost the periods that come due before its timeout."""
    if task.timeout_ns is None or schedule.policy.concurrency is not Concurrency.FORBID:
        return
    timeout_s = task.timeout_ns // SECOND_NS
    gap = gap_below(schedule, year, timeout_s)
    if gap is None:
        return
    zone = schedule.zone
    lost = schedule.nominals.count(gap.first_s, gap.first_s + timeout_s - 1)
    yield Remark(
        Advice.TIMEOUT_LONG,
        field("timeout"),
        f"a run may take {format_duration(task.timeout_ns)}, but periods are down to "
        f"{duration(gap.seconds)} apart ({wall_text(zone.wall_at(gap.first_s))}, {zone.key}): "
        f"with concurrency=forbid a run that hangs there costs the next "
        f"{'period' if lost == 1 else f'{lost:,} periods'}",
        f"shorten it to {duration(gap.seconds)}, or choose @policy(concurrency=replace) or allow",
    )


def deadline_remarks(schedule: Schedule, year: Year) -> Iterator[Remark]:
    """A job that runs monthly or more rarely, and not at all if the host is down that second."""
    if schedule.policy.deadline_ns or schedule.nominals.wall.matches_a_day > 1:
        return
    days_apart = least_spacing(year.cron_days(schedule.cron))
    if 0 < days_apart < _RARE_DAYS:
        return
    after_s = schedule.nominals.after(year.now_s)
    following_s = schedule.nominals.after(after_s)
    zone = schedule.zone
    yield Remark(
        Advice.DEADLINE_NONE,
        SCHEDULE,
        "without a deadline a run is lost if the host is down at its second, and after "
        f"{wall_text(zone.wall_at(after_s))} the next is due on "
        f"{wall_text(zone.wall_at(following_s))} ({zone.key})",
        "allow it to be late, for example by @policy(deadline=24h)",
    )
