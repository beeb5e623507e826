"""A cron expression: five fields of text, read into sets of numbers.

What is accepted is Vixie's core and nothing beside it: `*`, `n`, `n-m`, `*/s`, `n-m/s` and lists
of these. Everything else is refused with the field quoted and, where there is one, the spelling
that was meant. When the expression matches is the business of `wall` and `nominal`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache, partial
from itertools import groupby

from kron.core.bits import positions
from kron.core.errors import Code, ParseError, Problem, attempt, quoted
from kron.core.frozen import Frozen

_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_ITEM = re.compile(r"(\*|[^-/*]+(?:-[^-/*]+)?)(?:/([0-9]+))?")
_STEPLESS_ITEM = re.compile(r"([^-/*]+(?:-[^-/*]+)?)()")
_MOST_DIGITS = 9
_SHORTEST_RUN = 3
LONGEST_FIELD = 1_000
"""Six times the text of every minute of the hour, listed."""


REBOOT = "@reboot"
"""The word of cron's that no five fields can say: once in each boot of the host."""


class FieldKind(Frozen):
    """What a field holds: its name for messages, its bounds and the names its values have."""

    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()
    """Those of all its values, or none."""

    def spelled(self, value: int) -> str:
        return self.names[value - self.low] if self.names else str(value)


MINUTE = FieldKind("minute", 0, 59)
HOUR = FieldKind("hour", 0, 23)
DAY_OF_MONTH = FieldKind("day of month", 1, 31)
MONTH = FieldKind("month", 1, 12, _MONTHS)
DAY_OF_WEEK = FieldKind("day of week", 0, 6, _WEEKDAYS)
KINDS = (MINUTE, HOUR, DAY_OF_MONTH, MONTH, DAY_OF_WEEK)


class Field(Frozen):
    """The values of one field as a bit mask, and whether its text starts with a star.

    The star matters beyond its values: a day field that starts with one is no restriction, and a
    minute or hour field that starts with one follows real time through daylight saving.
    """

    kind: FieldKind
    mask: int
    starred: bool
    step: int = 1
    """The step of the star that the text starts with; 1 without one."""

    @property
    def is_every(self) -> bool:
        """Whether it holds every value, with or without a star."""
        return self.mask.bit_count() == self.kind.high - self.kind.low + 1

    def __str__(self) -> str:
        if not self.starred:
            return format_values(self.kind, self.mask)
        star = "*" if self.step == 1 else f"*/{self.step}"
        rest = self.mask & ~_step_mask(self.kind, self.kind.low, self.kind.high, self.step)
        return f"{star},{format_values(self.kind, rest)}" if rest else star


class Cron(Frozen):
    """Five fields. `parser` checks that they can ever match together."""

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
        return " ".join(map(str, self._values()))


class Reboot(Cron):
    """`@reboot` in place of the five fields, which match no time of any clock.

    It has one instant, that of a boot, once it is given by the one who knows of the boot.
    """

    at_s: int | None = None

    def __str__(self) -> str:
        return REBOOT


@lru_cache(maxsize=4096)
def parse_field(kind: FieldKind, text: str) -> Field:
    """One field. Lists may be in any order; a `ParseError` holds every item that is wrong."""
    mask, first_step = _parse_list(_Grammar(kind, Code.CRON_FIELD, _ITEM), text)
    starred = text.startswith("*")
    return Field(kind, mask, starred, first_step if starred else 1)


def parse_values(kind: FieldKind, text: str) -> int:
    """A list of numbers, names and ranges without stars or steps, as constraints write them."""
    return _parse_list(_Grammar(kind, Code.CONSTRAINT, _STEPLESS_ITEM), text)[0]


@lru_cache(maxsize=4096)
def format_values(kind: FieldKind, mask: int, *, steps: bool = True) -> str:
    """The shortest plain list that gives `mask`: one stepped range, or numbers and ranges."""
    values = list(positions(mask))
    if steps and len(values) >= _SHORTEST_RUN:
        step = values[1] - values[0]
        if step > 1 and values == list(range(values[0], values[-1] + 1, step)):
            return f"{kind.spelled(values[0])}-{kind.spelled(values[-1])}/{step}"
    return ",".join(runs(values, [kind.spelled(value) for value in values], "-"))


def runs(values: Sequence[int], names: Sequence[str], to: str) -> list[str]:
    """The names of values in order; three or more in a row become the first, `to` and the last."""
    written: list[str] = []
    for _, run in groupby(enumerate(values), key=lambda place: place[1] - place[0]):
        named = [names[index] for index, _ in run]
        written += [f"{named[0]}{to}{named[-1]}"] if len(named) >= _SHORTEST_RUN else named
    return written


class _Grammar(Frozen):
    """What a list may hold, and how its problems are reported."""

    kind: FieldKind
    code: Code
    item: re.Pattern[str]

    def error(self, text: str, message: str, *, fix: str = "") -> ParseError:
        return ParseError.single(text, self.code, f"{self.kind.name}: {message}", fix=fix)

    def shape_error(self, text: str) -> ParseError:
        if not text:
            return self.error(text, "an item of the list is empty")
        kind = self.kind
        names = f", {kind.names[0]} to {kind.names[-1]}" if kind.names else ""
        values = f"a number from {kind.low} to {kind.high}{names}, or a range like n-m"
        if self.item is _ITEM:
            values = f"*, {values}, or a step like */s or n-m/s"
        return self.error(text, f"{quoted(text)} is not {values}")


def _parse_list(grammar: _Grammar, text: str) -> tuple[int, int]:
    """The mask of a whole list, and the step of its first item."""
    if len(text) > LONGEST_FIELD:
        message = f"{grammar.kind.name}: longer than {LONGEST_FIELD} characters"
        raise ParseError.single(text, Code.LIMIT, message)
    mask = 0
    steps: list[int] = []
    problems: list[Problem] = []
    position = 0
    for item in text.split(","):
        if parsed := attempt(problems, partial(_parse_item, grammar), item, position):
            mask |= parsed[0]
            steps.append(parsed[1])
        position += len(item) + 1
    if problems:
        raise ParseError(text, problems)
    return mask, steps[0]


def _parse_item(grammar: _Grammar, text: str) -> tuple[int, int]:
    """The mask of `*`, `n`, `n-m`, `*/s` or `n-m/s`, and its step."""
    kind = grammar.kind
    item = grammar.item.fullmatch(text)
    if item is None:
        raise grammar.shape_error(text)
    values, step_digits = item[1], item[2] or "1"
    if len(step_digits) > _MOST_DIGITS or not int(step_digits):
        raise grammar.error(text, f"the step {quoted(step_digits)} is not a number from 1")
    step = int(step_digits)
    if values == "*":
        return _step_mask(kind, kind.low, kind.high, step), step
    low_text, hyphen, high_text = values.partition("-")
    low = _parse_value(grammar, low_text)
    if not hyphen:
        if item[2]:
            first = "0" if kind is DAY_OF_WEEK and low == 7 else low_text
            fix = f"write {first}-{_spelled_like(low_text, kind, kind.high)}/{step}"
            raise grammar.error(text, f"{quoted(text)} has a step but no range", fix=fix)
        return _step_mask(kind, low, low, 1), 1
    problems: list[Problem] = []
    high = attempt(problems, partial(_parse_value, grammar), high_text, len(low_text) + 1)
    if high is None:
        raise ParseError(text, problems)
    if low > high:
        # With a step it has no plain spelling.
        fix = "" if item[2] else f"write {_unrolled(kind, low_text, low, high_text, high)}"
        raise grammar.error(text, f"the range {quoted(text)} runs backwards", fix=fix)
    return _step_mask(kind, low, high, step), step


def _step_mask(kind: FieldKind, low: int, high: int, step: int) -> int:
    mask = 0
    for value in range(low, high + 1, step):
        # 7 is Sunday as well, also at the end of a range.
        mask |= 1 << (value % 7 if kind is DAY_OF_WEEK else value)
    return mask


def _parse_value(grammar: _Grammar, text: str) -> int:
    kind = grammar.kind
    name = text.upper()
    if text.isascii() and name in kind.names:  # some other letters have these as capitals
        return kind.names.index(name) + kind.low
    if not (text.isascii() and text.isdigit()):
        raise grammar.shape_error(text)
    highest = 7 if kind is DAY_OF_WEEK else kind.high
    if len(text) > _MOST_DIGITS or not kind.low <= int(text) <= highest:
        raise grammar.error(text, f"{quoted(text)} is not between {kind.low} and {highest}")
    return int(text)


def _unrolled(kind: FieldKind, low_text: str, low: int, high_text: str, high: int) -> str:
    """A range over the end of the week, the day or the year as two, in the same spelling."""
    first, last = (_spelled_like(low_text, kind, value) for value in (kind.low, kind.high))
    head = f"{low_text}-{last}," if low < kind.high else f"{last},"
    if low > kind.high:
        head = ""  # 7, the Sunday with which the week begins anyway
    return head + (high_text if high == kind.low else f"{first}-{high_text}")


def _spelled_like(example: str, kind: FieldKind, value: int) -> str:
    """`value` as a name or a number, whichever `example` is."""
    return str(value) if example.isdigit() else kind.spelled(value)


SHORTHANDS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
"""What each of cron's words stands for. Crontabs have them; schedules do not."""

_FUZZY_KIN = ("hourly", "daily", "weekly")
"""The shorthands that are fuzzy schedules too, which scatter what these pile up."""


def _empty(kind: FieldKind) -> Field:
    return Field(kind, mask=0, starred=False)


AT_BOOT = Reboot(
    *(_empty(MINUTE), _empty(HOUR), _empty(DAY_OF_MONTH), _empty(MONTH), _empty(DAY_OF_WEEK))
)


def shorthand_fix(word: str) -> str | None:
    """What to write for `@daily` and its kin, or None when `word` is no such shorthand."""
    spelled = SHORTHANDS.get(word.lower())
    if spelled is None:
        return None
    kin = word.lower().removeprefix("@")
    return f"write {spelled} or {kin}" if kin in _FUZZY_KIN else f"write {spelled}"
