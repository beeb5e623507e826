"""Wording: numbers, times and lists as warnings show them."""

from __future__ import annotations

from collections.abc import Sequence

from kron.core.duration import SECOND_NS, format_duration
from kron.core.instant import DAY_S, to_date
from kron.core.schedule import Schedule

_LISTED = 3
_CLIPPED = 100


def listed(items: Sequence[str], most: int = _LISTED) -> str:
    """`a, b and c`, or `a, b, c and 7 more`."""
    if len(items) <= most + 1:
        return " and ".join(filter(None, (", ".join(items[:-1]), items[-1])))
    return f"{', '.join(items[:most])} and {len(items) - most:,} more"


def clipped(text: str) -> str:
    return text if len(text) <= _CLIPPED else text[: _CLIPPED - 1] + "…"


def percent(share: float) -> str:
    """A share with the digits that matter; 0 % and 100 % are exact."""
    if share in (0.0, 1.0):
        return f"{share:.0%}".replace("%", " %")
    for digits, bound in ((0, 0.095), (1, 0.0095), (2, 0.00095)):
        if bound <= share <= 1 - 0.5 * 0.1 ** (digits + 2):
            return f"{100 * share:.{digits}f} %"
    return "more than 99.9 %" if share > 0.5 else "less than 0.1 %"


def duration(seconds: int) -> str:
    """A length of time as in a schedule; whole days in words."""
    if seconds and seconds % DAY_S == 0:
        days = seconds // DAY_S
        return f"{days} days" if days > 1 else "24h"
    return format_duration(seconds * SECOND_NS)


def date_text(day: int) -> str:
    """A day (counted from 1970) as `2026-03-01`."""
    return to_date(day).isoformat()


def time_text(second: int) -> str:
    """A time of day as `02:30`, with its seconds if it has any."""
    minute, rest = divmod(second, 60)
    return f"{minute // 60:02d}:{minute % 60:02d}" + (f":{rest:02d}" if rest else "")


def local_text(schedule: Schedule, instant_s: int) -> str:
    """An instant as the schedule's clocks show it, `2026-03-01 02:30`."""
    day, second = divmod(schedule.zone.wall_at(instant_s), DAY_S)
    return f"{date_text(day)} {time_text(second)}"
