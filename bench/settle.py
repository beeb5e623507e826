"""The period engine: ten years of missed `* * * * *` in one step, and what a usual step costs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from bench.measure import Prepare, Result, Run, least_seconds, progress
from kron import parse_schedule
from kron.engine import Job, step

MOST_MS = 10.0
ROUNDS = 10
STEPS = 200
USUAL = ("0 2 * * *", "0 2 * * * @tz(Europe/Paris) @win(after,3h)", "*/5 * * * * @win(after,2h)")
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
    usual = {f"{text} us": _stepping(text) for text in USUAL}
    usual_us = {name: s / STEPS * 1e6 for name, s in least_seconds(usual, rounds=ROUNDS).items()}
    yield Result(
        "a usual step: wake, start, plan the next", max(usual_us.values()), "us", details=usual_us
    )


def _stepping(text: str) -> Prepare:
    job = Job("bench/usual", parse_schedule(text))

    def run() -> None:
        last = step(job, None, FIRST_SEEN_S)
        for _ in range(STEPS):
            assert last.wake_s is not None
            last = step(job, last.ledger.replace(starting=()), last.wake_s, plan=last.plan)

    def prepare() -> Run:
        return run

    return prepare


def _settling(years: int) -> Prepare:
    job = Job("bench/minutely", parse_schedule("* * * * * @tz(Europe/Paris)"))
    ledger = step(job, None, FIRST_SEEN_S).ledger
    now_s = FIRST_SEEN_S + years * YEAR_S

    def run() -> None:
        step(job, ledger, now_s)

    def prepare() -> Run:
        return run

    return prepare
