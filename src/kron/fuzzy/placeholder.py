"""Placeholders: `FUZZY:DAILY_AROUND:14:0 * * *`, a pattern as text, ready to be scattered.

They are written as seed 004 has them. What its reference implementation writes (`HOURLY/2`,
`BI_WEEKLY`, `WEEKLY_AROUND:5:17:0`, `* * *` after a weekday) is read as well. A fixed interval
has no placeholder: its text is the cron expression, and only those few are read back.
"""

from __future__ import annotations

import re

from kron.core.errors import Code, ParseError, quoted
from kron.core.limits import DEFAULT_LIMITS
from kron.fuzzy.interval import MINIMUM_MINUTES, MOST_DAYS, MOST_MINUTES
from kron.fuzzy.pattern import Around, Between, Kind, Pattern
from kron.fuzzy.problem import FuzzyProblem

MOST_HOURS = 23
_WORKDAYS = {0: "*", -1: "0-4", 1: "2-6"}
"""The day of the week field after Monday to Friday, by how many days they are moved."""

_READ_WORKDAYS = {"*": 0, "1-5": 0, "0-4": -1, "2-6": 1}
_FIXED = re.compile(r"\*/([1-9][0-9]?) \* \* \* \*|0 0 \*(?:/([1-9][0-9]?))? \* (\*|0)")
_TWO_DIGITS = r"[0-9]{1,2}"
_EXAMPLE = "FUZZY:DAILY_AROUND:14:0 * * *"


def write_placeholder(pattern: Pattern) -> str:
    """The placeholder of a pattern, or the cron expression of a fixed interval."""
    kind, every = pattern.kind, pattern.every
    if kind is Kind.DAILY:
        return f"FUZZY:{_daily_head(pattern)} * * {_WORKDAYS[pattern.workdays or 0]}"
    if kind is Kind.HOURLY:
        weekdays = "" if pattern.workdays is None else "_WEEKDAYS"
        return f"FUZZY:HOURLY{weekdays}{'' if every is None else f':{every}'} * * *"
    if kind is Kind.WEEKLY:
        window = pattern.window
        day = "" if pattern.weekday is None else f":{pattern.weekday}"
        constraint = "" if window is None else f":{_constraint(window)}:{_times(window)}"
        return f"FUZZY:WEEKLY{day}{constraint} * * {day[1:] or '*'}"
    if kind is Kind.MINUTES:
        return f"*/{every} * * * *"
    if kind is Kind.DAYS:
        return "0 0 * * *" if every == 1 else f"0 0 */{every} * *"
    return "0 0 * * 0" if kind is Kind.WEEKS else f"FUZZY:{kind.upper()} * * *"


def read_placeholder(text: str) -> Pattern:
    """The pattern of a placeholder; a `ParseError` if it is none."""
    if len(text) > DEFAULT_LIMITS.line_bytes:
        message = f"the placeholder is longer than {DEFAULT_LIMITS.line_bytes} bytes"
        raise ParseError.single(text, Code.LIMIT, message, end=1)
    try:
        if not text.startswith("FUZZY:"):
            return _read_fixed(text)
        head, *fields = text.removeprefix("FUZZY:").split(" ")
        if len(fields) != 3 or fields[:2] != ["*", "*"]:
            raise _UnreadableError(
                f"after its type a placeholder has three fields, as in {_EXAMPLE}"
            )
        return _with_days(_read_head(head), fields[2])
    except _UnreadableError as error:
        message = f"{quoted(text)} is not a placeholder: {error}"
        problem = FuzzyProblem(Code.INVALID_PLACEHOLDER, message, 0, len(text))
        raise ParseError(text, [problem]) from None


class _UnreadableError(Exception):
    """Why a placeholder does not read."""


def _daily_head(pattern: Pattern) -> str:
    weekdays = "" if pattern.workdays is None else "_WEEKDAYS"
    if pattern.window is None:
        return f"DAILY{weekdays}"
    return f"DAILY_{_constraint(pattern.window)}{weekdays}:{_times(pattern.window)}"


def _constraint(window: Around | Between) -> str:
    return "AROUND" if isinstance(window, Around) else "BETWEEN"


def _times(window: Around | Between) -> str:
    if isinstance(window, Around):
        return f"{window.minute // 60}:{window.minute % 60}"
    return f"{window.start // 60}:{window.start % 60}:{window.end // 60}:{window.end % 60}"


def _read_head(head: str) -> Pattern:
    """What stands between `FUZZY:` and the fields."""
    # The reference implementation writes the step of hours after a slash.
    name, *parameters = (head.replace("/", ":") if head.startswith("HOURLY") else head).split(":")
    every_day = name.removesuffix("_WEEKDAYS")
    workdays = None if every_day == name else 0
    if every_day in ("DAILY", "DAILY_AROUND", "DAILY_BETWEEN"):
        window = _read_window(every_day.removeprefix("DAILY").removeprefix("_"), parameters)
        return Pattern(Kind.DAILY, window, workdays=workdays)
    if every_day == "HOURLY":
        return Pattern(Kind.HOURLY, every=_read_step(parameters), workdays=workdays)
    if name in ("WEEKLY", "WEEKLY_AROUND"):
        weekday = None
        if parameters and parameters[0] not in ("AROUND", "BETWEEN"):
            weekday = _number(parameters.pop(0), 6)
        if name == "WEEKLY_AROUND":  # of the reference implementation
            return Pattern(Kind.WEEKLY, _read_window("AROUND", parameters), weekday=weekday)
        constraint = parameters.pop(0) if parameters else ""
        return Pattern(Kind.WEEKLY, _read_window(constraint, parameters), weekday=weekday)
    if name.replace("_", "-") in (Kind.BI_WEEKLY.upper(), Kind.TRI_WEEKLY.upper()):
        _read_window("", parameters)
        return Pattern(Kind(name.replace("_", "-").lower()))
    raise _UnreadableError(f"there is no type {quoted(name)}")


def _read_step(parameters: list[str]) -> int | None:
    if not parameters:
        return None
    step = _number(":".join(parameters), MOST_HOURS)
    if not step:
        raise _UnreadableError("a step is at least 1")
    return step


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
    if not re.fullmatch(_TWO_DIGITS, text) or int(text) > most:
        raise _UnreadableError(f"{quoted(text)} is not a number from 0 to {most}")
    return int(text)


def _with_days(pattern: Pattern, days: str) -> Pattern:
    """The pattern, once the day of week field agrees with it."""
    if pattern.workdays is not None and days in _READ_WORKDAYS:
        moved = _READ_WORKDAYS[days]
        if not moved or pattern.window is not None:  # only a conversion to UTC moves them
            return pattern.replace(workdays=moved)
    elif days == "*" or (pattern.weekday is not None and days == str(pattern.weekday)):
        return pattern
    raise _UnreadableError(f"the day of week {quoted(days)} does not fit what is before it")


def _read_fixed(text: str) -> Pattern:
    match = _FIXED.fullmatch(text)
    if match is not None:
        minutes, days, weekday = match.groups()
        if minutes is not None and MINIMUM_MINUTES <= int(minutes) <= MOST_MINUTES:
            return Pattern(Kind.MINUTES, every=int(minutes))
        if weekday == "*" and (days is None or 2 <= int(days) <= MOST_DAYS):
            return Pattern(Kind.DAYS, every=int(days or 1))
        if weekday == "0" and days is None:
            return Pattern(Kind.WEEKS, every=1)
    raise _UnreadableError(f"it does not begin with FUZZY:, as in {_EXAMPLE}")
