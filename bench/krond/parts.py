"""The parts of the krond bench, each of which can be run by itself: `krond.burst` and so on."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bench.krond import burst, idle, single, start, syncs
from bench.measure import Result

PARTS: dict[str, Callable[[], Iterator[Result]]] = {
    "burst": burst.measure,
    "single": single.measure,
    "idle": idle.measure,
    "start": start.measure,
    "syncs": syncs.measure,
}


def measure() -> Iterator[Result]:
    """All of them, one after the other: the machine is theirs alone."""
    for part in PARTS.values():
        yield from part()
