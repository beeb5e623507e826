"""Windows that overlap, and windows that smooth nothing."""

from __future__ import annotations

from collections.abc import Iterator

from kron.core.distribution import DEFAULT_DISTRIBUTION
from kron.core.duration import format_duration
from kron.core.schedule import Schedule
from kron.jobs.advice.gap import gap_below, shortest_wall_gap_s
from kron.jobs.advice.remark import Advice, Remark, modifier
from kron.jobs.advice.wording import duration, wall_text
from kron.jobs.advice.year import Year

_NARROW_S = 60
_TAIL = 0.05


def window_remarks(schedule: Schedule, year: Year) -> Iterator[Remark]:
    """What there is to say about the width of a window."""
    if not schedule.window.duration_ns:
        if schedule.distribution != DEFAULT_DISTRIBUTION:
            yield Remark(
                Advice.WINDOW_MISSING,
                modifier("dist"),
                f"{schedule.distribution} has no window to act in: the job always runs at its "
                "nominal time",
                "add a window, such as @win(after,15m), or leave @dist out",
            )
        return
    if not schedule.width_s:
        yield Remark(
            Advice.WINDOW_NARROW,
            modifier("win"),
            f"a window of {format_duration(schedule.window.duration_ns)} has only one second to "
            "choose from: the job always runs at the same time",
            "widen it, for example to 5m, or leave @win out",
        )
        return
    yield from _narrow(schedule, year)
    yield from _overlapping(schedule, year)


def _middle_s(schedule: Schedule) -> float:
    """How many seconds the middle 90 % of all choices take up."""
    law = schedule.law
    assert law is not None  # there is a window
    return (law.quantile(1 - _TAIL) - law.quantile(_TAIL)) * (schedule.width_s + 1)


def _narrow(schedule: Schedule, year: Year) -> Iterator[Remark]:
    spread_s = _middle_s(schedule)
    # Where periods follow each other so closely, a wider window would overlap the next.
    if (
        spread_s >= _NARROW_S
        or 2 * schedule.width_s >= shortest_wall_gap_s(schedule.cron, year) > 0
    ):
        return
    within = f"9 of 10 runs fall within {duration(max(1, round(spread_s)))} of each other"
    if (1 - 2 * _TAIL) * (schedule.width_s + 1) < _NARROW_S:
        yield Remark(
            Advice.WINDOW_NARROW,
            modifier("win"),
            f"{schedule.window} is so narrow that it smooths nothing: {within}",
            "widen it, for example to 5m, or leave it out if the second matters",
        )
    else:
        yield Remark(
            Advice.WINDOW_NARROW,
            modifier("dist"),
            f"{schedule.distribution} uses next to nothing of the window: {within}",
            f"leave it out to use all of {schedule.window}, or flatten it",
        )


def _overlapping(schedule: Schedule, year: Year) -> Iterator[Remark]:
    gap = gap_below(schedule, year, schedule.width_s)
    if gap is None:
        return
    zone = schedule.zone
    open_periods = schedule.nominals.count(gap.first_s - 1, gap.first_s + schedule.width_s)
    longest = duration(gap.seconds)
    yield Remark(
        Advice.WINDOW_OVERLAP,
        modifier("win"),
        f"the window of {duration(schedule.width_s)} is longer than the {longest} between the "
        f"periods {wall_text(zone.wall_at(gap.first_s))} and "
        f"{wall_text(zone.wall_at(gap.second_s))} ({zone.key}): {open_periods:,} periods are open "
        "at once and may run out of order",
        f"a window of {longest} at most keeps their order",
    )
