"""A load of many jobs, and which of their periods are owed: worked out apart from krond.

Each job has a period every other minute and a window of one, so its runs are a minute apart and
more. A krond that is back sooner than that never has two of them to catch up with, of which it
would run the later one only: every period that is owed has to run.
"""

from __future__ import annotations

import kron
from kron.core.decision import decide_at
from kron.core.instant import to_text
from tests.krond.fault import CAUGHT_UP, FaultyHost, Ran

SCHEDULES = tuple(f"{minutes} * * * * @win(after,1m) {CAUGHT_UP}" for minutes in ("*/2", "1-59/2"))
_PARSED = tuple(map(kron.parse_schedule, SCHEDULES))


def lines(host: FaultyHost, count: int, then: str = "") -> list[str]:
    """So many jobs, of which one comes due about every 120 / `count` seconds."""
    return [
        host.job(
            f"job-{number}",
            *(("nice=1",) if number % 3 == 0 else ()),  # by the launcher; the others are spawned
            schedule=SCHEDULES[number % 2],
            policy="",
            then=then,
        )
        for number in range(count)
    ]


def owed(host: FaultyHost, until_s: int) -> set[Ran]:
    """The periods that were chosen for a second since krond has known the jobs, up to this one."""
    found = set()
    for name, state in host.states().items():
        schedule = _PARSED[int(name.rpartition("-")[2]) % 2]
        since_s = state.ledger.since_s
        nominal_s = schedule.nominals.after(since_s - 61)
        while nominal_s <= until_s:
            chosen_s = decide_at(schedule, state.identity, nominal_s).chosen_s
            assert chosen_s is not None
            if since_s <= chosen_s <= until_s:
                found.add((name, to_text(nominal_s)))
            nominal_s = schedule.nominals.after(nominal_s)
    return found
