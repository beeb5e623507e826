"""What daylight saving does to a schedule in Kubernetes and in Kron, where they differ.

Kubernetes follows the clock on the wall: a time that a gap swallows is skipped, one that is shown
twice runs twice. Kron does so where a star stands in front of the minutes or hours, and runs times
of day once each otherwise. docs/migrate-cronjobs.md has the facts.
"""

from __future__ import annotations

from functools import lru_cache

from kron.core.frozen import Frozen
from kron.core.instant import DAY_S, to_text
from kron.core.schedule import Schedule

_YEAR_S = 366 * DAY_S
_SHOWN = 3


class Difference(Frozen):
    """The nominal instants of a year that only one of the two has."""

    only_kubernetes: tuple[int, ...]
    only_kron: tuple[int, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """It in words, a line for each side."""
        notes = []
        if self.only_kubernetes:
            notes.append(
                f"daylight saving: Kubernetes would also start it at {_times(self.only_kubernetes)}"
                ", when the clocks show that time again; Kron runs a time of day once"
            )
        if self.only_kron:
            notes.append(
                f"daylight saving: Kron also runs it at {_times(self.only_kron)}, the first minute "
                "after a time of day that the clocks skip; Kubernetes leaves it out"
            )
        return tuple(notes)


@lru_cache(maxsize=1024)
def daylight_difference(schedule: Schedule, from_s: int) -> Difference:
    """Where the two differ in the year from `from_s` on."""
    if not schedule.cron.is_fixed:
        return Difference((), ())
    only_kubernetes: list[int] = []
    only_kron: list[int] = []
    zone, nominals = schedule.zone, schedule.nominals
    span = zone.span_at(from_s)
    while span.end_s < from_s + _YEAR_S:
        change_s = span.end_s
        span = zone.span_at(change_s)
        shift_s = abs(span.shown_s - (span.start_s + span.offset_s))
        if not shift_s:
            continue  # it was only the table that ended
        first_s, last_s = change_s - 60, change_s + shift_s + 60
        shown = {s for s in range(first_s - first_s % 60, last_s, 60) if _matches(schedule, s)}
        kept = set()
        nominal_s = nominals.after(first_s - first_s % 60 - 1)
        while nominal_s < last_s:
            kept.add(nominal_s)
            nominal_s = nominals.after(nominal_s)
        only_kubernetes += sorted(shown - kept)
        only_kron += sorted(kept - shown)
    return Difference(tuple(only_kubernetes), tuple(only_kron))


def _matches(schedule: Schedule, instant_s: int) -> bool:
    """Whether the clock on the wall shows a time that the cron expression names."""
    wall_s = schedule.zone.wall_at(instant_s)
    return schedule.nominals.wall.at_or_after(wall_s) == wall_s


def _times(instants_s: tuple[int, ...]) -> str:
    shown = ", ".join(map(to_text, instants_s[:_SHOWN]))
    more = len(instants_s) - _SHOWN
    return f"{shown} and {more} more" if more > 0 else shown
