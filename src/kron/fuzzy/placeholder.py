"""Placeholders: `FUZZY:DAILY_AROUND:14:0 * * *`, a pattern as text, ready to be scattered.

They are written as in the specification. What its reference implementation writes (`HOURLY/2`,
`BI_WEEKLY`, `WEEKLY_AROUND:5:17:0`, `* * *` after a weekday) is read as well. A fixed interval
has no placeholder: its text is the cron expression, and only those few are read back.
"""

from __future__ import annotations

import re

from kron.core.errors import Code, ParseError, quoted
from kron.core.limits import DEFAULT_LIMITS, is_longer
from kron.fuzzy.pattern import Around, Between, Kind, Pattern
from kron.fuzzy.problem import FuzzyProblem

_WORKDAYS = {0: "*", -1: "0-4", 1: "2-6"}
"""The day of the week field after Monday to Friday, by how many days they are moved."""

_READ_WORKDAYS = {"*": 0, "1-5": 0, "0-4": -1, "2-6": 1}

# Not compiled at import: an expression needs none of them.
_FIXED_INTERVALS = (
    (Kind.MINUTES, r"\*/([5-9]|[1-5][0-9]) \* \* \* \*"),
    (Kind.DAYS, r"0 0 \*(?:/([2-9]|[12][0-9]|30))? \* \*"),
    (Kind.WEEKS, r"0 0 \* \* 0()"),
)
_EXAMPLE = "FUZZY:DAILY_AROUND:14:0 * * *"


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
    try:
        if not text.startswith("FUZZY:"):
            return _read_fixed(text)
        head, *fields = text.removeprefix("FUZZY:").split(" ")
        if len(fields) != 3 or fields[:2] != ["*", "*"]:
            raise _UnreadableError(f"three fields follow its type, as in {_EXAMPLE}")
        return _with_days(_read_head(head), fields[2])
    except _UnreadableError as error:
        message = f"{quoted(text)} is not a placeholder: {error}"
        problem = FuzzyProblem(Code.INVALID_PLACEHOLDER, message, 0, len(text))
        raise ParseError(text, [problem]) from None


class _UnreadableError(Exception):
    """Why a text is not a placeholder."""


def _read_fixed(text: str) -> Pattern:
    for kind, shape in _FIXED_INTERVALS:
        match = re.fullmatch(shape, text)
        if match is not None:
            return Pattern(kind, every=int(match[1] or 1))
    raise _UnreadableError(f"it does not begin with FUZZY:, as in {_EXAMPLE}")


def _read_head(head: str) -> Pattern:
    """The part between `FUZZY:` and the fields."""
    # The reference implementation writes the step of hours after a slash.
    name, *parameters = (head.replace("/", ":") if head.startswith("HOURLY") else head).split(":")
    every_day = name.removesuffix("_WEEKDAYS")
    workdays = None if every_day == name else 0
    if every_day in ("DAILY", "DAILY_AROUND", "DAILY_BETWEEN"):
        window = _read_window(every_day.removeprefix("DAILY").removeprefix("_"), parameters)
        return Pattern(Kind.DAILY, window, workdays=workdays)
    if every_day == "HOURLY":
        step = _number(":".join(parameters), 23) if parameters else None
        if step == 0:
            raise _UnreadableError("a step is at least 1")
        return Pattern(Kind.HOURLY, every=step, workdays=workdays)
    if name in ("WEEKLY", "WEEKLY_AROUND"):
        weekday = None
        if parameters and parameters[0] not in ("AROUND", "BETWEEN"):
            weekday = _number(parameters.pop(0), 6)
        if name == "WEEKLY_AROUND":  # of the reference implementation
            parameters.insert(0, "AROUND")
        constraint = parameters.pop(0) if parameters else ""
        return Pattern(Kind.WEEKLY, _read_window(constraint, parameters), weekday=weekday)
    if name.replace("_", "-") in (Kind.BI_WEEKLY.upper(), Kind.TRI_WEEKLY.upper()):
        _read_window("", parameters)
        return Pattern(Kind(name.replace("_", "-").lower()))
    raise _UnreadableError(f"there is no type {quoted(name)}")


def _read_window(constraint: str, parameters: list[str]) -> Around | Between | None:
    if constraint == "AROUND" and len(parameters) == 2:
        return Around(_minute(*parameters))
    if constraint == "BETWEEN" and len(parameters) == 4:
        start, end = _minute(*parameters[:2]), _minute(*parameters[2:])
        if start == end:
            raise _UnreadableError("the range has no duration")
        return Between(start, end)
    if constraint or parameters:
        raise _UnreadableError(f"AROUND is followed by H:M, BETWEEN by H:M:H:M, as in {_EXAMPLE}")
    return None


def _minute(hour: str, minute: str) -> int:
    return _number(hour, 23) * 60 + _number(minute, 59)


def _number(text: str, most: int) -> int:
    if not re.fullmatch(r"[0-9]{1,2}", text) or int(text) > most:
        raise _UnreadableError(f"{quoted(text)} is not a number from 0 to {most}")
    return int(text)


def _with_days(pattern: Pattern, days: str) -> Pattern:
    """The pattern, if the day of week field agrees with it."""
    if pattern.workdays is not None and days in _READ_WORKDAYS:
        moved = _READ_WORKDAYS[days]
        if not moved or pattern.window is not None:  # only a conversion to UTC moves them
            return pattern.replace(workdays=moved)
    elif days == "*" or (pattern.weekday is not None and days == str(pattern.weekday)):
        return pattern
    raise _UnreadableError(f"the day of week {quoted(days)} does not fit what is before it")
