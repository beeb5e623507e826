"""Walking along nominal instants with datetimes, a stretch at a time.

A caller that asks for the next instant usually asks for the one after it. So the walk computes a
short stretch of answers, day by day, and keeps it; an unrelated question costs no more than
without. Away from daylight saving a day's instants are midnight plus the same few times, whichever
rule the expression follows; near a change every instant is asked of `Nominals`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from kron.core.errors import KronError
from kron.core.instant import DAY_S, to_datetime, to_seconds
from kron.core.nominal import Nominals
from kron.core.zone import Span

_LONGEST_STRETCH = 24
_SECOND = timedelta(seconds=1)
_NOTHING = timedelta()


class Walk:
    """The nominal instants as datetimes in UTC. What it remembers never shows in its answers."""

    __slots__ = ("_nominals", "_stretch")

    def __init__(self, nominals: Nominals) -> None:
        self._nominals = nominals
        # Consecutive instants in order. It is replaced, never changed: threads may share it.
        self._stretch: list[datetime] = []

    def after(self, moment: datetime) -> datetime:
        """The smallest nominal instant > `moment`."""
        stretch = self._stretch
        if moment.tzinfo is UTC and 0 < (index := bisect_right(stretch, moment)) < len(stretch):
            return stretch[index]
        moment_s = to_seconds(moment)
        if stretch and moment == stretch[-1]:
            count = min(4 * len(stretch), _LONGEST_STRETCH)
            ahead = self._instants(moment_s + 1, count, forwards=True)
            self._stretch = [stretch[-1], *ahead]
            return ahead[0]
        found = to_datetime(self._nominals.after(moment_s))
        self._stretch = [found]
        return found

    def at_or_before(self, moment: datetime) -> datetime:
        """The greatest nominal instant <= `moment`."""
        stretch = self._stretch
        if moment.tzinfo is UTC and 0 < (index := bisect_right(stretch, moment)) < len(stretch):
            return stretch[index - 1]
        moment_s = to_seconds(moment)
        # Instants are a minute apart at least, so within a second of one there is no other.
        if stretch and _NOTHING < stretch[0] - moment <= _SECOND:
            count = min(4 * len(stretch), _LONGEST_STRETCH)
            behind = self._instants(moment_s, count, forwards=False)
            self._stretch = [*reversed(behind), stretch[0]]
            return behind[0]
        found = to_datetime(self._nominals.at_or_before(moment_s))
        self._stretch = [found]
        return found

    def _instants(self, from_s: int, count: int, *, forwards: bool) -> list[datetime]:
        """The instants from `from_s` on, or up to it and backwards, about `count` of them."""
        nominals, wall = self._nominals, self._nominals.wall
        times = wall.times_of_day if forwards else wall.times_of_day[::-1]
        step = 1 if forwards else -1
        found: list[datetime] = []
        try:
            while True:
                span = nominals.zone.span_at(from_s)
                day, second = divmod(from_s + span.offset_s, DAY_S)
                if span.plain_from_s <= day * DAY_S - span.offset_s <= span.plain_until_s:
                    time = timedelta(seconds=second)
                    if forwards:
                        passed = bisect_left(times, time)
                        matching_day = wall.days.at_or_after(day)
                    else:
                        passed = len(times) - bisect_right(wall.times_of_day, time)
                        matching_day = wall.days.at_or_before(day)
                    if passed == len(times) or matching_day != day:
                        day, passed = day + step, 0
                    today = times[passed : passed + count]
                    days = wall.days.onwards(day) if forwards else wall.days.backwards(day)
                    self._lay_out(found, days, (today, times[:count]), span, count)
                    if len(found) >= count:
                        return found
                    from_s = to_seconds(found[-1]) + step if found else from_s
                found_s = nominals.after(from_s - 1) if forwards else nominals.at_or_before(from_s)
                found.append(to_datetime(found_s))
                from_s = found_s + step
        except KronError:  # the first year begins here, or the last one ends
            if found:
                return found
            raise

    def _lay_out(
        self,
        found: list[datetime],
        days: Iterator[int],
        times: tuple[tuple[timedelta, ...], tuple[timedelta, ...]],
        span: Span,
        count: int,
    ) -> None:
        """Add the first of these times on the first of these days, and the second on the others.

        It stops when there are enough, and before a day on which the offset changes.
        """
        today, other_days = times
        append = found.append  # the hot loop: names are looked up once
        span_at = self._nominals.zone.span_at
        from_timestamp = datetime.fromtimestamp
        offset_s, plain_from_s, plain_until_s = span.offset_s, span.plain_from_s, span.plain_until_s
        for day in days:
            midnight_s = day * DAY_S - offset_s
            if not plain_from_s <= midnight_s <= plain_until_s:
                span = span_at(midnight_s)
                offset_s, plain_from_s = span.offset_s, span.plain_from_s
                plain_until_s = span.plain_until_s
                midnight_s = day * DAY_S - offset_s
                if not plain_from_s <= midnight_s <= plain_until_s:
                    return
            midnight = from_timestamp(midnight_s, UTC)
            for time in today:
                append(midnight + time)
            if len(found) >= count:
                return
            today = other_days
