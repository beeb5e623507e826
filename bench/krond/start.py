"""From exec to ready, and reloading: with ten thousand jobs and with a hundred thousand."""

from __future__ import annotations

from collections.abc import Iterator

from bench.krond.daemon import Krond
from bench.krond.fleet import fleet
from bench.krond.size import MANY_JOBS
from bench.krond.size import START_JOBS as JOBS
from bench.krond.workshop import scratch
from bench.measure import Result, progress

ROUNDS = 2
COLD_S = 3.0
WARM_S = 1.5
_EDITED = 10
"""The edit changes one line in this number."""


def measure() -> Iterator[Result]:
    """The best of a few rounds; the many have one."""
    progress("start, without jobs ...")
    with Krond(scratch()) as krond:
        krond.write(())
        krond.start()  # whatever has to be compiled is compiled now
        krond.stop()
        empty_s = krond.start()
        empty_kib = krond.usage().rss_kib
    lines = list(fleet(JOBS))
    colds, warms, same_s, edits = [], [], [], []
    for number in range(ROUNDS):
        progress(f"start, {JOBS:,} jobs, round {number + 1} of {ROUNDS} ...")
        with Krond(scratch()) as krond:
            krond.write(lines)
            colds.append((krond.start(), krond.usage()))
            krond.stop()
            warms.append((krond.start(), krond.usage()))
            same_s.append(krond.reload())
            krond.write(_edited(lines))
            edits.append((krond.reload(), krond.usage()))
    (cold_s, cold), (warm_s, warm), (edit_s, edited) = min(colds), min(warms), min(edits)
    yield Result(
        f"exec to ready, {JOBS:,} jobs, no state",
        cold_s,
        "s",
        f"<= {COLD_S:g}",
        cold_s <= COLD_S,
        {"s of processor time": cold.cpu_ns / 1e9, "s without jobs": empty_s},
    )
    yield _within(
        f"exec to ready, {JOBS:,} jobs, with state",
        warm_s,
        {
            "s of processor time": warm.cpu_ns / 1e9,
            "KiB a job": (warm.rss_kib - empty_kib) / JOBS,
        },
    )
    yield _within(f"reload, {JOBS:,} jobs, nothing edited", min(same_s), {})
    yield _within(
        f"reload, {JOBS:,} jobs, a tenth edited",
        edit_s,
        {"KiB a job afterwards": (edited.rss_kib - empty_kib) / JOBS},
    )
    yield _many(empty_kib)


def _within(case: str, took_s: float, details: dict[str, float]) -> Result:
    return Result(case, took_s, "s", f"<= {WARM_S:g}", took_s <= WARM_S, details)


def _edited(lines: list[str]) -> list[str]:
    return [
        line if number % _EDITED else f"{number % 60} 3 29 2 * {line[line.index('name=') :]}"
        for number, line in enumerate(lines)
    ]


def _many(empty_kib: int) -> Result:
    progress(f"start, {MANY_JOBS:,} jobs ...")
    with Krond(scratch()) as krond:
        krond.write(fleet(MANY_JOBS))
        cold_s = krond.start()
        cold_kib = krond.usage().rss_kib
    return Result(
        f"exec to ready, {MANY_JOBS:,} jobs, no state",
        cold_s,
        "s",
        details={
            "MiB": cold_kib / 1024,
            "KiB a job": (cold_kib - empty_kib) / MANY_JOBS,
        },
    )
