"""How Kubernetes and Kron differ when the clocks change.

Kubernetes follows the wall clock: it skips a time in a gap, runs twice at a time that is shown
twice, and may lose or gain a day around a skipped midnight (`kubernetes_walk`). Kron follows the
wall clock if the minutes or hours begin with a star, and runs each time of day once otherwise.
docs/migrate-cronjobs.md has the details.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from kron.core.errors import KronError
from kron.core.frozen import Frozen
from kron.core.instant import DAY_S, to_text
from kron.core.nominal import Nominals
from kron.core.schedule import Schedule
from kron.core.zone import Zone
from kron.kube.kronctl.migrate.kubernetes_walk import KubernetesWalk

_YEAR_S = 366 * DAY_S
_NEAR_S = 3 * 3_600
"""The two agree until this long before a change, and from this long after it if every day matches.
If not, a wrong day may last to its end."""
_SHOWN = 3


class Difference(Frozen):
    """The nominal instants of a year that only Kubernetes or only Kron has."""

    only_kubernetes: tuple[int, ...]
    only_kron: tuple[int, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """The difference in words, a line for each side."""
        notes = []
        if self.only_kubernetes:
            notes.append(
                f"daylight saving: Kubernetes would also start it at {_times(self.only_kubernetes)}"
                "; Kron runs each time of day once, and only on matching days"
            )
        if self.only_kron:
            notes.append(
                f"daylight saving: Kron also runs it at {_times(self.only_kron)}; Kubernetes does "
                "not, because the clocks skip that time or its search does"
            )
        return tuple(notes)


@lru_cache(maxsize=1024)
def daylight_difference(schedule: Schedule, from_s: int) -> Difference:
    """Where the two differ in the year from `from_s` on."""
    nominals, walk = schedule.nominals, KubernetesWalk(schedule)
    until_s = from_s + _YEAR_S
    affected_s = _NEAR_S if nominals.wall.days.is_every_day else DAY_S
    kubernetes: set[int] = set()
    kron: set[int] = set()
    seen_s = from_s - _YEAR_S
    for change_s in _changes(schedule.zone, from_s - DAY_S, until_s):
        start_s = seen_s = max(seen_s, _last_nominal_s(nominals, change_s - _NEAR_S))
        while seen_s < min(change_s + affected_s, until_s):
            seen_s = walk.after(seen_s, until_s)
            kubernetes.add(seen_s)
        kron.update(_nominals_between(nominals, start_s, seen_s))
    wanted = range(from_s, until_s)
    return Difference(
        tuple(each_s for each_s in sorted(kubernetes - kron) if each_s in wanted),
        tuple(each_s for each_s in sorted(kron - kubernetes) if each_s in wanted),
    )


def _changes(zone: Zone, from_s: int, until_s: int) -> Iterator[int]:
    """When the offset of a zone changes."""
    span = zone.span_at(from_s)
    while span.end_s < until_s:
        before, span = span, zone.span_at(span.end_s)
        if span.offset_s != before.offset_s:  # a span may also end with the table
            yield span.start_s


def _last_nominal_s(nominals: Nominals, instant_s: int) -> int:
    """The last nominal instant up to this one; this one if none exists."""
    try:
        return nominals.at_or_before(instant_s)
    except KronError:
        return instant_s


def _nominals_between(nominals: Nominals, after_s: int, until_s: int) -> Iterator[int]:
    """The nominal instants in (after_s, until_s], as far as Kron covers the years."""
    try:
        while (after_s := nominals.after(after_s)) <= until_s:
            yield after_s
    except KronError:
        return


def _times(instants_s: tuple[int, ...]) -> str:
    shown = ", ".join(map(to_text, instants_s[:_SHOWN]))
    more = len(instants_s) - _SHOWN
    return f"{shown} and {more} more" if more > 0 else shown
