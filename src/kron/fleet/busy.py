"""The busiest minutes of the day, and the jobs that run in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from heapq import nsmallest

from kron.core.constraint import MINUTES_A_DAY
from kron.core.frozen import Frozen
from kron.core.instant import DAY_S
from kron.engine.job import Job
from kron.fleet.count import firings
from kron.fleet.tally import MINUTE_S, WEEK_S, Tally, second_of_week


class Busy(Frozen):
    """A minute of the day, in UTC."""

    minute: int
    on_weekdays: tuple[int, ...]
    """Firings by weekday, Monday first, of all weeks together."""
    identities: tuple[str, ...]
    """The jobs that fire in it on its busiest weekday, those that fire least often first."""

    @property
    def firings(self) -> int:
        return sum(self.on_weekdays)

    @property
    def weekday(self) -> int:
        """The busiest weekday, Monday being 0; the first of several."""
        return self.on_weekdays.index(max(self.on_weekdays))

    @property
    def most(self) -> int:
        """Firings on the busiest weekday, of all weeks together."""
        return max(self.on_weekdays)


def busiest(
    jobs: Sequence[Job], tally: Tally, most: int, *, progress: Callable[[], None] | None = None
) -> list[Busy]:
    """At most `most` minutes of the day, the one with the busiest weekday first.

    `tally` counts the same jobs by minute. `progress` is called after each job.
    """
    by_minute = ((minute, tally.on_weekdays(minute)) for minute in range(MINUTES_A_DAY))
    found = [Busy(minute, counts, ()) for minute, counts in by_minute if any(counts)]
    found = nsmallest(most, found, key=lambda busy: (-busy.most, -busy.firings, busy.minute))
    spans_s = [list(_occurrences(busy, tally)) for busy in found]
    firing: list[list[tuple[int, str]]] = [[] for _ in found]
    for job in jobs:
        there = [number for number, spans in enumerate(spans_s) if _fires_in(job, spans)]
        if there:
            periods = job.schedule.nominals.count(tally.from_s - 1, tally.until_s - 1)
            for number in there:
                firing[number].append((periods, job.identity))
        if progress is not None:
            progress()
    return [
        busy.replace(identities=tuple(identity for _, identity in sorted(named)))
        for busy, named in zip(found, firing, strict=True)
    ]


def _occurrences(busy: Busy, tally: Tally) -> Iterator[tuple[int, int]]:
    """The counted spans [first, end) of that minute on its busiest weekday."""
    into_week_s = busy.weekday * DAY_S + busy.minute * MINUTE_S
    first_s = tally.from_s - (second_of_week(tally.from_s) - into_week_s) % WEEK_S
    for start_s in range(first_s, tally.until_s, WEEK_S):
        span_s = max(start_s, tally.from_s), min(start_s + MINUTE_S, tally.until_s)
        if span_s[0] < span_s[1]:
            yield span_s


def _fires_in(job: Job, spans_s: list[tuple[int, int]]) -> bool:
    return any(True for first_s, end_s in spans_s for _ in firings(job, first_s, end_s))
