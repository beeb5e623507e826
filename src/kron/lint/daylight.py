"""Daylight saving: times of day that a change of the clocks skips or repeats.

Only schedules that name hours are checked. One that runs in every hour does not surprise anyone.
"""

from __future__ import annotations

from collections.abc import Iterator

from kron.core.cron import HOUR
from kron.core.instant import DAY_S, to_text
from kron.core.schedule import Schedule
from kron.core.year import ClockChange, Year
from kron.lint.remark import Advice, Remark
from kron.lint.wording import date_text, listed, time_text

_EVERY_HOUR = (1 << 24) - 1
_MOST_TIMES = 1440


def daylight_remarks(schedule: Schedule, year: Year) -> Iterator[Remark]:
    """What happens when the clocks change: the first time that it matters, in each direction."""
    hours = schedule.cron.hour.mask
    if hours == _EVERY_HOUR:
        return
    reported: set[bool] = set()
    for change in year.clock_changes(schedule.zone):
        if not hours & change.hours or change.is_gap in reported:
            continue
        if walls_s := _matches(schedule, change):
            reported.add(change.is_gap)
            yield _remark(schedule, change, walls_s)


def _matches(schedule: Schedule, change: ClockChange) -> list[int]:
    """The wall times that match among those that do not exist, or occur twice."""
    found: list[int] = []
    wall = schedule.nominals.wall
    wall_s = wall.at_or_after(change.first_s)
    while wall_s < change.end_s and len(found) < _MOST_TIMES:
        found.append(wall_s)
        wall_s = wall.at_or_after(wall_s + 1)
    return found


def _remark(schedule: Schedule, change: ClockChange, walls_s: list[int]) -> Remark:
    many = len(walls_s) > 1
    first, end = _clock(change.first_s), _clock(change.end_s)
    if change.is_gap:
        advice, then = Advice.DAYLIGHT_GAP, _in_gap(schedule, change, many=many)
        what, clocks = f"{'do' if many else 'does'} not exist", f"from {first} to {end}"
    else:
        advice, then = Advice.DAYLIGHT_FOLD, _in_fold(schedule, change, walls_s[0], many=many)
        what, clocks = f"{'occur' if many else 'occurs'} twice", f"back from {end} to {first}"
    if not schedule.cron.is_fixed:
        star = "minute" if schedule.cron.minute.starred else "hour"
        then = f"{then}, because the {star} begins with a star"
    times, day = listed(list(map(_clock, walls_s))), date_text(walls_s[0] // DAY_S)
    message = f"{times} {what} on {day} in {schedule.zone.key}, where clocks go {clocks}: {then}"
    instead = f"choose a time before {first} or from {end} on, or leave out @tz to use UTC"
    return Remark(advice, HOUR.name, message, f"if this matters, {instead}")


def _in_gap(schedule: Schedule, change: ClockChange, *, many: bool) -> str:
    if not schedule.cron.is_fixed:
        return "nothing runs then"
    first_s = schedule.nominals.after(change.at_s - 1)
    wall_s = first_s + change.after_s
    place = f"{_clock(wall_s)} ({to_text(first_s)})"
    if schedule.nominals.wall.at_or_after(wall_s) == wall_s:
        return f"the period at {place} also counts for {'them' if many else 'it'}"
    return f"{'all of them become one period' if many else 'the period is'} at {place}"


def _in_fold(schedule: Schedule, change: ClockChange, wall_s: int, *, many: bool) -> str:
    has = "each has" if many else "it has"
    first, second = to_text(wall_s - change.before_s), to_text(wall_s - change.after_s)
    if schedule.cron.is_fixed:
        return f"{has} one period, at the first ({first})"
    return f"{has} two periods ({first} and {second})"


def _clock(wall_s: int) -> str:
    return time_text(wall_s % DAY_S)
