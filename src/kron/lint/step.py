"""Uneven steps: `*/14` starts again each month, `*/7` each hour.

A step counts from the start of its field's range, not from the last run. Only a step over the whole
range is checked, whether it has a star or not, as `3-59/7`: one over a part of the range, such as
`9-17/2`, is meant to stop.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kron.core.bits import least_spacing, lowest
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
from kron.core.year import Year
from kron.lint.remark import Advice, Remark
from kron.lint.wording import date_text, listed

_STEP = re.compile(r"(?:\*|[^-/*,]+-[^-/*,]+)/([0-9]+)")
_NAMED = {MINUTE: "minute {}", HOUR: "hour {}", MONTH: "{}", DAY_OF_WEEK: "{}"}
_MONTHS_AHEAD = 12


class _FieldStep(Frozen):
    """A step over a whole range, as written, and the first and last value that it reaches."""

    kind: FieldKind
    text: str
    size: int
    first: int
    last: int

    @property
    def cycle(self) -> int:
        return self.kind.high - self.kind.low + 1

    @property
    def wrap(self) -> int:
        """The distance from the last value to the first of the next round."""
        return self.cycle - self.last + self.first


def step_remarks(schedule: Schedule, words: list[str], year: Year) -> Iterator[Remark]:
    for kind, word in zip(KINDS, words, strict=True):
        step = _read(kind, word) if "/" in word else None
        if step is None:
            continue
        if kind is DAY_OF_MONTH:
            # If the day of week is restricted too, `days` warns about both fields.
            if schedule.cron.day_of_week.is_every:
                yield from _restarting(schedule, step, year)
        elif step.wrap != step.size and _rounds_meet(schedule, kind, year):
            yield _uneven(step)


def _read(kind: FieldKind, word: str) -> _FieldStep | None:
    match = _STEP.fullmatch(word)
    if match is None or (kind is DAY_OF_WEEK and word[0] != "*"):
        return None
    size = int(match[1])
    mask = parse_field(kind, word).mask
    first, last = lowest(mask), mask.bit_length() - 1
    if size == 1 or first - kind.low >= size or last + size <= kind.high:
        return None
    return _FieldStep(kind, word, size, first, last)


def _rounds_meet(schedule: Schedule, kind: FieldKind, year: Year) -> bool:
    """Whether one round of the field is ever followed by the next without a pause."""
    if kind is MINUTE:
        hours = schedule.cron.hour.mask
        return bool(hours & hours >> 1) or bool(hours & 1 and hours >> 23)
    if kind is HOUR:
        return least_spacing(year.matching_days(schedule)) == 1
    return True


def _uneven(step: _FieldStep) -> Remark:
    kind, cycle = step.kind, step.cycle
    unit = "day" if kind is DAY_OF_WEEK else kind.name
    first, last = (_NAMED[kind].format(kind.spelled(value)) for value in (step.first, step.last))
    when = f"after {last} comes {first}, {_counted(step.wrap, unit)} later"
    message = f"{step.text} is uneven: {when} and not {step.size}"
    if step.size > cycle:
        what = f"{step.text} is larger than its range of {cycle} {unit}s"
        message = f"{what}: only {first} matches, every {cycle} {unit}s and not every {step.size}"
    return Remark(Advice.STEP_UNEVEN, kind.name, message, _even(step))


def _even(step: _FieldStep) -> str:
    if step.kind is DAY_OF_WEEK:
        return "name the days, such as MON,WED,FRI"
    if step.size > step.cycle:
        return f"write {step.kind.spelled(step.first)} if that is meant"
    divisors = [size for size in range(1, step.cycle + 1) if step.cycle % size == 0]
    below = max(size for size in divisors if size < step.size)
    above = [size for size in divisors if size > step.size][:1]
    even = listed([f"*/{size}" if size > 1 else "*" for size in (below, *above)])
    return f"{even} would be even"


def _restarting(schedule: Schedule, step: _FieldStep, year: Year) -> Iterator[Remark]:
    """The next end of a month at which the days are not a whole step apart."""
    months, days = schedule.cron.month.mask, schedule.nominals.wall.days
    month = to_date(year.today(schedule.zone)).replace(day=1)
    for _ in range(_MONTHS_AHEAD):
        following = month.replace(year=month.year + month.month // 12, month=month.month % 12 + 1)
        if months >> month.month & months >> following.month & 1:
            before = days.at_or_before(to_day(following) - 1)
            after = days.at_or_after(to_day(following))
            if after - before != step.size:
                when = f"after {date_text(before)} comes {date_text(after)}"
                gap = _counted(after - before, "day")
                rule = f"{step.text} starts again with each month"
                message = f"{rule}: {when}, {gap} later and not {step.size}"
                yield Remark(Advice.STEP_RESTARTS, DAY_OF_MONTH.name, message, _instead(step))
                return
        month = following


def _instead(step: _FieldStep) -> str:
    if step.size % 7 == 0:
        weekly = "for every week, write a day of week instead, such as * * MON"
        return weekly if step.size == 7 else f"{weekly}; for twice a month, 1,15"
    return "cron cannot count days from month to month: name the days, or run daily"


def _counted(count: int, unit: str) -> str:
    return f"{count} {unit}" if count == 1 else f"{count} {unit}s"
