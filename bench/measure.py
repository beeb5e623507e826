"""Measuring side by side: contenders take turns, and the least of several rounds counts.

A busy machine only ever adds time, so the least is the truest, and taking turns gives every
contender its share of the quiet moments.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from time import perf_counter
from typing import Any

Run = Callable[[], object]
Prepare = Callable[[], Run]
"""Makes ready for one run; only the run itself is timed."""


@dataclass(frozen=True)
class Result:
    """One line of the report. `met` is None where the number is for information only."""

    case: str
    value: float | None
    """None if it could not be measured; `note` says why."""
    unit: str = ""
    target: str = ""
    met: bool | None = None
    details: Mapping[str, float] = field(default_factory=dict)
    """Further numbers, by name with their unit."""
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """The result as it goes into `--format json`."""
        return asdict(self)


def least_seconds(contenders: Mapping[str, Prepare], *, rounds: int) -> dict[str, float]:
    """The least time that each contender's run took, over rounds in which they take turns."""
    least = dict.fromkeys(contenders, float("inf"))
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, prepare in contenders.items():
                prepare()()  # a run of a few hundred microseconds feels what ran before it
                run = prepare()
                start = perf_counter()
                run()
                least[name] = min(least[name], perf_counter() - start)
    finally:
        if collecting:
            gc.enable()
    return least


def progress(text: str) -> None:
    """Say on a terminal what is being measured; the next call writes over it."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()
