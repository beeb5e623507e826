"""Moments at which jobs are due, and how each contender writes them."""

from __future__ import annotations

import time
from functools import cache

import kron
from kron.core.decision import decide_at

MINUTE_S = 60
SECOND_NS = 1_000_000_000
_SALTS = 1_000


def soon(lead_s: float, *, whole_minute: bool = False) -> int:
    """A whole second, or minute, at least so far away."""
    at_s = int(time.time() + lead_s) + 1
    return at_s + -at_s % MINUTE_S if whole_minute else at_s


def cron_fields(at_s: int) -> str:
    """The five fields of the minute that `at_s` lies in, in UTC: due once a year."""
    at = time.gmtime(at_s)
    return f"{at.tm_min} {at.tm_hour} {at.tm_mday} {at.tm_mon} *"


def kron_schedule(identity: str, at_s: int) -> str:
    """A schedule with which that job is due at `at_s`.

    Within the minute a salt is looked for with which the choice falls on that second. So krond
    need not wait for a whole minute, as cron and yacron have to, and does more work, not less.
    """
    nominal_s = at_s - at_s % MINUTE_S
    if nominal_s == at_s:
        return cron_fields(at_s)
    for salt in range(_SALTS):
        text = f"{cron_fields(at_s)} @win(after,1m) @seed(stable,salt=s{salt})"
        if decide_at(_parsed(text), identity, nominal_s).chosen_s == at_s:
            return text
    raise AssertionError(f"none of {_SALTS} salts puts {identity} at {at_s}")


@cache
def _parsed(text: str) -> kron.Schedule:
    return kron.parse_schedule(text)
