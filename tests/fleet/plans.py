"""Jobs for the tests of the fleet, and what they do, counted the slow way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import takewhile

from kron import parse_schedule
from kron.engine import Job
from kron.engine.agenda import agenda
from kron.engine.survey import due_s
from kron.fleet import Tally

WEEK_S = 7 * 86_400


def job(text: str, identity: str = "prod/job") -> Job:
    return Job(identity, parse_schedule(text))


def seconds(text: str) -> int:
    """An instant; without an offset it is in UTC."""
    moment = datetime.fromisoformat(text)
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())


def agenda_firings(job: Job, from_s: int, until_s: int) -> list[int]:
    """When a job runs in [from_s, until_s), as its agenda has it: one decision after the other."""
    if job.schedule.policy.suspend:
        return []
    coming = takewhile(lambda decision: due_s(decision) < until_s, agenda(job, from_s))
    return [decision.chosen_s for decision in coming if decision.chosen_s is not None]


def slow_cells(jobs: Iterable[Job], from_s: int, weeks: int) -> Counter[tuple[int, int, int]]:
    """Firings by weekday, hour and minute, from the calendar of the standard library."""
    found: Counter[tuple[int, int, int]] = Counter()
    for each in jobs:
        for fired_s in agenda_firings(each, from_s, from_s + weeks * WEEK_S):
            moment = datetime.fromtimestamp(fired_s, UTC)
            found[moment.weekday(), moment.hour, moment.minute] += 1
    return found


def minute_cells(tally: Tally) -> Counter[tuple[int, int, int]]:
    """A tally by minute in the same form."""
    found: Counter[tuple[int, int, int]] = Counter()
    for slot, count in enumerate(tally.counts):
        if count:
            found[slot // 1440, slot // 60 % 24, slot % 60] = count
    return found


def hour_cells(cells: Counter[tuple[int, int, int]]) -> tuple[tuple[int, ...], ...]:
    """Cells by minute as `Tally.cells` has them by hour."""
    sums: Counter[tuple[int, int]] = Counter()
    for (weekday, hour, _), count in cells.items():
        sums[weekday, hour] += count
    return tuple(tuple(sums[weekday, hour] for hour in range(24)) for weekday in range(7))
