"""Steps that do not come out even: `*/14` starts again each month, `*/7` each hour.

A step counts from the start of its field's range, not from the last run. Only a step over the whole
range is looked at, whether it is written with a star or, as `3-59/7`, without: one over part of it,
such as `9-17/2`, is meant to stop.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kron.core.cron import (
    DAY_OF_MONTH,
    DAY_OF_WEEK,
    HOUR,
    KINDS,
    MINUTE,
    MONTH,
    FieldKind,
    parse_field,
)
from kron.core.frozen import Frozen
from kron.core.instant import to_date, to_day
from kron.core.schedule import Schedule
from kron.jobs.advice.remark import Advice, Remark, cron_field
from kron.jobs.advice.wording import date_text, listed
from kron.jobs.advice.year import Year, least_spacing

_STEP = re.compile(r"(?:\*|[^-/*,]+-[^-/*,]+)/([0-9]+)")
_UNITS = {MINUTE: "minute", HOUR: "hour", MONTH: "month", DAY_OF_WEEK: "day"}
_NAMED = {
    MINUTE: "minute {}",
    HOUR: "hour {}",
    MONTH: "{}",
    DAY_OF_WEEK: "{}",
}
_MONTHS_AHEAD = 12


class _Step(Frozen):
    """A step over a whole range, as written, and the first and last value that it reaches."""

    kind: FieldKind
    text: str
    size: int
    first: int
    last: int

    @property
    def cycle(self) -> int:
        """How many values the range has."""
        return self.kind.high - self.kind.low + 1

    @property
    def wrap(self) -> int:
        """How far it is from the last value to the first of the next round."""
        return self.cycle - self.last + self.first


def step_remarks(schedule: Schedule, words: list[str], year: Year) -> Iterator[Remark]:
    """A remark for each step that is uneven where one round follows another."""
    for kind, word in zip(KINDS, words, strict=True):
        step = _read(kind, word) if "/" in word else None
        if step is None:
            continue
        if kind is DAY_OF_MONTH:
            if schedule.cron.day_of_week.mask.bit_count() == 7:  # else `days` speaks of both
                yield from _restarting(schedule, step, year)
        elif step.wrap != step.size and _rounds_meet(schedule, kind, year):
            yield _uneven(step)


def _read(kind: FieldKind, word: str) -> _Step | None:
    match = _STEP.fullmatch(word)
    if match is None or (kind is DAY_OF_WEEK and word[0] != "*"):
        return None
    size = int(match[1])
    mask = parse_field(kind, word).mask
    first = (mask & -mask).bit_length() - 1
    last = mask.bit_length() - 1
    if size == 1 or first - kind.low >= size or last + size <= kind.high:
        return None
    return _Step(kind, word, size, first, last)


def _rounds_meet(schedule: Schedule, kind: FieldKind, year: Year) -> bool:
    """Whether one round of the field is ever followed by the next without a pause."""
    if kind is MINUTE:
        hours = schedule.cron.hour.mask
        return bool(hours & hours >> 1) or bool(hours & 1 and hours >> 23)
    if kind is HOUR:
        return least_spacing(year.cron_days(schedule.cron)) == 1
    return True


def _uneven(step: _Step) -> Remark:
    kind = step.kind
    unit = _UNITS[kind]
    name = _NAMED[kind]
    first, last = (name.format(kind.spelled(value)) for value in (step.first, step.last))
    if step.first == step.last:
        message = (
            f"{step.text} reaches beyond the {step.cycle} {unit}s that it counts: only {first} "
            f"matches, every {step.cycle} {unit}s and not every {step.size}"
        )
    else:
        message = (
            f"{step.text} does not come out even: after {last} comes {first}, "
            f"{_counted(step.wrap, unit)} later and not {step.size}"
        )
    return Remark(Advice.STEP_UNEVEN, cron_field(kind), message, _even(step))


def _even(step: _Step) -> str:
    if step.kind is DAY_OF_WEEK:
        return "name the days, such as MON,WED,FRI"
    divisors = [size for size in range(1, step.cycle + 1) if step.cycle % size == 0]
    below = max(size for size in divisors if size < step.size)
    above = [size for size in divisors if size > step.size][:1]
    even = listed([f"*/{size}" if size > 1 else "*" for size in (below, *above)])
    if step.size > step.cycle:
        return f"write {step.kind.spelled(step.first)} if that is meant"
    return f"{even} would be even"


def _restarting(schedule: Schedule, step: _Step, year: Year) -> Iterator[Remark]:
    """The next end of a month at which the days are not a whole step apart."""
    month = to_date(year.today(schedule.zone)).replace(day=1)
    for _ in range(_MONTHS_AHEAD):
        following = month.replace(year=month.year + month.month // 12, month=month.month % 12 + 1)
        months = schedule.cron.month.mask
        if months >> month.month & months >> following.month & 1:
            days = schedule.nominals.wall.days
            before = days.at_or_before(to_day(following) - 1)
            after = days.at_or_after(to_day(following))
            if after - before != step.size:
                yield Remark(
                    Advice.STEP_RESTARTS,
                    cron_field(DAY_OF_MONTH),
                    f"{step.text} starts again with each month: after {date_text(before)} comes "
                    f"{date_text(after)}, {_counted(after - before, 'day')} later and not "
                    f"{step.size}",
                    _instead(step),
                )
                return
        month = following


def _instead(step: _Step) -> str:
    if step.size % 7 == 0:
        weekly = "for every week write a day of week instead, such as * * MON"
        return weekly if step.size == 7 else f"{weekly}; for twice a month, 1,15"
    return "cron cannot count days from month to month: name the days, or run daily"


def _counted(count: int, unit: str) -> str:
    return f"{count} {unit}" if count == 1 else f"{count} {unit}s"
