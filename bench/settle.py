"""Catching up: ten years of missed `* * * * *` in one step, beside one year and a hundred."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from bench.measure import Prepare, Result, Run, least_seconds, progress
from kron import parse_schedule
from kron.engine import Job, step

MOST_MS = 10.0
ROUNDS = 10
FIRST_SEEN_S = int(datetime(2016, 1, 1, 0, 0, 10, tzinfo=UTC).timestamp())
YEAR_S = int(365.25 * 86_400)


def measure() -> Iterator[Result]:
    """The step after the downtime; a zone with daylight saving, its table already read."""
    progress("settle ...")
    runs = {f"{years} years": _settling(years) for years in (1, 10, 100)}
    least = least_seconds(runs, rounds=ROUNDS)
    each_ms = {f"{name} ms": seconds * 1e3 for name, seconds in least.items()}
    ten_ms = each_ms["10 years ms"]
    yield Result(
        "settle ten years of missed minutes, Europe/Paris",
        ten_ms,
        "ms",
        f"< {MOST_MS:g}",
        ten_ms < MOST_MS,
        each_ms,
    )


def _settling(years: int) -> Prepare:
    job = Job("bench/minutely", parse_schedule("* * * * * @tz(Europe/Paris)"))
    ledger = step(job, None, FIRST_SEEN_S).ledger
    now_s = FIRST_SEEN_S + years * YEAR_S

    def run() -> None:
        step(job, ledger, now_s)

    def prepare() -> Run:
        return run

    return prepare
