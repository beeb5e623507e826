"""Fuzzy schedules: parsed and scattered, beside a peer that only reads as many cron expressions.

Few of an organisation's texts differ, and parsing remembers texts; a second number is for texts
that are all different.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

from croniter import croniter

from bench.measure import Result, progress
from kron.fuzzy import parse, scatter

COUNT = 100_000
BUDGET_S = 1.5
_HOURS = range(24)
_MINUTES = range(60)


def measure() -> Iterator[Result]:
    """A hundred thousand identifiers with common texts, then with texts of their own."""
    progress("fuzzy ...")
    common = [
        "daily",
        "hourly",
        "weekly on monday",
        "every 6h",
        *(f"daily around {hour}:00" for hour in _HOURS),
        *(f"weekly on friday between {hour}:00 and {hour + 2}:30 utc-5" for hour in range(20)),
    ]
    different = [
        f"daily between {hour}:{minute:02d} and {(hour + 1 + more) % 24}:{minute:02d} utc+{more}"
        for hour in _HOURS
        for minute in _MINUTES
        for more in range(9)
    ]
    peer_s = min(_reading_cron() for _ in range(2))
    for case, texts in (("common texts", common), ("texts all different", different)):
        took_s = min(_scattering(texts) for _ in range(3))
        is_common = texts is common
        yield Result(
            f"{COUNT:,} fuzzy schedules parsed and scattered, {case}",
            took_s,
            "s",
            "about 1" if is_common else "",
            took_s < BUDGET_S if is_common else None,
            {"s for croniter to read as many cron expressions": peer_s},
        )


def _scattering(texts: list[str]) -> float:
    start = perf_counter()
    for number in range(COUNT):
        scatter(parse(texts[number % len(texts)]), f"owner/repo-{number}/workflow.md")
    return perf_counter() - start


def _reading_cron() -> float:
    start = perf_counter()
    for number in range(COUNT):
        croniter(f"{number % 60} {number % 24} * * {number % 7}", 0)
    return perf_counter() - start
