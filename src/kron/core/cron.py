"""A cron expression: five fields of text, read into sets of numbers.

What is accepted is Vixie's core and nothing beside it: `*`, `n`, `n-m`, `*/s`, `n-m/s` and lists
of these. Everything else is refused with the field quoted and, where there is one, the spelling
that was meant. When the expression matches is the business of `wall` and `nominal`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from kron.core.errors import Code, ParseError, Problem, quoted

_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_ITEM = re.compile(r"(\*|[^-/*]+(?:-[^-/*]+)?)(?:/([0-9]+))?")
_MOST_DIGITS = 9
_SHORTEST_RUN = 3
_LONGEST_FIELD = 1_000
"""Six times the text of every minute of the hour, listed."""


@dataclass(frozen=True, slots=True)
class FieldKind:
    """What a field holds: its name for messages, its bounds and the names its values have."""

    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()
    first_named: int = 0

    def spelled(self, value: int) -> str:
        """How canonical text writes the value."""
        return self.names[value - self.first_named] if self.names else str(value)


MINUTE = FieldKind("minute", 0, 59)
HOUR = FieldKind("hour", 0, 23)
DAY_OF_MONTH = FieldKind("day of month", 1, 31)
MONTH = FieldKind("month", 1, 12, _MONTHS, 1)
DAY_OF_WEEK = FieldKind("day of week", 0, 6, _WEEKDAYS, 0)
KINDS = (MINUTE, HOUR, DAY_OF_MONTH, MONTH, DAY_OF_WEEK)


@dataclass(frozen=True, slots=True)
class Field:
    """The values of one field as a bit mask, and whether its text starts with a star.

    The star matters beyond its values: a day field that starts with one is no restriction, and a
    minute or hour field that starts with one follows real time through daylight saving.
    """

    kind: FieldKind
    mask: int
    starred: bool
    step: int = 1
    """The step of the star that the text starts with; 1 without one."""

    def __str__(self) -> str:
        if not self.starred:
            return format_values(self.kind, self.mask)
        star = "*" if self.step == 1 else f"*/{self.step}"
        rest = self.mask & ~_step_mask(self.kind, self.kind.low, self.kind.high, self.step)
        return f"{star},{format_values(self.kind, rest)}" if rest else star


@dataclass(frozen=True, slots=True)
class Cron:
    """Five fields. Whether they can ever match together is checked by `wall.WallTimes`."""

    minute: Field
    hour: Field
    day_of_month: Field
    month: Field
    day_of_week: Field

    @property
    def is_fixed(self) -> bool:
        """Whether it names times of day, which daylight saving may neither lose nor repeat."""
        return not (self.minute.starred or self.hour.starred)

    @property
    def either_day(self) -> bool:
        """Whether a day matches by day of month or by day of week, whichever does."""
        return not (self.day_of_month.starred or self.day_of_week.starred)

    def __str__(self) -> str:
        fields = (self.minute, self.hour, self.day_of_month, self.month, self.day_of_week)
        return " ".join(map(str, fields))


@lru_cache(maxsize=4096)
def parse_field(kind: FieldKind, text: str) -> Field:
    """One field. Lists may be in any order; a `ParseError` holds every item that is wrong."""
    if len(text) > _LONGEST_FIELD:
        message = f"{kind.name}: longer than {_LONGEST_FIELD} characters"
        raise ParseError.single(text, Code.LIMIT, message)
    mask = 0
    first_step = 1
    problems: list[Problem] = []
    position = 0
    for item in text.split(","):
        try:
            item_mask, step = _parse_item(kind, item)
        except ParseError as error:
            problems += [problem.shifted(position) for problem in error.problems]
        else:
            mask |= item_mask
            if position == 0:
                first_step = step
        position += len(item) + 1
    if problems:
        raise ParseError(text, problems)
    starred = text.startswith("*")
    return Field(kind, mask, starred, first_step if starred else 1)


def parse_values(kind: FieldKind, text: str) -> int:
    """A list of numbers, names and ranges without steps or stars, as constraints write them."""
    for symbol in "*/":
        if symbol in text:
            raise _error(text, kind, f"{quoted(text)} has a {symbol!r}, which only cron fields take")
    return parse_field(kind, text).mask


def format_values(kind: FieldKind, mask: int) -> str:
    """The shortest plain list that gives `mask`: one stepped range, or numbers and ranges."""
    values = [value for value in range(kind.low, kind.high + 1) if mask >> value & 1]
    if len(values) >= _SHORTEST_RUN:
        step = values[1] - values[0]
        if step > 1 and values == list(range(values[0], values[-1] + 1, step)):
            return f"{kind.spelled(values[0])}-{kind.spelled(values[-1])}/{step}"
    runs: list[list[int]] = []
    for value in values:
        if runs and value == runs[-1][-1] + 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    return ",".join(_format_run(kind, run) for run in runs)


def _format_run(kind: FieldKind, run: list[int]) -> str:
    if len(run) < _SHORTEST_RUN:
        return ",".join(map(kind.spelled, run))
    return f"{kind.spelled(run[0])}-{kind.spelled(run[-1])}"


def _parse_item(kind: FieldKind, text: str) -> tuple[int, int]:
    """The mask of `*`, `n`, `n-m`, `*/s` or `n-m/s`, and its step."""
    item = _ITEM.fullmatch(text)
    if item is None:
        raise _error(text, kind, _shape_message(kind, text))
    values, step_digits = item[1], item[2]
    if step_digits is not None and (len(step_digits) > _MOST_DIGITS or not int(step_digits)):
        raise _error(text, kind, f"the step {quoted(step_digits)} is not a number from 1")
    step = int(step_digits or "1")
    if values == "*":
        return _step_mask(kind, kind.low, kind.high, step), step
    low_text, hyphen, high_text = values.partition("-")
    low = _parse_value(kind, low_text)
    if not hyphen:
        if step_digits is not None:
            fix = f"write {low_text}-{_spelled_like(kind, low_text, kind.high)}/{step}"
            raise _error(text, kind, f"{quoted(text)} has a step but no range", fix=fix)
        return 1 << (low % 7 if kind is DAY_OF_WEEK else low), step
    high = _parse_value(kind, high_text)
    if low > high:
        raise _backwards(kind, text, low_text, high_text)
    return _step_mask(kind, low, high, step), step


def _step_mask(kind: FieldKind, low: int, high: int, step: int) -> int:
    mask = 0
    for value in range(low, high + 1, step):
        # 7 is Sunday as well, also at the end of a range.
        mask |= 1 << (value % 7 if kind is DAY_OF_WEEK else value)
    return mask


def _parse_value(kind: FieldKind, text: str) -> int:
    name = text.upper()
    if name in kind.names:
        return kind.names.index(name) + kind.first_named
    highest = 7 if kind is DAY_OF_WEEK else kind.high
    if text.isascii() and text.isdigit():
        if len(text) <= _MOST_DIGITS and kind.low <= int(text) <= highest:
            return int(text)
        raise _error(text, kind, f"{quoted(text)} is not between {kind.low} and {highest}")
    raise _error(text, kind, _shape_message(kind, text))


def _backwards(kind: FieldKind, text: str, low_text: str, high_text: str) -> ParseError:
    first = _spelled_like(kind, low_text, kind.low)
    last = _spelled_like(kind, low_text, kind.high)
    head = {last: f"{last},", "7": ""}.get(low_text.upper(), f"{low_text}-{last},")
    tail = high_text if high_text.upper() == first else f"{first}-{high_text}"
    # A step over the end of the week or the year has no plain spelling, so none is offered.
    fix = "" if "/" in text else f"write {head}{tail}"
    return _error(text, kind, f"the range {quoted(text)} runs backwards", fix=fix)


def _spelled_like(kind: FieldKind, example: str, value: int) -> str:
    """`value` as a name or a number, whichever `example` is."""
    return str(value) if example.isdigit() else kind.spelled(value)


def _shape_message(kind: FieldKind, text: str) -> str:
    if not text:
        return "an item of the list is empty"
    names = f", {kind.names[0]} to {kind.names[-1]}" if kind.names else ""
    return (
        f"{quoted(text)} is not *, a number from {kind.low} to {kind.high}{names}, "
        "a range like n-m, or one of these with a step like */s or n-m/s"
    )


def _error(text: str, kind: FieldKind, message: str, *, fix: str = "") -> ParseError:
    return ParseError.single(text, Code.CRON_FIELD, f"{kind.name}: {message}", fix=fix)


_SHORTHANDS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}


def shorthand_fix(word: str) -> str | None:
    """What to write for `@daily` and its kin, or None when `word` is no such shorthand."""
    spelled = _SHORTHANDS.get(word.lower())
    return None if spelled is None else f"write {spelled}"
