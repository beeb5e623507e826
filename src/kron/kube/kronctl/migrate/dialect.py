"""Kubernetes' dialect of cron, and the same schedule as Kron spells it.

A CronJob's schedule is read by robfig/cron v3: a step may begin at a number (`5/10`), `?` is `*`,
a star counts anywhere in a list, and days of the month with a step are a restriction (`*/2` beside
a weekday means either). A field that means the same in Kron is not changed.
"""

from __future__ import annotations

from kron.core.cron import (
    DAY_OF_MONTH,
    DAY_OF_WEEK,
    HOUR,
    KINDS,
    MINUTE,
    SHORTHANDS,
    FieldKind,
    format_values,
    parse_field,
)
from kron.core.duration import SECOND_NS, format_duration, parse_duration
from kron.core.errors import Code, KronError, ParseError, quoted
from kron.core.frozen import Frozen

_PREFIXES = ("TZ=", "CRON_TZ=")
_EVERY = "@every "
_MOST_DIGITS = 9
_LONGEST = 4_096


class Translation(Frozen):
    """A schedule as Kron spells it, the zone that its text named, and notes about the changes."""

    cron: str
    zone: str
    """'' if the text names no zone."""
    notes: tuple[str, ...]


class _Field(Frozen):
    """A field as Kubernetes reads it: its values, and whether an item is a bare star."""

    kind: FieldKind
    text: str
    mask: int
    has_star: bool


def translate(text: str) -> Translation:
    """The schedule of a CronJob as Kron spells it; `KronError` if Kron cannot express it."""
    if len(text) > _LONGEST:
        raise _error(text, f"is longer than {_LONGEST:,} characters")
    zone, rest = _without_zone(text)
    if rest.startswith("@"):
        return _descriptor(rest, zone)
    words = rest.split()
    if len(words) != len(KINDS):
        raise _error(text, f"has {len(words)} fields, and Kubernetes reads five")
    fields = [_field(kind, word) for kind, word in zip(KINDS, words, strict=True)]
    spelled = _spelled(fields)
    notes = [
        f"{field.kind.name} {quoted(field.text)} is spelled {quoted(new)} in Kron"
        for field, new in zip(fields, spelled, strict=True)
        if field.text != new
    ]
    return Translation(" ".join(spelled), zone, tuple(notes))


def _error(text: str, what: str, fix: str = "") -> KronError:
    return KronError(Code.CRON_FIELD, f"the schedule {quoted(text)} {what}", fix)


def _field_error(kind: FieldKind, what: str) -> KronError:
    names = f", {kind.names[0]} to {kind.names[-1]}" if kind.names else ""
    fix = f"Kubernetes reads {kind.low} to {kind.high}{names} there"
    return KronError(Code.CRON_FIELD, f"{kind.name}: {what}", fix)


def _without_zone(text: str) -> tuple[str, str]:
    """The zone at the beginning of the text, or '', and the rest."""
    if not text.startswith(_PREFIXES):
        return "", text.strip()
    zone, space, rest = text.partition("=")[2].partition(" ")
    if not space:
        raise _error(text, "has a time zone and nothing else")
    return zone or "UTC", rest.strip()


def _descriptor(text: str, zone: str) -> Translation:
    if text in SHORTHANDS:  # in lower case only, like Kubernetes
        cron = SHORTHANDS[text]
        return Translation(cron, zone, (f"{text} is spelled {quoted(cron)} in Kron",))
    if text.startswith(_EVERY):
        return _interval(text, zone)
    known = ", ".join(SHORTHANDS)
    raise _error(text, "is unknown to Kubernetes", fix=f"the short forms are {known}")


def _interval(text: str, zone: str) -> Translation:
    """`@every 30m`: Kubernetes counts from the last run, a cron expression from the hour."""
    length = text.removeprefix(_EVERY)
    try:
        seconds, part = divmod(parse_duration(length), SECOND_NS)
    except ParseError as error:
        raise _error(text, f"has no duration: {error.message}", error.fix) from None
    minutes, odd = divmod(seconds, 60)
    fix = "write the nearest cron expression, and migrate again"
    if part or odd or not minutes:
        raise _error(text, "has no cron expression: cron has whole minutes and no seconds", fix)
    hours = minutes // 60
    if 60 % minutes == 0 and not hours:
        cron = "* * * * *" if minutes == 1 else f"*/{minutes} * * * *"
    elif minutes % 60 == 0 and 24 % hours == 0:
        cron = {1: "0 * * * *", 24: "0 0 * * *"}.get(hours, f"0 */{hours} * * *")
    else:
        raise _error(text, "has no cron expression: it divides neither an hour nor a day", fix)
    every = format_duration(seconds * SECOND_NS)
    note = f"{text} is spelled {quoted(cron)}: every {every} at fixed times, not from the last run"
    return Translation(cron, zone, (note,))


def _field(kind: FieldKind, text: str) -> _Field:
    mask = 0
    has_star = False
    for item in filter(None, text.split(",")):
        item_mask, is_star = _item(kind, item)
        mask |= item_mask
        has_star = has_star or is_star
    if not mask:
        raise _field_error(kind, f"{quoted(text)} has no value")
    return _Field(kind, text, mask, has_star)


def _item(kind: FieldKind, item: str) -> tuple[int, bool]:
    """The values of one item, and whether it is a star without a restriction."""
    values, slash, step_text = item.partition("/")
    first, hyphen, last = values.partition("-")
    is_star = first in ("*", "?")
    if is_star:
        low, high = kind.low, kind.high
    else:
        low = _value(kind, first)
        high = _value(kind, last) if hyphen else low
    step = 1
    if slash:
        step = _number(kind, step_text)
        if not hyphen:
            high = kind.high  # 5/10 continues to the end
    if not kind.low <= low <= high <= kind.high or not step:
        raise _field_error(kind, f"{quoted(item)} is out of range")
    return _mask(low, high, step), is_star and step == 1


def _mask(low: int, high: int, step: int) -> int:
    return sum(1 << value for value in range(low, high + 1, step))


def _value(kind: FieldKind, word: str) -> int:
    name = word.upper()
    if word.isascii() and name in kind.names:
        return kind.names.index(name) + kind.low
    return _number(kind, word)


def _number(kind: FieldKind, word: str) -> int:
    digits = word.removeprefix("+")
    if digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS:
        return int(digits)
    raise _field_error(kind, f"{quoted(word)} is not a number")


def _spelled(fields: list[_Field]) -> list[str]:
    """The fields in Kron's spelling; the two day fields together keep their meaning."""
    by_kind = {field.kind: field for field in fields}
    days = by_kind[DAY_OF_MONTH], by_kind[DAY_OF_WEEK]
    either = not any(field.has_star for field in days)
    return [_spelling(field, either=either and field in days) for field in fields]


def _spelling(field: _Field, *, either: bool) -> str:
    """`either`: the field restricts days, so it must not begin with a star in Kron."""
    try:
        read = parse_field(field.kind, field.text)
    except ParseError:
        pass
    else:
        is_day = field.kind in (DAY_OF_MONTH, DAY_OF_WEEK)
        same_star = not is_day or read.starred == (not either and field.has_star)
        if read.mask == field.mask and (same_star or not (either or field.has_star)):
            return field.text
    if field.has_star:
        return "*"
    if field.kind in (MINUTE, HOUR) and (star := _star(field)):
        return star
    return format_values(field.kind, field.mask)


def _star(field: _Field) -> str:
    """`*/s` if that has the same values: with a star in front, Kron follows the wall clock through
    daylight saving, as Kubernetes always does."""
    low = field.kind.low
    for step in range(1, field.kind.high + 2):
        if _mask(low, field.kind.high, step) == field.mask:
            return "*" if step == 1 else f"*/{step}"
    return ""
