"""Instants: whole seconds since 1970 in UTC, and their two faces, datetimes and RFC3339 text.

Inside Kron an instant is an `int` whose name ends in `_s`. Datetimes exist at the public door
only, where a naive one is refused: it does not say which instant it means. A day of the calendar
is an `int` too, counted from 1970-01-01.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from functools import lru_cache

from kron.core.errors import Code, KronError, quoted

DAY_S = 86_400
FIRST_YEAR = 1900
LAST_YEAR = 2999

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_ORDINAL = _EPOCH.toordinal()
_SECONDS = tuple(f"{second:02d}Z" for second in range(60))
_RFC3339 = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z"

FIRST_S = (datetime(FIRST_YEAR, 1, 1, tzinfo=UTC) - _EPOCH).days * DAY_S
LAST_S = (datetime(LAST_YEAR + 1, 1, 1, tzinfo=UTC) - _EPOCH).days * DAY_S - 1


def to_seconds(moment: datetime) -> int:
    """The whole second that `moment` lies in (its fraction is dropped towards the past)."""
    if moment.tzinfo is None:
        message = f"{moment.isoformat()} has no time zone, so it names no instant"
        fix = "pass an aware datetime, for example datetime.now(UTC)"
        raise KronError(Code.INSTANT, message, fix)
    since_epoch = moment - _EPOCH
    seconds = since_epoch.days * DAY_S + since_epoch.seconds
    if FIRST_S <= seconds <= LAST_S:
        return seconds
    raise out_of_range(moment.isoformat())


def to_whole_seconds(moment: datetime) -> int:
    """The same for a moment that has no fraction, as nominal instants have none."""
    if moment.microsecond:
        raise KronError(Code.INSTANT, f"{moment.isoformat()} is not a whole second")
    return to_seconds(moment)


def to_datetime(instant_s: int) -> datetime:
    """The instant as an aware datetime in UTC."""
    return datetime.fromtimestamp(instant_s, UTC)


def to_text(instant_s: int) -> str:
    """The instant as RFC3339 with whole seconds and `Z`: the form of every period id.

    Every decision writes one, and a log four on every line, so minutes are remembered: that takes
    an eighth of the time that a datetime would.
    """
    return _minute_text(instant_s // 60) + _SECONDS[instant_s % 60]


def optional_text(instant_s: int | None) -> str | None:
    return None if instant_s is None else to_text(instant_s)


@lru_cache(maxsize=8192)
def _minute_text(minute: int) -> str:
    day, minute_of_day = divmod(minute, 1440)
    return f"{to_date(day)}T{minute_of_day // 60:02d}:{minute_of_day % 60:02d}:"


def from_text(text: str) -> int:
    """The inverse of `to_text`, and of nothing else: no fractions, no offsets, no lower case."""
    if re.fullmatch(_RFC3339, text):
        try:
            return to_seconds(datetime.fromisoformat(text))
        except ValueError:
            pass
    raise KronError(
        Code.INSTANT, f"{quoted(text)} is not an instant", fix="write it as 2026-03-01T02:32:20Z"
    )


def to_day(calendar_date: date) -> int:
    """The number of a day, 1970-01-01 being 0."""
    return calendar_date.toordinal() - _EPOCH_ORDINAL


def to_date(day: int) -> date:
    return date.fromordinal(day + _EPOCH_ORDINAL)


def out_of_range(what: str) -> KronError:
    message = f"{what} is outside the years {FIRST_YEAR} to {LAST_YEAR} that Kron covers"
    return KronError(Code.INSTANT, message)
