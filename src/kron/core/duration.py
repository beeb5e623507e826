"""Durations as Go writes them (`1h30m`, `1.5h`, `250ms`), held as whole nanoseconds."""

from __future__ import annotations

import re

from kron.core.errors import Code, ParseError, quoted

SECOND_NS = 1_000_000_000
LARGEST_NS = 2**63 - 1
"""Go's own bound: about 292 years."""

_UNITS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # U+00B5, micro sign
    "μs": 1_000,  # U+03BC, Greek mu
    "ms": 1_000_000,
    "s": SECOND_NS,
    "m": 60 * SECOND_NS,
    "h": 3_600 * SECOND_NS,
}
_TERM = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)")
_RULE = "a duration is written like 90m, 1h30m, 1.5h or 250ms"
_MOST_DIGITS = 40
_CALENDAR_UNITS_H = {"d": 24, "w": 168}


def parse_duration(text: str) -> int:
    """The nanoseconds that `text` says. A fraction of a nanosecond is dropped, as Go does."""
    if text == "0":
        return 0
    if text[:1] in ("-", "+"):
        raise _error(text, f"the duration {quoted(text)} has a sign", fix="leave the sign out")
    total_ns = 0
    position = 0
    while position < len(text) or position == 0:
        term = _TERM.match(text, position)
        assert term is not None  # the pattern also matches nothing
        whole, fraction, unit = term[1], term[2] or "", term[3]
        if not whole and not fraction:
            raise _error(text, f"{quoted(text)} is not a duration", fix=_RULE)
        if len(whole) > _MOST_DIGITS or len(fraction) > _MOST_DIGITS:
            raise _error(text, f"the duration {quoted(text)} has too many digits", fix=_RULE)
        if unit not in _UNITS:
            raise _unit_error(text, whole, fraction, unit)
        # Exact integers: Go goes through a float here, and is off by a nanosecond now and then.
        unit_ns = _UNITS[unit]
        total_ns += int(whole or "0") * unit_ns
        total_ns += int(fraction or "0") * unit_ns // 10 ** len(fraction)
        if total_ns > LARGEST_NS:
            raise _error(text, f"the duration {quoted(text)} is longer than 292 years")
        position = term.end()
    return total_ns


def format_duration(duration_ns: int) -> str:
    """The canonical text: largest units first, zero parts left out, `0s` for nothing."""
    hours, rest = divmod(duration_ns, 3_600 * SECOND_NS)
    minutes, rest_ns = divmod(rest, 60 * SECOND_NS)
    seconds = _format_below_a_minute(rest_ns) if rest_ns or not duration_ns else ""
    return (f"{hours}h" if hours else "") + (f"{minutes}m" if minutes else "") + seconds


def _format_below_a_minute(rest_ns: int) -> str:
    for unit, unit_ns in (("s", SECOND_NS), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)):
        if rest_ns >= unit_ns:
            whole, below = divmod(rest_ns, unit_ns)
            fraction = f".{below:0{len(str(unit_ns)) - 1}d}".rstrip("0") if below else ""
            return f"{whole}{fraction}{unit}"
    return "0s"


def _unit_error(text: str, whole: str, fraction: str, unit: str) -> ParseError:
    if not unit:
        short = not fraction and len(text) <= _MOST_DIGITS
        fix = f"{text}s for seconds, {text}m for minutes" if short else _RULE
        return _error(text, f"the duration {quoted(text)} ends without a unit", fix=fix)
    fix = "units are ns, us, ms, s, m and h"
    if unit in _CALENDAR_UNITS_H and whole and not fraction:
        fix = f"write {whole}{unit} as {int(whole) * _CALENDAR_UNITS_H[unit]}h"
    return _error(text, f"unknown unit {quoted(unit)} in the duration {quoted(text)}", fix=fix)


def _error(text: str, message: str, *, fix: str = "") -> ParseError:
    return ParseError.single(text, Code.DURATION, message, fix=fix)
