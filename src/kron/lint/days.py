"""The two day fields: how they combine, and days that some months lack."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from kron.core.cron import DAY_OF_MONTH, DAY_OF_WEEK, MONTH, format_values, parse_field
from kron.core.days import MONTH_LENGTHS
from kron.core.schedule import Schedule
from kron.core.year import Year
from kron.lint.remark import Advice, Remark
from kron.lint.wording import date_text, listed

_SURE_DAYS = 28
_SHOWN_DAYS = 3


def day_remarks(schedule: Schedule, words: list[str], year: Year) -> Iterator[Remark]:
    month, week = schedule.cron.day_of_month, schedule.cron.day_of_week
    if month.mask >> _SURE_DAYS + 1 and not month.starred:
        yield from _lacking(schedule, words[2], year)
    if not week.starred and not month.starred:
        by_month = format_values(DAY_OF_MONTH, month.mask, steps=False)
        by_week = format_values(DAY_OF_WEEK, week.mask, steps=False)
        rule = "day of month and day of week are both restricted, so either is enough"
        such_as = _next_days(", such as", schedule, year)
        message = f"{rule}: days {by_month} and every {by_week}{such_as}"
        fix = f"to require both, write {by_month} {schedule.cron.month} * @only(dow={by_week})"
        yield Remark(Advice.DAYS_EITHER, DAY_OF_WEEK.name, message, fix)
    elif not month.is_every and not week.is_every:
        starred, word = (month, words[2]) if month.starred else (week, words[4])
        plain = format_values(starred.kind, starred.mask)
        rule = f"{word} begins with a star, so day of month and day of week must both match"
        message = f"{rule}{_next_days(': it runs on', schedule, year)}"
        fix = f"if either should be enough, write {plain} without a star"
        yield Remark(Advice.DAYS_BOTH, starred.kind.name, message, fix)


def _lacking(schedule: Schedule, word: str, year: Year) -> Iterator[Remark]:
    """Days that are named and that some of the months lack.

    A range that begins earlier (`25-31`) is meant to end with the month, and a step takes the days
    that exist.
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
        for month, length in enumerate(MONTH_LENGTHS, start=1)
        if cron.month.mask >> month & 1 and length < late[-1]
    ]
    if not months:
        return
    day = late[-1]
    if cron.month.mask == 1 << 2 and not cron.either_day:
        when = _next_days(": it next runs on", schedule, year)
        message = f"only leap years have February 29{when}"
        fix = "write 28 2, or 1 3, for a day of every year"
    else:
        names = listed([MONTH.spelled(month) for month in months], most=11)
        leap = " (leap years aside)" if day == 29 else ""
        message = f"there is no day {day} in {names}{leap}: the job does not run on it then"
        fix = "write 28 for a day that every month has, or 1 for the day after the last"
    yield Remark(Advice.DAYS_LACKING, DAY_OF_MONTH.name, message, fix)


def _next_days(before: str, schedule: Schedule, year: Year) -> str:
    """The next days, after the words before them; '' if the calendar ends first."""
    days = schedule.nominals.wall.days.onwards(year.today(schedule.zone))
    dates = [date_text(day) for day in islice(days, _SHOWN_DAYS)]
    return f"{before} {listed(dates)}" if dates else ""
