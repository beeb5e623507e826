"""A time zone as integers: spans of constant offset, read from the IANA database.

`zoneinfo` is the source (the only thing in the pure packages that reads a file, beside the table of
the fuzzy conformance tests). The spans are what the hot path searches, because converting a wall
time back to UTC through `zoneinfo`, with the checks for gaps and folds, is eight times slower
(measured).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from datetime import datetime
from functools import lru_cache
from itertools import groupby, pairwise
from operator import itemgetter
from zoneinfo import ZoneInfo, available_timezones

from kron.core.errors import Code, ParseError, did_you_mean, quoted
from kron.core.frozen import Frozen
from kron.core.instant import DAY_S, FIRST_S, LAST_S

_PROBE_S = 3 * DAY_S
"""How densely the offset is sampled. No zone has ever changed twice within three days (a test
looks through the whole database), so a change cannot hide between two probes."""

_CHUNK_S = 365 * DAY_S
_MARGIN_S = 3 * DAY_S
"""How far the table reaches beyond what is asked: the first of its spans does not know whether it
begins with a fold, and no fold is longer than a day."""
_HOST_DEPENDENT = ("localtime", "posixrules", "Factory")
_HOST_DEPENDENT_ROOTS = ("posix/", "right/")


class Span(Frozen):
    """A stretch of time with one offset: `wall = utc + offset_s` for start_s <= utc < end_s.

    It may end where the table does, without a change: a later table has it longer.

    `shown_s` is the wall time that earlier spans have shown up to, exclusively. Where it is less
    than this span's first wall time, the clock was set forward and the times between are a gap;
    where it is more, it was set back and the times between are shown again: a fold.
    """

    start_s: int
    end_s: int
    offset_s: int
    shown_s: int

    plain_from_s: int
    plain_until_s: int
    """Midnights in [plain_from_s, plain_until_s] begin days that are shown once and in full."""


class _Table(Frozen):
    """All spans between two instants, with the columns that get searched."""

    start_s: int
    settled_s: int
    """From here on it is known whether an instant lies in a fold."""
    end_s: int
    spans: tuple[Span, ...]
    starts_s: tuple[int, ...]
    wall_starts_s: tuple[int, ...]
    wall_ends_s: tuple[int, ...]


class Zone:
    """An IANA zone. The table grows by whole years as instants are asked for."""

    __slots__ = ("_info", "_table", "key")

    def __init__(self, key: str, info: ZoneInfo) -> None:
        self.key = key
        self._info = info
        self._table = _table([(FIRST_S - DAY_S, 0)], LAST_S + DAY_S) if key == "UTC" else None

    def span_at(self, utc_s: int) -> Span:
        table = self._table
        if table is None or not table.settled_s <= utc_s < table.end_s:
            table = self._covering(utc_s - _MARGIN_S, utc_s)
        return table.spans[bisect_right(table.starts_s, utc_s) - 1]

    def wall_at(self, utc_s: int) -> int:
        return utc_s + self.span_at(utc_s).offset_s

    def first_span_showing(self, wall_s: int) -> Span:
        """The earliest span whose clock reaches `wall_s`.

        If that time is in a gap, this is the span after the gap, and begins later than `wall_s`.
        """
        table = self._covering(wall_s - _MARGIN_S, wall_s + _MARGIN_S)
        return table.spans[bisect_right(table.wall_ends_s, wall_s)]

    def last_span_showing(self, wall_s: int) -> Span:
        """The latest span whose clock shows `wall_s` or, in a gap, the span before the gap."""
        table = self._covering(wall_s - _MARGIN_S, wall_s + _MARGIN_S)
        return table.spans[bisect_right(table.wall_starts_s, wall_s) - 1]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Zone) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"Zone({self.key!r})"

    def __str__(self) -> str:
        return f"@tz({self.key})"

    def _covering(self, first_s: int, last_s: int) -> _Table:
        table = self._table
        if table is None or first_s < table.start_s or last_s >= table.end_s:
            # Replaced in one assignment: another thread sees the old table or the new one.
            self._table = table = self._grown(table, first_s, last_s)
        return table

    def _grown(self, table: _Table | None, first_s: int, last_s: int) -> _Table:
        start_s = first_s - _CHUNK_S
        end_s = last_s + _CHUNK_S
        if table is None:
            return _table(self._changes(start_s, end_s), end_s)
        known = [(span.start_s, span.offset_s) for span in table.spans]
        if start_s < table.start_s:
            known = self._changes(start_s, table.start_s) + known
        if end_s > table.end_s:
            known = known + self._changes(table.end_s, end_s)
        return _table(known, max(end_s, table.end_s))

    def _changes(self, start_s: int, end_s: int) -> list[tuple[int, int]]:
        """Where the offset changes in [start_s, end_s), beginning with the offset at start_s."""
        info = self._info
        probes_s = [*range(start_s, end_s - 1, _PROBE_S), end_s - 1]
        # These calls are what a table costs, so `_offset_at` is for the few that find a change.
        offsets = [datetime.fromtimestamp(probe_s, info).utcoffset() for probe_s in probes_s]
        changes = [(start_s, self._offset_at(start_s))]
        for index, (before, after) in enumerate(pairwise(offsets)):
            if after != before:
                changes.append(self._change(probes_s[index], probes_s[index + 1]))
        return changes

    def _change(self, before_s: int, after_s: int) -> tuple[int, int]:
        """The second between the two in which the offset changes, and the new offset."""
        offset_s = self._offset_at(before_s)
        between = range(before_s, after_s + 1)
        change = bisect_left(between, True, key=lambda s: self._offset_at(s) != offset_s)
        return between[change], self._offset_at(after_s)

    def _offset_at(self, utc_s: int) -> int:
        offset = datetime.fromtimestamp(utc_s, self._info).utcoffset()
        assert offset is not None  # a ZoneInfo always answers for an aware datetime
        return offset.days * DAY_S + offset.seconds


def _table(changes: list[tuple[int, int]], end_s: int) -> _Table:
    """Spans from (first second, offset) pairs; pairs that change nothing are joined."""
    joined = [next(same) for _, same in groupby(changes, key=itemgetter(1))]
    spans: list[Span] = []
    shown_s = joined[0][0] + joined[0][1]
    for (start_s, offset_s), following in zip(joined, [*joined[1:], None], strict=True):
        plain_from_s = max(start_s, shown_s - offset_s, FIRST_S)
        if following is None:  # what comes after the table is not known
            span_end_s = end_s
            plain_until_s = end_s - DAY_S - _MARGIN_S
        else:  # a fold shows the end of a day once more
            span_end_s = following[0]
            plain_until_s = span_end_s - DAY_S + min(0, following[1] - offset_s)
        plain_until_s = min(plain_until_s, LAST_S - DAY_S)
        spans.append(Span(start_s, span_end_s, offset_s, shown_s, plain_from_s, plain_until_s))
        shown_s = span_end_s + offset_s
    return _Table(
        start_s=joined[0][0],
        settled_s=joined[0][0] + _MARGIN_S,
        end_s=end_s,
        spans=tuple(spans),
        starts_s=tuple(span.start_s for span in spans),
        wall_starts_s=tuple(span.start_s + span.offset_s for span in spans),
        wall_ends_s=tuple(span.end_s + span.offset_s for span in spans),
    )


@lru_cache(maxsize=1024)
def load_zone(key: str) -> Zone:
    """The zone called `key` in the IANA database; a `ParseError` for any other text."""
    if key not in _HOST_DEPENDENT and not key.startswith(_HOST_DEPENDENT_ROOTS):
        try:
            return Zone(key, ZoneInfo(key))
        except (ValueError, OSError, KeyError):
            # KeyError: unknown. OSError: a directory, or a name too long. ValueError: a path
            # that climbs, a NUL byte, or a file that is no time zone.
            pass
    message = f"{quoted(key)} is not the name of an IANA time zone"
    fix = did_you_mean(key, available_timezones())
    fix = fix or "for example Europe/Paris, or leave it out for UTC"
    raise ParseError.single(key, Code.ZONE_UNKNOWN, message, fix=fix)
