"""The parts of the kube bench, each of which can be run by itself: `kube.burst` and so on."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bench.krond.workshop import SkippedError
from bench.kube import burst, fleet, spread, takeover
from bench.measure import Result


def _part(name: str, measure: Callable[[], Iterator[Result]]) -> Callable[[], Iterator[Result]]:
    """Whatever cannot be measured here is a line of the report, too."""

    def measured() -> Iterator[Result]:
        try:
            yield from measure()
        except SkippedError as skipped:
            yield Result(name, None, note=f"skipped: {skipped}")

    return measured


PARTS: dict[str, Callable[[], Iterator[Result]]] = {
    name: _part(name, measure)
    for name, measure in (
        ("burst", burst.measure),
        ("spread", spread.measure),
        ("fleet", fleet.measure),
        ("takeover", takeover.measure),
    )
}


def measure() -> Iterator[Result]:
    """All of them, one after the other: the machine is theirs alone."""
    for part in PARTS.values():
        yield from part()
