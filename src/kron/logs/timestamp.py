"""Instants in a log: RFC3339 in UTC. The time of a line has nanoseconds; the instants in its fields
are whole seconds, as in `kron.core.instant`.
"""

from __future__ import annotations

import re
from datetime import date
from functools import lru_cache

from kron.core.duration import SECOND_NS
from kron.core.errors import Code, KronError, quoted
from kron.core.instant import DAY_S, from_text, to_day, to_text

DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,9})?Z"
TIMESTAMP = re.compile(f"{DAY}T{TIME}")
"""Matches a timestamp. Its day may not exist, such as 30 February."""

FIRST_NS = to_day(date.min) * DAY_S * SECOND_NS
LAST_NS = (to_day(date.max) + 1) * DAY_S * SECOND_NS - 1


def timestamp_text(time_ns: int) -> str:
    """The instant with all nine digits of its fraction."""
    instant_s, fraction_ns = divmod(time_ns, SECOND_NS)
    return f"{to_text(instant_s)[:-1]}.{fraction_ns:09d}Z"


def read_timestamp(text: str) -> int:
    """The nanoseconds since 1970 of a timestamp with nine digits, fewer or none."""
    day_s = day_start_s(text[:10]) if TIMESTAMP.fullmatch(text) else None
    if day_s is None:
        raise KronError(
            Code.INSTANT,
            f"{quoted(text)} is not a timestamp",
            fix="write it as 2026-03-01T02:32:20.000000000Z",
        )
    seconds = day_s + int(text[11:13]) * 3600 + int(text[14:16]) * 60 + int(text[17:19])
    return seconds * SECOND_NS + int(text[20:-1].ljust(9, "0"))


instant_s = lru_cache(maxsize=4096)(from_text)
"""`kron.core.instant.from_text` with a cache: the jobs of a host share their instants."""


@lru_cache(maxsize=4096)
def day_start_s(day: str) -> int | None:
    """The first second of a day written as in `DAY`; None if the day does not exist."""
    try:
        return to_day(date.fromisoformat(day)) * DAY_S
    except ValueError:
        return None
