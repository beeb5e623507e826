"""Placeholders: `FUZZY:DAILY_AROUND:14:0 * * *`, a pattern as text, ready to be scattered.

They are written as in the specification. What its reference implementation writes (`HOURLY/2`,
`BI_WEEKLY`, `WEEKLY_AROUND:5:17:0`, `* * *` after a weekday) is read as well. A fixed interval
has no placeholder: its text is the cron expression, and only those few are read back.
"""

from __future__ import annotations

import re

from kron.core.errors import Code, ParseError, quoted
from kron.core.limits import DEFAULT_LIMITS, is_longer
from kron.fuzzy.pattern import FIXED, Around, Between, Kind, Pattern
from kron.fuzzy.problem import FuzzyProblem

_WORKDAYS = {0: "*", -1: "0-4", 1: "2-6"}
"""The day of the week field after Monday to Friday, by how many days they are moved."""

_READ_WORKDAYS = {"*": 0, "1-5": 0, "0-4": -1, "2-6": 1}

# Not compiled at import: an expression needs none of them.
_TIMES = r"(?P<times>(?::(?:[01]?[0-9]|2[0-3]):[0-5]?[0-9])*)"
_FIELDS = r" \* \* (?P<days>\*|[0-6](?:-[0-6])?)"
_WINDOW = r"(?P<window>AROUND|BETWEEN)"
_HOURS = r"(?P<every>0?[1-9]|1[0-9]|2[0-3])"
_SHAPES = (
    (Kind.DAILY, rf"FUZZY:DAILY(?:_{_WINDOW})?(?P<weekdays>_WEEKDAYS)?{_TIMES}{_FIELDS}"),
    (Kind.HOURLY, rf"FUZZY:HOURLY(?P<weekdays>_WEEKDAYS)?(?:[:/]{_HOURS})?{_FIELDS}"),
    (Kind.WEEKLY, rf"FUZZY:WEEKLY(?::(?P<weekday>[0-6]))?(?::{_WINDOW})?{_TIMES}{_FIELDS}"),
    (Kind.WEEKLY, rf"FUZZY:WEEKLY_(?P<window>AROUND):(?P<weekday>[0-6]){_TIMES}{_FIELDS}"),
    (Kind.BI_WEEKLY, rf"FUZZY:BI[-_]WEEKLY{_FIELDS}"),
    (Kind.TRI_WEEKLY, rf"FUZZY:TRI[-_]WEEKLY{_FIELDS}"),
    (Kind.MINUTES, r"\*/(?P<every>[5-9]|[1-5][0-9]) \* \* \* \*"),
    (Kind.DAYS, r"0 0 \*(?:/(?P<every>[2-9]|[12][0-9]|30))? \* \*"),
    (Kind.WEEKS, r"0 0 \* \* 0"),
)


def write_placeholder(pattern: Pattern) -> str:
    """The placeholder of a pattern, or the cron expression of a fixed interval."""
    kind, every = pattern.kind, pattern.every
    if kind is Kind.MINUTES:
        return f"*/{every} * * * *"
    if kind is Kind.DAYS:
        return "0 0 * * *" if every == 1 else f"0 0 */{every} * *"
    if kind is Kind.WEEKS:
        return "0 0 * * 0"
    weekdays = "" if pattern.workdays is None else "_WEEKDAYS"
    window, times = _window(pattern.window)
    if kind is Kind.DAILY:
        days = _WORKDAYS[pattern.workdays or 0]
        return f"FUZZY:DAILY{window and f'_{window}'}{weekdays}{times} * * {days}"
    if kind is Kind.WEEKLY:
        day = "" if pattern.weekday is None else f":{pattern.weekday}"
        return f"FUZZY:WEEKLY{day}{window and f':{window}'}{times} * * {day[1:] or '*'}"
    step = "" if every is None else f":{every}"
    return f"FUZZY:{kind.upper()}{weekdays}{step} * * *"


def _window(window: Around | Between | None) -> tuple[str, str]:
    """Its name, and its times with a colon before each number."""
    if window is None:
        return "", ""
    is_around = isinstance(window, Around)
    minutes = (window.minute,) if isinstance(window, Around) else (window.start, window.end)
    times = "".join(f":{minute // 60}:{minute % 60}" for minute in minutes)
    return "AROUND" if is_around else "BETWEEN", times


def read_placeholder(text: str) -> Pattern:
    """The pattern of a placeholder; a `ParseError` if the text is not one."""
    if is_longer(text, DEFAULT_LIMITS.line_bytes):
        message = f"the placeholder is longer than {DEFAULT_LIMITS.line_bytes} bytes"
        raise ParseError.single(text, Code.LIMIT, message, end=1)
    for kind, shape in _SHAPES:
        match = re.fullmatch(shape, text)
        if match and (pattern := _pattern(kind, **match.groupdict())):
            return pattern
    message = (
        f"{quoted(text)} is not a placeholder, which is written like FUZZY:DAILY_AROUND:14:0 * * *"
    )
    raise ParseError(text, [FuzzyProblem(Code.INVALID_PLACEHOLDER, message, 0, len(text))])


def _pattern(
    kind: Kind,
    window: str | None = None,
    times: str = "",
    every: str | None = None,
    weekday: str | None = None,
    weekdays: str | None = None,
    days: str = "*",
) -> Pattern | None:
    """The pattern of what a shape found; None if the parts do not fit together."""
    numbers = [int(number) for number in times.split(":")[1:]]
    minutes = [hour * 60 + minute for hour, minute in zip(numbers[::2], numbers[1::2], strict=True)]
    workdays = _READ_WORKDAYS.get(days) if weekdays else None
    if (
        len(set(minutes)) != {None: 0, "AROUND": 1, "BETWEEN": 2}[window]
        or len(set(minutes)) < len(minutes)
        or (weekdays and workdays is None)
        or (workdays and not window)  # only a conversion to UTC moves them
        or (not weekdays and days not in ("*", weekday))
    ):
        return None
    return Pattern(
        kind,
        (Around(*minutes) if window == "AROUND" else Between(*minutes)) if minutes else None,
        int(every) if every else (1 if kind in FIXED else None),
        int(weekday) if weekday else None,
        workdays,
    )
