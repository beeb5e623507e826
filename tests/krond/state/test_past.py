"""What a job's past says to a monitor: the last success, and what has gone wrong since."""

from __future__ import annotations

import pytest

from kron.krond.state.past import HISTORY, Past
from kron.krond.state.record import Ended

KINDS: dict[str, dict[str, object]] = {
    "s": {"outcome": "executed", "exit_code": 0},
    "S": {"outcome": "manual", "exit_code": 0},
    "f": {"outcome": "executed", "exit_code": 1},
    "k": {"outcome": "manual", "signal": 9},
    "t": {"outcome": "executed", "exit_code": 0, "reason": "it timed out"},
    "u": {"outcome": "executed", "reason": "its result is unknown"},
    "U": {"outcome": "manual", "reason": "its result is unknown"},
    "n": {"outcome": "manual", "reason": "no such program", "ended_ns": 1},
    "m": {"outcome": "missed"},
    "x": {"outcome": "skipped"},
}


def past(kinds: str) -> Past:
    """The past after these ends, each of which has its place as its period."""
    made = Past()
    for place, kind in enumerate(kinds):
        values: dict[str, object] = {"reason": "", "run_id": str(place), **KINDS[kind]}
        made = made.with_ended(Ended(place, None, **values))  # type: ignore[arg-type]
    return made


@pytest.mark.parametrize(
    ("kinds", "success", "failed", "missed"),
    [
        ("", None, None, None),
        ("s", 0, None, None),
        ("fsf", 1, 2, None),
        ("ffS", 2, None, None),
        ("sm", 0, None, 1),
        ("smx", 0, None, 1),
        ("smfk", 0, 3, 1),
        ("st", 0, 1, None),
        ("sfu", 0, 1, None),
        ("mmu", None, None, 1),
        ("snU", 0, 1, None),
        ("s" + "x" * HISTORY, 0, None, None),
        ("f" + "x" * HISTORY, None, 0, None),
        ("s" + "f" * HISTORY, None, HISTORY, None),
        ("mf" + "x" * (HISTORY - 1), None, 1, None),
    ],
)
def test_the_standing_is_since_the_last_success(
    kinds: str, success: int | None, failed: int | None, missed: int | None
) -> None:
    standing = past(kinds).standing
    found = (standing.success, standing.failed, standing.missed)
    assert tuple(end and end.nominal_s for end in found) == (success, failed, missed)


def test_the_latest_is_the_last_of_the_history() -> None:
    assert past("").latest is None
    assert past("sfm").latest == past("sfm").history[-1]


@pytest.mark.parametrize("reason", ["", 'a,"b",c],["d', "Gr\u00fc\u00dfe"])
def test_a_past_ends_with_its_latest_row(reason: str) -> None:
    run = Ended(3_600, 3_600, "executed", reason, run_id="abc", exit_code=0)
    period = Ended(7_200, 7_200, "missed", reason, ended_ns=5)
    assert Past.of([period, run]).ends_with(3_600, "abc")
    assert Past.of([run, period]).ends_with(7_200, "")
    assert not Past.of([run, period]).ends_with(3_600, "abc")
    assert not Past.of([period, run]).ends_with(3_600, "bc")
    assert not Past.of([period, run]).ends_with(7_200, "")
    assert not Past.of([period]).ends_with(3_600, "")
    assert not Past().ends_with(None, "")
    assert not Past().ends_with(3_600, "abc")
