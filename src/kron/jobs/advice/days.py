"""The two day fields: how they combine, and days that some months do not have."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from kron.core.cron import (
    DAY_OF_MONTH,
    DAY_OF_WEEK,
    MONTH,
    Field,
    format_values,
    parse_field,
)
from kron.core.schedule import Schedule
from kron.jobs.advice.remark import Advice, Remark, cron_field
from kron.jobs.advice.wording import date_text, listed
from kron.jobs.advice.year import Year

_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_SURE_DAYS = 28
_SHOWN_DAYS = 3


def day_remarks(schedule: Schedule, words: list[str], year: Year) -> Iterator[Remark]:
    """What there is to say about the day of month and the day of week."""
    cron = schedule.cron
    if cron.day_of_month.mask >> _SURE_DAYS + 1 and not cron.day_of_month.starred:
        yield from _lacking(schedule, words[2], year)
    if not cron.day_of_week.starred and not cron.day_of_month.starred:
        yield _either(schedule, year)
    elif restricts(cron.day_of_month) and restricts(cron.day_of_week):
        yield _both(schedule, words, year)


def _either(schedule: Schedule, year: Year) -> Remark:
    cron = schedule.cron
    by_month, by_week = _said(cron.day_of_month), _said(cron.day_of_week)
    return Remark(
        Advice.DAYS_EITHER,
        cron_field(DAY_OF_WEEK),
        f"day of month and day of week are both restricted, and then either is enough: days "
        f"{by_month} as well as every {by_week}, such as {_next_days(schedule, year)}",
        f"for days that are both, write {by_month} {cron.month} * @only(dow={by_week})",
    )


def _both(schedule: Schedule, words: list[str], year: Year) -> Remark:
    cron = schedule.cron
    starred = words[2] if cron.day_of_month.starred else words[4]
    field = cron.day_of_month if cron.day_of_month.starred else cron.day_of_week
    plain = format_values(field.kind, field.mask)
    return Remark(
        Advice.DAYS_BOTH,
        cron_field(field.kind),
        f"{starred} begins with a star, so day of month and day of week must both match: "
        f"it runs on {_next_days(schedule, year)}",
        f"if either should be enough, write {plain} without a star",
    )


def _lacking(schedule: Schedule, word: str, year: Year) -> Iterator[Remark]:
    """Days that are written as such and that some of the months do not have.

    A range that begins earlier (`25-31`) is meant to go on to the end of the month, and a step
    takes what there is.
    """
    cron = schedule.cron
    mask = 0
    for item in word.split(","):
        if "/" not in item:
            mask |= parse_field(DAY_OF_MONTH, item).mask
    # The first day of each run of days that begins where February may have ended.
    late = [day for day in (29, 30, 31) if mask >> day & 1 and not mask >> day - 1 & 1]
    if not late:
        return
    months = [
        month
        for month, length in enumerate(_LENGTHS, start=1)
        if cron.month.mask >> month & 1 and length < late[-1]
    ]
    if not months:
        return
    day = late[-1]
    if cron.month.mask == 1 << 2 and not cron.either_day:
        message = f"only leap years have February 29: it next runs on {_next_days(schedule, year)}"
        fix = "write 28 2, or 1 3, for a day of every year"
    else:
        names = listed([MONTH.spelled(month) for month in months], most=11)
        leap = " (leap years aside)" if day == 29 else ""
        message = f"there is no day {day} in {names}{leap}: nothing runs on it then"
        fix = "write 28 for a day that every month has, or 1 for the day after the last"
    yield Remark(Advice.DAYS_LACKING, cron_field(DAY_OF_MONTH), message, fix)


def _next_days(schedule: Schedule, year: Year) -> str:
    days = schedule.nominals.wall.days.onwards(year.today(schedule.zone))
    return listed([date_text(day) for day in islice(days, _SHOWN_DAYS)])


def restricts(field: Field) -> bool:
    """Whether a field leaves values out, star or no star."""
    kind = field.kind
    return field.mask.bit_count() < kind.high - kind.low + 1


def _said(field: Field) -> str:
    return format_values(field.kind, field.mask, steps=False)
