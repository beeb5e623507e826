"""A schedule in words: what its fields mean, so that a reader notices a mistake.

For people only. The words are English and complete: two schedules with different cron fields do
not read the same, save that both ways of writing a set (`0-59/5`, `*/5`) do.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from kron.core.bits import positions
from kron.core.cron import Cron, Field, Reboot, runs
from kron.core.distribution import Direction, Exponential, Normal, SkewEarly, SkewLate
from kron.core.duration import format_duration
from kron.core.schedule import Schedule
from kron.core.tokens import format_number
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


def describe(schedule: Schedule) -> str:
    """The whole schedule in one sentence: when it is due, in which zone, and where it may run."""
    if isinstance(schedule.cron, Reboot):
        return "once in each boot of the host"
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
    if days != _EVERY_DAY or not cron.hour.is_every:
        parts.append(days)
    if not cron.month.is_every:
        names = [_MONTHS[value - 1] for value in _values(cron.month)]
        parts.append(f"in {_spoken(_values(cron.month), names)}")
    return " ".join(filter(None, parts))


def _times(minute: Field, hour: Field) -> str:
    minutes, hours = _values(minute), _values(hour)
    if len(minutes) * len(hours) <= _MOST_TIMES:
        times = [f"{hour:02d}:{minute:02d}" for hour in hours for minute in minutes]
        return f"at {_listed(times)}"
    spoken = f"at {_counted('minute', minutes)}"
    if step := _even_step(minute):
        spoken = "every minute" if step == 1 else f"every {step} minutes"
    if hour.is_every:
        return spoken if step else f"{spoken} of every hour"
    if step := _even_step(hour):
        return f"{spoken} of every {_ordinal(step)} hour from 00 on"
    return f"{spoken} of the {_counted('hour', hours, digits=2)}"


def _days(cron: Cron) -> str:
    month_days = week_days = ""
    if not cron.day_of_month.is_every:
        month_days = f"{_counted('day', _values(cron.day_of_month))} of the month"
    if not cron.day_of_week.is_every:
        week_days = _days_of_week(cron.day_of_week)
    if not month_days and not week_days:
        return _EVERY_DAY
    if not month_days or not week_days:
        return f"on {month_days or week_days}"
    if cron.either_day:
        return f"on {month_days}, and also on every {week_days}"
    return f"on {month_days} if that is a {week_days}"


def _days_of_week(field: Field) -> str:
    values = sorted(_values(field), key=lambda value: (value - 1) % 7)  # the week ends on Sunday
    places = [(value - 1) % 7 for value in values]
    return _spoken(places, [_WEEKDAYS[value] for value in values])


def _values(field: Field) -> list[int]:
    return list(positions(field.mask))


def _even_step(field: Field) -> int:
    """The step of values that are evenly spread over the whole range; 0 if they are not."""
    values, every = _values(field), range(field.kind.low, field.kind.high + 1)
    step, rest = divmod(len(every), len(values))
    return step if len(values) > 1 and not rest and values == list(every[::step]) else 0


def _counted(word: str, values: Sequence[int], *, digits: int = 1) -> str:
    """`minutes 1, 3 and 5 to 8`; `1, 3, 5 and so on up to 31` for a long row of equal steps."""
    names = [f"{value:0{digits}d}" for value in values]
    steps = {second - first for first, second in pairwise(values)}
    numbers = _spoken(values, names)
    if len(values) > _MOST_NAMED and len(steps) == 1 and steps != {1}:
        numbers = f"{', '.join(names[:3])} and so on up to {names[-1]}"
    return f"{word}{'s' if len(values) > 1 else ''} {numbers}"


def _spoken(values: Sequence[int], names: Sequence[str]) -> str:
    return _listed(runs(values, names, " to "))


def _listed(items: Sequence[str]) -> str:
    if len(items) == 1:
        return items[0]
    return f"{', '.join(items[:-1])} and {items[-1]}"


def _ordinal(number: int) -> str:
    return {2: "2nd", 3: "3rd"}.get(number, f"{number}th")
