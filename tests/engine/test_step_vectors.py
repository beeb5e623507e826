"""Frozen scenes: what a step answers, and the ledger it writes, may not change within a version."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import kron
from kron.core.instant import from_text
from kron.engine import ledger_to_json
from tests.engine.naive import Naive
from tests.engine.scene import IDENTITY, Scene

VECTORS = Path(__file__).parent.parent / "vectors" / "kron-step-v1.json"
SCENES = json.loads(VECTORS.read_text(encoding="utf-8"))["scenes"]


@pytest.mark.parametrize("vector", [pytest.param(scene, id=scene["name"]) for scene in SCENES])
def test_a_frozen_scene_plays_as_it_did(vector: dict[str, Any]) -> None:
    first, *others = vector["steps"]
    scene = Scene(vector["schedule"], first["now"], slack_s=vector["slack_s"])
    check(scene, scene.last, first)
    for row in others:
        if row.get("restart"):
            scene.restart()
        if "edit" in row:
            scene.edit(row["edit"])
        check(scene, scene.at(row["now"], active=row.get("active", False)), row)


TOO_LONG_FOR_THE_NAIVE = {"ten-years-down", "ten-years-down-overlapping"}


@pytest.mark.parametrize(
    "vector",
    [
        pytest.param(scene, id=scene["name"])
        for scene in SCENES
        if scene["name"] not in TOO_LONG_FOR_THE_NAIVE
    ],
)
def test_a_naive_reading_of_the_rules_ends_every_period_alike(vector: dict[str, Any]) -> None:
    naive = Naive(IDENTITY, vector["slack_s"])
    schedule = kron.parse_schedule(vector["schedule"])
    for row in vector["steps"]:
        if row.get("restart"):
            naive.awake_since_s = None
        if "edit" in row:
            schedule = kron.parse_schedule(row["edit"])
        active = row.get("active", False)
        ends = naive.step(schedule, from_text(row["now"]), active=active)
        ends.check(row["actions"], row["wake"])


def test_ten_years_of_minutes_are_as_many_as_the_calendar_has() -> None:
    (scene,) = (scene for scene in SCENES if scene["name"] == "ten-years-down")
    days = (date(2026, 1, 1) - date(2016, 1, 1)).days
    (missed,) = scene["steps"][1]["actions"]
    assert missed == f"missed {days * 24 * 60} 2016-01-01T00:01:00Z 2026-01-01T00:00:00Z"


def check(scene: Scene, told: list[str], row: dict[str, Any]) -> None:
    assert told == row["actions"]
    assert scene.wake == row["wake"]
    assert scene.ledger is not None
    assert ledger_to_json(scene.ledger) == row["ledger"]
