"""Ten thousand jobs as different as a large host's, none of which is due in the next hours."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

import kron
from kron.core.instant import to_datetime

_QUIET_S = 2 * 3600
_ZONES = ("UTC", "Europe/Paris", "America/New_York", "Asia/Tokyo", "Australia/Lord_Howe")
_DRAWS = 1_000


def fleet(count: int, *, fields: str = "", seed: int = 5) -> Iterator[str]:
    """That number of lines of a krontab file. All of them have these fields as well."""
    chance = random.Random(seed)
    schedules = list(_schedules(min(count, _DRAWS), chance))
    for number in range(count):
        schedule = schedules[number % len(schedules)]
        yield f'{schedule} name=job-{number} command="/usr/bin/true {number}" timeout=1h {fields}'


def _schedules(count: int, chance: random.Random) -> Iterator[str]:
    now_s = int(time.time())
    while count:
        text = _schedule(chance)
        if _first_nominal_s(text, now_s) > now_s + _QUIET_S:
            count -= 1
            yield text


def _schedule(chance: random.Random) -> str:
    minute, hour = chance.randrange(60), chance.randrange(24)
    cron = chance.choice(
        [
            f"{minute} {hour} * * *",
            f"{minute} {hour} * * MON-FRI",
            f"{minute} {hour} {chance.randrange(1, 29)} * *",
            f"{minute} {hour},{(hour + 12) % 24} * * *",
        ]
    )
    modifiers = [f"@tz({chance.choice(_ZONES)})"]
    if chance.random() < 0.7:
        modifiers.append(f"@win(after,{chance.randrange(1, 300)}s)")
    if chance.random() < 0.3:
        modifiers.append(f"@policy(deadline={chance.randrange(1, 100)}m)")
    return f"{cron} {' '.join(modifiers)}"


def _first_nominal_s(text: str, now_s: int) -> int:
    """A choice is never before its nominal instant: the windows here are all after it."""
    # From a little before on, since a window that is open now may hold a choice to come.
    before = to_datetime(now_s - 600)
    return int(kron.parse_schedule(text).next_nominal(before).timestamp())
