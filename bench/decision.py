"""`decide`: how many a second, and that a longer window costs no more."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice

from bench.measure import Prepare, Result, Run, least_seconds, progress
from kron import decide, parse_schedule

A_SECOND = 100_000
DEARER = 1.2
ROUNDS = 40
PERIODS = 2_000
_REST = '@dist(skewLate,shape=2.5) @seed(stable,salt="bench") @tz(Europe/Paris)'
START = datetime(2026, 1, 1, tzinfo=UTC)


def measure() -> Iterator[Result]:
    """Two thousand periods a round, the three-hour window and the year-long one in turns."""
    progress("decide ...")
    windows = {"3h": _deciding("3h"), "366 days": _deciding("8784h")}
    least = least_seconds(windows, rounds=ROUNDS)
    rate = PERIODS / least["3h"]
    each_us = {f"{name} us": seconds / PERIODS * 1e6 for name, seconds in least.items()}
    yield Result(
        "decide, three-hour window, skewLate, salt, Europe/Paris",
        rate,
        "a second",
        f">= {A_SECOND:,}",
        rate >= A_SECOND,
        each_us,
    )
    ratio = least["366 days"] / least["3h"]
    yield Result("a window of 366 days / of 3 hours", ratio, "", f"<= {DEARER}", ratio <= DEARER)


def _deciding(window: str) -> Prepare:
    schedule = parse_schedule(f"0 2 * * * @win(after,{window}) {_REST}")
    nominals = list(islice(schedule.nominals_after(START), PERIODS))

    def run() -> None:
        for nominal in nominals:
            decide(schedule, identity="bench/nightly", nominal=nominal)

    def prepare() -> Run:
        return run

    return prepare
