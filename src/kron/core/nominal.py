"""Nominal instants: the wall times of a cron expression, put on the real time of a zone.

Daylight saving follows Debian's cron, which has two kinds of expression.
One that names times of day happens once however the clock is set: in a gap at the first minute
after it, in a fold when the time is shown first. One whose minute or hour starts with a star
follows the wall clock: nothing happens in a gap, and what a fold shows twice happens twice.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from kron.core.cron import Cron, Reboot
from kron.core.errors import Code, KronError
from kron.core.instant import FIRST_S, LAST_S, out_of_range
from kron.core.wall import WallTimes
from kron.core.zone import Span, Zone


class Nominals(ABC):
    """The nominal instants of a cron expression in a zone, in UTC seconds, searched both ways."""

    __slots__ = ("wall", "zone")

    def __init__(self, wall: WallTimes, zone: Zone) -> None:
        self.wall = wall
        self.zone = zone

    def after(self, instant_s: int) -> int:
        """The smallest nominal instant > `instant_s`."""
        found_s = self._first_from(instant_s + 1, self.zone.span_at(instant_s + 1))
        if found_s > LAST_S:
            raise out_of_range("the next time of this schedule")
        return found_s

    def at_or_before(self, instant_s: int) -> int:
        """The greatest nominal instant <= `instant_s`."""
        found_s = self._last_up_to(instant_s, self.zone.span_at(instant_s))
        if found_s < FIRST_S:
            raise out_of_range("the previous time of this schedule")
        return found_s

    def count(self, after_s: int, until_s: int) -> int:
        """The number of nominal instants in (after_s, until_s], without visiting them."""
        total = 0
        first_s, end_s = after_s + 1, until_s + 1
        while first_s < end_s:
            span = self.zone.span_at(first_s)
            stop_s = min(end_s, span.end_s)
            total += self._count_in_span(first_s, stop_s, span)
            first_s = stop_s
        return total

    @abstractmethod
    def _first_from(self, first_s: int, span: Span) -> int:
        """The smallest nominal instant >= `first_s`, which lies in `span`."""

    @abstractmethod
    def _last_up_to(self, last_s: int, span: Span) -> int:
        """The greatest nominal instant <= `last_s`, which lies in `span`."""

    @abstractmethod
    def _count_in_span(self, first_s: int, end_s: int, span: Span) -> int:
        """How many nominal instants lie in [first_s, end_s), all of it inside `span`."""


class OnceEach(Nominals):
    """Fixed times of day: each wall time that matches happens exactly once."""

    __slots__ = ()

    def _first_from(self, first_s: int, span: Span) -> int:
        offset_s = span.offset_s
        shown_s = span.shown_s
        wall_first_s = first_s + offset_s
        if wall_first_s < shown_s:  # inside a fold: up to shown_s everything has happened
            wall_first_s = shown_s
        elif first_s - span.start_s < 60 and shown_s < span.start_s + offset_s:  # just after a gap
            after_gap_s = _first_minute(span)
            if first_s <= after_gap_s and self._gap_holds_a_match(span):
                return after_gap_s
        wall_s = self.wall.at_or_after(wall_first_s)
        found_s = wall_s - offset_s
        return found_s if found_s < span.end_s else self._instant(wall_s)

    def _last_up_to(self, last_s: int, span: Span) -> int:
        shown_s = span.shown_s
        wall_s = self.wall.at_or_before(max(last_s + span.offset_s, shown_s - 1))
        found_s = wall_s - span.offset_s
        if found_s >= span.start_s and wall_s >= shown_s:
            return found_s
        found_s = self._instant(wall_s)
        if found_s > last_s:  # a gap that ends within a minute: its first whole one is to come
            found_s = self._instant(self.wall.at_or_before(shown_s - 1))
        return found_s

    def _count_in_span(self, first_s: int, end_s: int, span: Span) -> int:
        offset_s = span.offset_s
        total = self.wall.count(max(first_s + offset_s, span.shown_s), end_s + offset_s)
        if span.shown_s < span.start_s + offset_s:
            after_gap_s = _first_minute(span)
            if first_s <= after_gap_s < end_s and self._gap_holds_a_match(span):
                wall_s = after_gap_s + offset_s
                total += self.wall.at_or_after(wall_s) != wall_s
        return total

    def _instant(self, wall_s: int) -> int:
        span = self.zone.first_span_showing(wall_s)
        return max(wall_s - span.offset_s, _first_minute(span))

    def _gap_holds_a_match(self, span: Span) -> bool:
        return self.wall.at_or_after(span.shown_s) < span.start_s + span.offset_s


class AsShown(Nominals):
    """Star minutes or hours: a wall time that matches happens whenever the clock shows it."""

    __slots__ = ()

    def _first_from(self, first_s: int, span: Span) -> int:
        wall_s = self.wall.at_or_after(first_s + span.offset_s)
        found_s = wall_s - span.offset_s
        if found_s < span.end_s:
            return found_s
        following = self.zone.span_at(span.end_s)
        if following.start_s < span.end_s:  # only the table ended: this is the same span, longer
            return self._first_from(first_s, following)
        if following.start_s + following.offset_s < following.shown_s:
            return self._first_from(following.start_s, following)  # a fold: shown once more
        showing = self.zone.first_span_showing(wall_s)
        found_s = wall_s - showing.offset_s
        return found_s if found_s >= showing.start_s else self._first_from(showing.start_s, showing)

    def _last_up_to(self, last_s: int, span: Span) -> int:
        wall_s = self.wall.at_or_before(last_s + span.offset_s)
        found_s = wall_s - span.offset_s
        if found_s >= span.start_s:
            return found_s
        if span.start_s + span.offset_s < span.shown_s:  # a fold: the span before goes on past it
            return self._last_up_to(span.start_s - 1, self.zone.span_at(span.start_s - 1))
        showing = self.zone.last_span_showing(wall_s)
        found_s = wall_s - showing.offset_s
        return found_s if found_s < showing.end_s else self._last_up_to(showing.end_s - 1, showing)

    def _count_in_span(self, first_s: int, end_s: int, span: Span) -> int:
        return self.wall.count(first_s + span.offset_s, end_s + span.offset_s)


class OfBoot(Nominals):
    """The instant of a boot, once it is given. What has none yet is an error to look for."""

    __slots__ = ("_at_s",)

    def __init__(self, reboot: Reboot, zone: Zone) -> None:
        super().__init__(WallTimes(reboot), zone)
        self._at_s = reboot.at_s

    def _first_from(self, first_s: int, span: Span) -> int:
        at_s = self._given_s()
        return at_s if at_s >= first_s else LAST_S + 1

    def _last_up_to(self, last_s: int, span: Span) -> int:
        at_s = self._given_s()
        return at_s if at_s <= last_s else FIRST_S - 1

    def _count_in_span(self, first_s: int, end_s: int, span: Span) -> int:
        return int(self._at_s is not None and first_s <= self._at_s < end_s)

    def _given_s(self) -> int:
        if self._at_s is None:
            raise KronError(Code.INSTANT, "no clock says when a schedule with @reboot is due")
        return self._at_s


def nominals(cron: Cron, zone: Zone) -> Nominals:
    """The nominal instants of `cron` in `zone`, by the rule that its stars ask for."""
    if isinstance(cron, Reboot):
        return OfBoot(cron, zone)
    kind = OnceEach if cron.is_fixed else AsShown
    return kind(WallTimes(cron), zone)


def _first_minute(span: Span) -> int:
    """The first instant of `span` at which its clock shows a whole minute."""
    return span.start_s + -(span.start_s + span.offset_s) % 60
