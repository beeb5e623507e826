"""Scattering: from a fuzzy schedule and an identifier to a cron expression in UTC.

It is a pure function of the two. The same identifier gets the same time on every machine and in
every version, by section 6 of the specification. Where that contradicts itself, docs/fuzzy.md says
what Kron does.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from functools import lru_cache

from kron.core.cron import KINDS, parse_field
from kron.core.errors import Code, KronError, quoted
from kron.core.frozen import Frozen
from kron.core.limits import DEFAULT_LIMITS
from kron.fuzzy.expression import Expression, parse
from kron.fuzzy.pattern import DAY_MINUTES, FIXED, STEP_DAYS, Kind, Pattern, advice
from kron.fuzzy.placeholder import read_placeholder, write_placeholder
from kron.fuzzy.problem import FuzzyProblem

FIRST_MINUTE = 5
MINUTES = 50
"""An hourly schedule runs in one of these many minutes from the first on: not near the hour."""

_EU_MORNING = range(6, 10)
_US_BUSINESS = range(14, 19)
_BUSY = "no minute of the window is outside the busy ones, so a busy one is taken"
_BUSY_FIX = "widen the window past the five minutes around the hour"

_SHOWN_NAMES = 3

# Monday to Friday, moved by this number of days.
_WORKDAYS = {-2: "0-3,6", -1: "0-4", 0: "1-5", 1: "2-6", 2: "0,3-6"}


class Tier(Frozen):
    """Hours and minutes that are equally welcome."""

    name: str
    weight: int
    hours: range
    minutes: tuple[int, ...]

    def slots(self) -> list[int]:
        """Its minutes of the day, each repeated by the weight."""
        return [
            hour * 60 + minute
            for hour in self.hours
            for minute in self.minutes
            for _ in range(self.weight)
        ]


TIERS = (
    Tier("BEST", 3, range(2, 6), (7, 13, 23, 37, 43, 53)),
    Tier("GOOD", 2, range(10, 13), tuple(range(5, 55))),
    Tier("OK", 1, range(19, 24), tuple(range(5, 55))),
)
POOL = tuple(minute for tier in TIERS for minute in tier.slots())
"""The times for schedules that name none, as minutes of the day: 72 + 300 + 250 = 622 of them.

The order is part of the contract (6.3.1 of the specification): BEST, GOOD, OK, hour by hour, minute
by minute, each time repeated by its weight. Another order would move every schedule.
"""


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
    cron, is_busy = _scatter(read.pattern, identifier_hash(identifier))
    for place, field in enumerate(cron.split(" ")):
        _validate_field(place, field)
    if not is_busy:
        return Scattered(cron, read.warnings)
    busy = FuzzyProblem(Code.BUSY_MINUTE, _BUSY, 0, len(read.text), _BUSY_FIX)
    return Scattered(cron, (*read.warnings, busy))


def pattern_of(schedule: str | Expression) -> Pattern:
    return _read(schedule).pattern


def _read(schedule: str | Expression) -> Expression:
    if isinstance(schedule, Expression):
        return schedule
    first = schedule.lstrip(" \t")[:1]
    if not schedule.startswith("FUZZY:") and (first == "" or first.isalpha()):
        return parse(schedule)  # a cron expression does not begin with a word
    pattern = read_placeholder(schedule)
    return Expression(schedule, pattern, advice(pattern, 0, len(schedule)))


def _scatter(pattern: Pattern, seed: int) -> tuple[str, bool]:
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
    days_of_month = f"*/{STEP_DAYS[kind]}" if kind in STEP_DAYS else "*"
    days = _days(pattern, moved, seed)
    return f"{minute % 60} {minute // 60} {days_of_month} * {days}", is_busy


def _days(pattern: Pattern, moved: int, seed: int) -> str:
    """The day of week field of a time that lies `moved` days after the window's own day."""
    if pattern.kind is Kind.WEEKLY:
        weekday = seed % 7 if pattern.weekday is None else pattern.weekday
        return str((weekday + moved) % 7)
    return "*" if pattern.workdays is None else _WORKDAYS[pattern.workdays + moved]


@lru_cache(maxsize=1024)
def _validate_field(place: int, text: str) -> None:
    """Every field goes through the parser of cron fields (section 7.2 of the specification)."""
    parse_field(KINDS[place], text)


def fnv1a_32(data: bytes) -> int:
    """FNV-1a over bytes, from 0 to 2^32 - 1. Every scattered time follows from it."""
    value = 2_166_136_261
    for byte in data:
        value = (value ^ byte) * 16_777_619 & 0xFFFFFFFF
    return value


def identifier_hash(identifier: str) -> int:
    """The hash of an identifier such as `owner/repo/path.md`; an empty one is refused."""
    if not identifier or identifier.isspace() or "\n" in identifier:
        wrong = f"{quoted(identifier)} is not an identifier: it is empty or holds a line break"
        message = f"{wrong}, and without one there is nothing to scatter by"
        fix = "give one that is unique, for example owner/repo/.github/workflows/report.md"
        raise KronError(Code.IDENTITY, message, fix)
    if len(identifier) > DEFAULT_LIMITS.line_bytes:
        message = f"the identifier is longer than {DEFAULT_LIMITS.line_bytes} characters"
        raise KronError(Code.LIMIT, message)
    try:
        return fnv1a_32(identifier.encode())
    except UnicodeEncodeError:
        raise KronError(Code.IDENTITY, f"{quoted(identifier)} is not valid Unicode") from None


def settle(first: int, width: int, seed: int) -> tuple[int, bool]:
    """The minute that `seed` picks in a window, and whether it is a busy one after all.

    Two passes (section 6.4 of the specification) move a minute away from the hour and from the
    minutes that most people pick. They can also move it out of its window. The window comes first
    (R-SAFE-001): then the nearest minute inside that is not busy is taken, and if all are busy, the
    raw one.

    The window goes from the minute `first` to the minute `first + width`, both included. Minutes
    count from a midnight: a negative one lies on the day before, one from 1440 on the day after.
    """
    raw = first + seed % width
    moved = avoid(raw)
    if first <= moved <= first + width:
        return moved, False
    free = [minute for minute in range(first, first + width + 1) if avoid(minute) == minute]
    # Two can never be as near: the middle of a busy run is moved to its end, which is then outside.
    return (min(free, key=lambda minute: abs(minute - raw)), False) if free else (raw, True)


def avoid(minute: int) -> int:
    """Both passes over a minute of the day, in the order that the specification prescribes."""
    hour, minute_of_hour = divmod(minute % DAY_MINUTES, 60)
    moved = avoid_peak_minutes(hour, avoid_hour_boundary(minute_of_hour))
    return minute - minute_of_hour + moved


def avoid_hour_boundary(minute: int) -> int:
    """Five minutes away from the turn of the hour, for the minutes next to it."""
    if minute < 5:
        return minute + 5
    return minute - 5 if minute > 54 else minute


def avoid_peak_minutes(hour: int, minute: int) -> int:
    """Past the half hour in Europe's morning, past the quarters in the US business hours."""
    if hour in _EU_MORNING and 27 <= minute <= 33:
        return 34
    if hour in _US_BUSINESS:
        if 12 <= minute <= 18:
            return 19
        if 42 <= minute <= 48:
            return 49
    return minute


class Cause(StrEnum):
    """Why schedules collide: the worst first."""

    IDENTIFIER = "the same identifier"
    HASH = "the same hash"
    TIME = "the same time"


class Collision(Frozen):
    """Schedules that share their identifier, the hash of it, or only the resulting time.

    A collision changes nothing (R-SAFE-004 of the specification). It is reported, so that the owner
    can rename a schedule or accept that two of them run in the same minute.
    """

    cause: Cause
    cron: str
    identifiers: tuple[str, ...]
    """One for each schedule, in the order in which they were given."""

    code = Code.COLLISION

    @property
    def message(self) -> str:
        names = [quoted(name) for name in dict.fromkeys(self.identifiers)]
        more = f" and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else ""
        shared = f"{len(self.identifiers)} schedules have {self.cause} ({self.cron})"
        return f"{shared}: {', '.join(names[:_SHOWN_NAMES])}{more}"

    @property
    def fix(self) -> str:
        if self.cause is Cause.IDENTIFIER:
            return "give each its own identifier: owner/repo/path"
        return "rename one of them, or accept that they start together"

    def __str__(self) -> str:
        return f"{self.message} ({self.fix})"


def collisions(schedules: Iterable[tuple[str, str | Expression]]) -> tuple[Collision, ...]:
    """The collisions among (identifier, expression or placeholder) pairs, in their order.

    A fixed interval collides with its like by nature, and has a warning of its own that says so:
    it is left out here.
    """
    by_cron: dict[str, list[tuple[str, int]]] = {}
    for identifier, schedule in schedules:
        pattern = pattern_of(schedule)
        if pattern.kind in FIXED:
            continue
        seed = identifier_hash(identifier)
        cron, _ = _scatter(pattern, seed)
        by_cron.setdefault(cron, []).append((identifier, seed))
    return tuple(
        Collision(_cause(sharing), cron, tuple(identifier for identifier, _ in sharing))
        for cron, sharing in by_cron.items()
        if len(sharing) > 1
    )


def _cause(sharing: list[tuple[str, int]]) -> Cause:
    if len({identifier for identifier, _ in sharing}) < len(sharing):
        return Cause.IDENTIFIER
    return Cause.HASH if len({seed for _, seed in sharing}) < len(sharing) else Cause.TIME
