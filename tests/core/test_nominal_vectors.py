"""Frozen answers of cron resolution: tests/vectors/kron-nominal-v1.json holds, whatever changes."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pytest

from kron import parse_schedule
from tests.core.brute_force import BruteForce

VECTORS = Path(__file__).parent.parent / "vectors" / "kron-nominal-v1.json"
CASES: list[dict[str, str]] = json.loads(VECTORS.read_text())["cases"]

each_case = pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in CASES])


def test_there_are_two_hundred_of_them_and_no_two_ask_the_same() -> None:
    assert len(CASES) == 200
    assert len({case["name"] for case in CASES}) == 200


@each_case
def test_vector(case: dict[str, str]) -> None:
    schedule = parse_schedule(case["schedule"])
    after = datetime.fromisoformat(case["after"])
    assert schedule.next_nominal(after) == datetime.fromisoformat(case["next"])
    assert schedule.prev_nominal(after) == datetime.fromisoformat(case["prev"])


@each_case
def test_vector_is_what_the_rule_says(case: dict[str, str]) -> None:
    """Guards the file itself: a wrong answer cannot be frozen by generating it again."""
    expression, _, zone = case["schedule"].partition(" @tz(")
    brute_force = BruteForce(expression, zone.rstrip(")") or "UTC")
    after, following, preceding = (
        int(datetime.fromisoformat(case[key]).timestamp()) for key in ("after", "next", "prev")
    )
    assert brute_force.next(after, following) == following
    assert brute_force.prev(after, preceding) == preceding
