"""Times as people read them: local ones, and how far away they are."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from kron.core.zone import Zone

_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))


def local_time(instant_s: int, zone: Zone) -> datetime:
    offset = timedelta(seconds=zone.span_at(instant_s).offset_s)
    return datetime.fromtimestamp(instant_s, timezone(offset))


def local_text(instant_s: int, zone: Zone) -> str:
    """`Sun 2026-03-01 03:32:20 +01:00`, the same in every locale."""
    moment = local_time(instant_s, zone)
    offset = moment.isoformat()[19:]
    return f"{_WEEKDAYS[moment.weekday()]} {moment:%Y-%m-%d %H:%M:%S} {offset}"


def distance(seconds: int) -> str:
    """A span of time in its two largest units: `2h 32m`, `3d 4h`; `-5m 1s` for the past."""
    sign = "-" if seconds < 0 else ""
    left = abs(seconds)
    parts = []
    for size, unit in _UNITS:
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count}{unit}")
        elif parts:
            break
    return sign + (" ".join(parts[:2]) or "0s")
