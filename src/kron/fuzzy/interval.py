"""Intervals in a fuzzy expression: what follows the word `every`.

Only intervals that a cron expression can say are accepted. `*/90` in the minutes would mean
"every hour" and `*/5` in the hours "not quite every five", so both are refused, not written.
"""

from __future__ import annotations

import re

from kron.core.errors import Code, quoted
from kron.fuzzy.pattern import WEEKDAYS, Kind, Pattern
from kron.fuzzy.words import Words, did_you_mean

HOUR_STEPS = (1, 2, 3, 4, 6, 8, 12)
MINIMUM_MINUTES = 5
MOST_MINUTES = 59
MOST_DAYS = 30
"""A step of 31 days would never be taken: every month starts again."""

_INTERVAL = re.compile(r"([0-9]++)([a-z]*+)")
_NEGATIVE = r"-[0-9]++[a-z]*+"
_MOST_DIGITS = 6
_UNITS = {
    spelling: unit
    for unit in ("minutes", "hours", "days", "weeks")
    for spelling in (unit, unit.removesuffix("s"), unit[0])
}
_FORM = "write it like every 2h or every 10 minutes"
_VALID_UNITS = ", ".join(_UNITS)
_WITHOUT_NUMBER = {
    "minutes": "every 5 minutes",
    "hours": "hourly",
    "days": "daily",
    "weeks": "weekly",
}


def read_interval(words: Words) -> Pattern | None:
    """The pattern of the interval ahead; None if it is reported."""
    if not words.next:
        words.report(Code.MISSING_COMPONENT, '"every" needs a number and a unit', _FORM)
        return None
    word = words.take()
    first = words.last
    match = _INTERVAL.fullmatch(word)
    if match is None:
        _report_number(words, word)
        return None
    unit = _read_unit(words, match)
    if unit is None:
        return None
    count = int(match[1]) if len(match[1]) <= _MOST_DIGITS else 10**_MOST_DIGITS
    pattern = _pattern(count, unit)
    if pattern is None:
        code, message, fix = _refusal(count, unit)
        given = quoted(words.original(first, words.last))
        words.report(code, f"the interval {given} {message}", fix, words.place(first, words.last))
    return pattern


def _read_unit(words: Words, match: re.Match[str]) -> str | None:
    """The unit: the rest of the word with the number, or the next word."""
    if not match[2] and words.next in ("", "on"):
        message = f'"every {match[1]}" lacks its unit: {_VALID_UNITS}'
        words.report(Code.MISSING_COMPONENT, message, _FORM)
        return None
    word = match[2] or words.take()
    unit = _UNITS.get(word)
    if unit is None:
        place = words.place_within(words.last, *match.span(2)) if match[2] else None
        fix = (did_you_mean(word, _UNITS) if len(word) > 2 else "") or _FORM
        message = f"unknown unit {quoted(word)} of an interval: {_VALID_UNITS}"
        words.report(Code.UNKNOWN_UNIT, message, fix, place)
    return unit


def _pattern(count: int, unit: str) -> Pattern | None:
    """The pattern of an interval, if a cron expression can say it."""
    if unit == "hours":
        return Pattern(Kind.HOURLY, every=count) if count in HOUR_STEPS else None
    if unit == "minutes":
        is_valid = MINIMUM_MINUTES <= count <= MOST_MINUTES
        return Pattern(Kind.MINUTES, every=count) if is_valid else None
    if unit == "weeks" and count == 1:
        return Pattern(Kind.WEEKS, every=1)
    days = count * (7 if unit == "weeks" else 1)
    return Pattern(Kind.DAYS, every=days) if 1 <= days <= MOST_DAYS else None


def _refusal(count: int, unit: str) -> tuple[Code, str, str]:
    """Why an interval is refused: its code, message and fix."""
    if unit == "minutes" and count < MINIMUM_MINUTES:
        source = "GitHub Actions starts nothing more often"
        message = f"is too short: the minimum is {MINIMUM_MINUTES} minutes ({source})"
        return Code.INTERVAL_TOO_SMALL, message, f"write every {MINIMUM_MINUTES} minutes"
    if count < 1:
        fix = f"write every 1 {unit.removesuffix('s')}"
        return Code.INTERVAL_TOO_SMALL, "is too short: it is a whole number from 1", fix
    if unit == "minutes":
        hours, rest = divmod(count, 60)
        fix = f"write every {hours}h" if not rest and hours in HOUR_STEPS else _FORM
        message = f"is more than cron can say in minutes: the most is {MOST_MINUTES}"
    elif unit == "hours":
        steps = ", ".join(f"{step}h" for step in HOUR_STEPS)
        fix = "write daily" if count == 24 else _FORM
        message = f"is not one that divides the day evenly: valid are {steps}"
    else:
        fix = f"write at most {MOST_DAYS} days or {MOST_DAYS // 7} weeks"
        message = "is more than cron can say, whose steps start again each month"
    return Code.UNSUPPORTED_INTERVAL, message, fix


def _report_number(words: Words, word: str) -> None:
    """What is wrong with the word after `every` if it begins with no number."""
    given = quoted(words.original(words.last))
    if word in _UNITS or word in WEEKDAYS:
        meant = _WITHOUT_NUMBER[_UNITS[word]] if word in _UNITS else f"weekly on {word}"
        message = f'"every" needs a number and a unit, not {given}'
        words.report(Code.MISSING_COMPONENT, message, f"write {meant}")
        return
    code, rule = Code.NON_INTEGER_INTERVAL, "is not a whole number in digits"
    if re.fullmatch(_NEGATIVE, word):
        code, rule = Code.INTERVAL_TOO_SMALL, "is too short: it is a whole number from 1"
    words.report(code, f"the interval {given} {rule}", _FORM)
    words.skip_to("on")
