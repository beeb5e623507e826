"""A schedule in words: what its fields mean, said so that a mistake is heard.

For people only. The words are English and complete: two schedules with different cron fields do
not read the same, save that both ways of writing a set (`0-59/5`, `*/5`) do.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from kron.core.cron import Cron, Field
from kron.core.distribution import (
    Direction,
    Exponential,
    Normal,
    SkewEarly,
    SkewLate,
    format_number,
)
from kron.core.duration import format_duration
from kron.core.schedule import Schedule
from kron.core.window import Mode

_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_EVERY_DAY = "every day"
_MOST_TIMES = 6
_MOST_NAMED = 5
_SHORTEST_RUN = 3


def describe(schedule: Schedule) -> str:
    """The whole schedule in one sentence: when it is due, in which zone, and where it may run."""
    due = f"{describe_cron(schedule.cron)}, {schedule.zone.key} time"
    window = schedule.window
    if not window.width_s:
        return due
    length = format_duration(window.duration_ns)
    if window.mode is Mode.AROUND:
        return f"{due}, run within {length} around then"
    return f"{due}, run within the {length} {window.mode} that"


def describe_distribution(schedule: Schedule) -> str:
    """How a draw u becomes a place x in the window, with the defaults that apply."""
    distribution, window = schedule.distribution, schedule.window
    match distribution:
        case SkewLate(shape):
            return f"skewLate, shape {format_number(shape)}: x = 1 - (1 - u)^{format_number(shape)}"
        case SkewEarly(shape):
            return f"skewEarly, shape {format_number(shape)}: x = u^{format_number(shape)}"
        case Exponential(rate, direction):
            end = "start" if direction is Direction.EARLY else "end"
            return f"exponential, lambda {format_number(rate)}: decays from the window's {end}"
        case Normal(anchor, sigma_ns):
            around = anchor or ("nominal" if window.mode is Mode.AROUND else "mid")
            width = format_duration(window.duration_ns // 6 if sigma_ns is None else sigma_ns)
            return f"normal, mu {around}, sigma {width}: a bell, cut to the window"
        case _:
            return f"{distribution.name}: x = u"


def describe_cron(cron: Cron) -> str:
    """When a cron expression matches: `at 02:30 on Monday to Friday in March`."""
    days = _days(cron)
    parts = [_times(cron.minute, cron.hour)]
    if days != _EVERY_DAY or not _is_every(cron.hour):
        parts.append(days)
    if not _is_every(cron.month):
        names = [_MONTHS[value - 1] for value in _values(cron.month)]
        parts.append(f"in {_listed(_runs(_values(cron.month), names))}")
    return " ".join(filter(None, parts))


def _times(minute: Field, hour: Field) -> str:
    minutes, hours = _values(minute), _values(hour)
    if len(minutes) * len(hours) <= _MOST_TIMES:
        times = [f"{hour:02d}:{minute:02d}" for hour in hours for minute in minutes]
        return f"at {_listed(times)}"
    spoken = _minutes(minute)
    if _is_every(hour):
        return spoken if spoken.startswith("every") else f"{spoken} of every hour"
    return f"{spoken} of {_hours(hour)}"


def _minutes(minute: Field) -> str:
    values = _values(minute)
    if _is_every(minute):
        return "every minute"
    if step := _even_step(minute):
        return f"every {step} minutes"
    word = "minute" if len(values) == 1 else "minutes"
    return f"at {word} {_numbers(values)}"


def _hours(hour: Field) -> str:
    values = _values(hour)
    if step := _even_step(hour):
        return f"every {_ordinal(step)} hour from 00 on"
    word = "hour" if len(values) == 1 else "hours"
    return f"the {word} {_numbers(values, digits=2)}"


def _days(cron: Cron) -> str:
    month_days = "" if _is_every(cron.day_of_month) else _days_of_month(cron.day_of_month)
    week_days = "" if _is_every(cron.day_of_week) else _days_of_week(cron.day_of_week)
    if not month_days and not week_days:
        return _EVERY_DAY
    if not month_days or not week_days:
        return f"on {month_days or week_days}"
    if cron.either_day:
        return f"on {month_days}, and also on every {week_days}"
    return f"on {month_days} if that is a {week_days}"


def _days_of_month(field: Field) -> str:
    values = _values(field)
    word = "day" if len(values) == 1 else "days"
    return f"{word} {_numbers(values)} of the month"


def _days_of_week(field: Field) -> str:
    values = sorted(_values(field), key=lambda value: (value - 1) % 7)  # the week ends on Sunday
    places = [(value - 1) % 7 for value in values]
    return _listed(_runs(places, [_WEEKDAYS[value] for value in values]))


def _values(field: Field) -> list[int]:
    return [
        value for value in range(field.kind.low, field.kind.high + 1) if field.mask >> value & 1
    ]


def _is_every(field: Field) -> bool:
    return len(_values(field)) == field.kind.high - field.kind.low + 1


def _even_step(field: Field) -> int:
    """The step of values that are evenly spread over the whole range; 0 if they are not."""
    values = _values(field)
    size = field.kind.high - field.kind.low + 1
    if len(values) == 1 or size % len(values):
        return 0
    step = size // len(values)
    return step if values == list(range(field.kind.low, field.kind.high + 1, step)) else 0


def _numbers(values: Sequence[int], *, digits: int = 1) -> str:
    """`1, 3 and 5 to 8`, or `1, 3, 5 and so on up to 31` for a long row of equal steps."""
    names = [f"{value:0{digits}d}" for value in values]
    steps = {second - first for first, second in pairwise(values)}
    if len(values) > _MOST_NAMED and len(steps) == 1 and steps != {1}:
        return f"{', '.join(names[:3])} and so on up to {names[-1]}"
    return _listed(_runs(values, names))


def _runs(values: Sequence[int], names: Sequence[str]) -> list[str]:
    """The names, with three or more in a row written as `first to last`."""
    runs: list[list[int]] = []
    for place, value in enumerate(values):
        if runs and value == values[runs[-1][-1]] + 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    spoken: list[str] = []
    for run in runs:
        if len(run) >= _SHORTEST_RUN:
            spoken.append(f"{names[run[0]]} to {names[run[-1]]}")
        else:
            spoken += [names[place] for place in run]
    return spoken


def _listed(items: Sequence[str]) -> str:
    if len(items) == 1:
        return items[0]
    return f"{', '.join(items[:-1])} and {items[-1]}"


def _ordinal(number: int) -> str:
    return {2: "2nd", 3: "3rd"}.get(number, f"{number}th")
