"""Frozen scenes: what a step answers, and the ledger it writes, may not change within a version."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kron.engine import ledger_to_json
from tests.engine.scene import Scene

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


def check(scene: Scene, told: list[str], row: dict[str, Any]) -> None:
    assert told == row["actions"]
    assert scene.wake == row["wake"]
    assert scene.ledger is not None
    assert ledger_to_json(scene.ledger) == row["ledger"]
