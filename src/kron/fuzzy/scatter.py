"""Scattering: from a fuzzy schedule and an identifier to a cron expression in UTC.

It is a pure function of the two. The same identifier gets the same time on every machine and in
every version; section 6 of seed 004 says which, DESIGN section 9 where the seed is at odds.
"""

from __future__ import annotations

from functools import lru_cache

from kron.core.cron import KINDS, parse_field
from kron.core.errors import Code
from kron.core.frozen import Frozen
from kron.fuzzy.advice import advice
from kron.fuzzy.expression import Expression, parse
from kron.fuzzy.hashing import identifier_hash
from kron.fuzzy.hotspot import settle
from kron.fuzzy.pattern import DAY_MINUTES, FIXED, Kind, Pattern
from kron.fuzzy.placeholder import read_placeholder, write_placeholder
from kron.fuzzy.pool import POOL
from kron.fuzzy.problem import FuzzyProblem

FIRST_MINUTE = 5
MINUTES = 50
"""An hourly schedule runs in one of these many minutes from the first on: not near the hour."""

_STEP_DAYS = {Kind.BI_WEEKLY: 14, Kind.TRI_WEEKLY: 21}
_BUSY = "no minute of the window is outside the busy ones, so a busy one is taken"
_BUSY_FIX = "widen the window past the five minutes around the hour"

# Monday to Friday, moved by so many days.
_WORKDAYS = {-2: "0-3,6", -1: "0-4", 0: "1-5", 1: "2-6", 2: "0,3-6"}


class Scattered(Frozen):
    """A cron expression, and what is unwise about the schedule it came from."""

    cron: str
    warnings: tuple[FuzzyProblem, ...] = ()


def scatter(schedule: str | Expression, identifier: str) -> str:
    """The cron expression of a fuzzy expression or a placeholder, for this identifier."""
    return scattered(schedule, identifier).cron


def scattered(schedule: str | Expression, identifier: str) -> Scattered:
    """The same, with the warnings of the schedule and of its scattering."""
    read = _read(schedule)
    cron, is_busy = scatter_pattern(read.pattern, identifier_hash(identifier))
    _validate(cron)
    if not is_busy:
        return Scattered(cron, read.warnings)
    busy = FuzzyProblem(Code.BUSY_MINUTE, _BUSY, 0, len(read.text), _BUSY_FIX)
    return Scattered(cron, (*read.warnings, busy))


def pattern_of(schedule: str | Expression) -> Pattern:
    """What a fuzzy expression or a placeholder asks for."""
    return _read(schedule).pattern


def _read(schedule: str | Expression) -> Expression:
    if isinstance(schedule, Expression):
        return schedule
    if not _is_placeholder(schedule):
        return parse(schedule)
    pattern = read_placeholder(schedule)
    return Expression(schedule, pattern, advice(pattern, 0, len(schedule)))


def _is_placeholder(text: str) -> bool:
    """Whether it begins as a placeholder does, or as a cron expression and not with a word."""
    first = text.lstrip(" \t")[:1]
    return text.startswith("FUZZY:") or (first != "" and not first.isalpha())


def scatter_pattern(pattern: Pattern, seed: int) -> tuple[str, bool]:
    """The cron expression, and whether its minute is a busy one for want of another."""
    kind = pattern.kind
    if kind is Kind.HOURLY:
        hours = "*" if pattern.every is None else f"*/{pattern.every}"
        return f"{FIRST_MINUTE + seed % MINUTES} {hours} * * {_days(pattern, 0, seed)}", False
    if kind in FIXED:
        return write_placeholder(pattern), False
    if pattern.window is None:
        minute, is_busy = POOL[seed % len(POOL)], False
    else:
        minute, is_busy = settle(pattern.window.first, pattern.window.width, seed)
    moved, minute = divmod(minute, DAY_MINUTES)
    days_of_month = f"*/{_STEP_DAYS[kind]}" if kind in _STEP_DAYS else "*"
    days = _days(pattern, moved, seed)
    return f"{minute % 60} {minute // 60} {days_of_month} * {days}", is_busy


def _days(pattern: Pattern, moved: int, seed: int) -> str:
    """The day of week field of a time that lies `moved` days after the window's own day."""
    if pattern.kind is Kind.WEEKLY:
        weekday = seed % 7 if pattern.weekday is None else pattern.weekday
        return str((weekday + moved) % 7)
    return "*" if pattern.workdays is None else _WORKDAYS[pattern.workdays + moved]


def _validate(cron: str) -> None:
    """Every field goes through the parser of cron fields (section 7.2 of the seed asks for it)."""
    for place, field in enumerate(cron.split(" ")):
        _validate_field(place, field)


@lru_cache(maxsize=1024)
def _validate_field(place: int, text: str) -> None:
    parse_field(KINDS[place], text)
