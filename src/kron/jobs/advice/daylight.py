"""Daylight saving: times of day that a change of the clocks takes away or shows twice.

Only schedules that name hours are looked at. One that runs in every hour passes through a change
as through any other hour, and nobody is surprised.
"""

from __future__ import annotations

from collections.abc import Iterator

from kron.core.cron import HOUR
from kron.core.instant import DAY_S, to_text
from kron.core.schedule import Schedule
from kron.jobs.advice.remark import Advice, Remark, cron_field
from kron.jobs.advice.wording import date_text, listed, time_text
from kron.jobs.advice.year import Change, Year

_EVERY_HOUR = (1 << 24) - 1
_TOLD = 1440


def daylight_remarks(schedule: Schedule, year: Year) -> Iterator[Remark]:
    """What happens when the clocks are set; for each direction the first time that it matters."""
    hours = schedule.cron.hour.mask
    if hours == _EVERY_HOUR:
        return
    told: set[bool] = set()
    for change in year.changes(schedule.zone):
        if hours & change.hours and change.is_gap not in told:
            walls_s = _matches(schedule, change)
            if walls_s:
                told.add(change.is_gap)
                yield (_gap if change.is_gap else _fold)(schedule, change, walls_s)


def _matches(schedule: Schedule, change: Change) -> list[int]:
    """The wall times that match among those which do not exist, or exist twice."""
    found: list[int] = []
    wall = schedule.nominals.wall
    wall_s = wall.at_or_after(change.first_s)
    while wall_s < change.end_s and len(found) < _TOLD:
        found.append(wall_s)
        wall_s = wall.at_or_after(wall_s + 1)
    return found


def _gap(schedule: Schedule, change: Change, walls_s: list[int]) -> Remark:
    cron = schedule.cron
    many = len(walls_s) > 1
    if not cron.is_fixed:
        star = "minute" if cron.minute.starred else "hour"
        then = f"nothing runs then, because the {star} begins with a star"
        fix = _outside(change)
    else:
        first_s = schedule.nominals.after(change.at_s - 1)
        wall_s = first_s + change.after_s
        place = f"{time_text(wall_s % DAY_S)} ({to_text(first_s)})"
        then = _period_of_gap(schedule, wall_s, place, many=many)
        fix = _outside(change)
    verb = "do" if many else "does"
    return Remark(
        Advice.DAYLIGHT_GAP,
        cron_field(HOUR),
        f"{_times(walls_s)} {verb} not exist on {date_text(walls_s[0] // DAY_S)} in "
        f"{schedule.zone.key}, where clocks go from {_clock(change.first_s)} to "
        f"{_clock(change.end_s)}: {then}",
        fix,
    )


def _period_of_gap(schedule: Schedule, wall_s: int, place: str, *, many: bool) -> str:
    if schedule.nominals.wall.at_or_after(wall_s) == wall_s:
        return f"the period at {place} stands for {'them' if many else 'it'} too"
    moved = "one period stands for them all," if many else "the period is"
    return f"{moved} at {place}"


def _fold(schedule: Schedule, change: Change, walls_s: list[int]) -> Remark:
    cron = schedule.cron
    many = len(walls_s) > 1
    first_s = walls_s[0] - change.before_s
    second_s = walls_s[0] - change.after_s
    if cron.is_fixed:
        then = f"{'each has' if many else 'it has'} one period, at the first ({to_text(first_s)})"
    else:
        star = "minute" if cron.minute.starred else "hour"
        then = (
            f"{'each has' if many else 'it has'} two periods ({to_text(first_s)} and "
            f"{to_text(second_s)}), because the {star} begins with a star"
        )
    verb = "occur" if many else "occurs"
    return Remark(
        Advice.DAYLIGHT_FOLD,
        cron_field(HOUR),
        f"{_times(walls_s)} {verb} twice on {date_text(walls_s[0] // DAY_S)} in "
        f"{schedule.zone.key}, where clocks go back from {_clock(change.end_s)} to "
        f"{_clock(change.first_s)}: {then}",
        _outside(change),
    )


def _outside(change: Change) -> str:
    return (
        f"if that matters, take a time before {_clock(change.first_s)} or from "
        f"{_clock(change.end_s)} on, or leave @tz out for UTC"
    )


def _clock(wall_s: int) -> str:
    return time_text(wall_s % DAY_S)


def _times(walls_s: list[int]) -> str:
    return listed([_clock(wall_s) for wall_s in walls_s])
