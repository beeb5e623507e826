"""The patterns of durations, with bounds: a sieve that Python and the API server both read.

A bound is one of each term, such as the hours of `1h30m`. What terms come to together, the engine
judges.
"""

from __future__ import annotations

from kron.core.duration import LARGEST_NS, SECOND_NS
from kron.core.instant import DAY_S
from kron.core.limits import DEFAULT_LIMITS

_NUMBER = r"(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})"
DURATION = rf"0|(?:{_NUMBER}(?:ns|us|µs|μs|ms|s|m|h))+"

_UNITS_S = {"h": 3600, "m": 60, "s": 1}
_BELOW_SECONDS = {"ms": 3, "[uµμ]s": 6, "ns": 9}
"""By how many digits each of them makes a second longer."""


def _brief(*wholes: str) -> str:
    """Matches durations with such numbers before h, m, s, ms, us and ns, and any fractions."""
    units = (*_UNITS_S, *_BELOW_SECONDS)
    terms = "|".join(
        rf"(?:(?:{whole})(?:\.[0-9]*)?|\.[0-9]+){unit}"
        for unit, whole in zip(units, wholes, strict=True)
    )
    return rf"0|(?:{terms})+"


def _digits(most: int) -> str:
    """Matches numbers of at most this number of digits, besides zeros before them."""
    return rf"0*[1-9][0-9]{{0,{most - 1}}}|0+"


def _at_most(largest: int) -> str:
    """Matches numbers up to this one, each in one way."""
    digits = str(largest)
    found = [f"[1-9][0-9]{{0,{len(digits) - 2}}}", digits]
    for place, digit in enumerate(digits):
        least = 0 if place else 1
        if int(digit) > least:
            rest = len(digits) - place - 1
            found.append(f"{digits[:place]}[{least}-{int(digit) - 1}][0-9]{{{rest}}}")
    return rf"0*(?:{'|'.join(found)})|0+"


def _terms_up_to(longest_s: int) -> str:
    seconds_digits = len(str(longest_s))
    return _brief(
        *(_at_most(longest_s // unit_s) for unit_s in _UNITS_S.values()),
        *(_digits(seconds_digits + more) for more in _BELOW_SECONDS.values()),
    )


BELOW_CENTURIES = _brief(*map(_digits, (5, 7, 9, 12, 15, 18)))
"""However many of such terms fit into 64 characters, the sum is less than 292 years: the API
server's own `duration` fails with a message of its own on more."""
NO_TERM_OF_CENTURIES = _terms_up_to(LARGEST_NS // SECOND_NS)
NO_TERM_OF_A_YEAR = _terms_up_to(DEFAULT_LIMITS.window_days * DAY_S)
"""No term is longer than the longest window, which is a year."""
