"""Suspending and resuming: one field, and never against what the schedule text says."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from kron.core.errors import KronError
from kron.kube.kronctl.commands.suspend import patch_for
from tests.kube.kronctl.manifests import kronjob

ON = {"spec": {"policy": {"suspend": True}}}
OFF = {"spec": {"policy": {"suspend": None}}}
NO_POLICY = {"metadata": {"resourceVersion": "7"}, "spec": {"policy": None}}
PLAIN = "0 2 * * *"


def content(schedule: str, policy: str) -> dict[str, Any]:
    more = f"  policy: {policy}\n" if policy else ""
    made: dict[str, Any] = yaml.safe_load(kronjob(schedule=repr(schedule), more=more))
    made["metadata"]["resourceVersion"] = "7"
    return made


@pytest.mark.parametrize(
    ("schedule", "policy", "suspended", "patch"),
    [
        pytest.param(PLAIN, "", True, ON, id="suspend"),
        pytest.param(PLAIN, "{suspend: false}", True, ON, id="suspend-what-says-false"),
        pytest.param(PLAIN, "{concurrency: allow}", True, ON, id="suspend-beside-another-field"),
        pytest.param(PLAIN, "{suspend: true}", True, None, id="suspended-already"),
        pytest.param(PLAIN, "{suspend: true}", False, NO_POLICY, id="resume"),
        pytest.param(
            PLAIN, "{suspend: true, deadline: 1h}", False, OFF, id="resume-beside-another-field"
        ),
        pytest.param(PLAIN, "", False, None, id="not-suspended"),
        pytest.param(PLAIN, "{suspend: false}", False, None, id="not-suspended-and-says-so"),
        pytest.param(f"{PLAIN} @policy(deadline=1h)", "", True, ON, id="a-policy-in-the-text"),
        pytest.param(f"{PLAIN} @policy(suspend=true)", "", True, None, id="the-text-suspends"),
        pytest.param("0 25 * * *", "", True, ON, id="an-invalid-one-can-be-suspended"),
        pytest.param("0 25 * * *", "{suspend: true}", False, NO_POLICY, id="and-resumed"),
    ],
)
def test_the_patch_is_the_one_field_or_nothing(
    schedule: str, policy: str, suspended: bool, patch: object
) -> None:
    assert patch_for(content(schedule, policy), suspended=suspended) == patch


@pytest.mark.parametrize(
    ("schedule", "suspended"),
    [
        pytest.param(f"{PLAIN} @policy(suspend=true)", False, id="resume"),
        pytest.param(f"{PLAIN} @policy(suspend=false)", True, id="suspend"),
    ],
)
def test_what_the_text_says_has_to_be_edited_there(schedule: str, suspended: bool) -> None:
    with pytest.raises(KronError, match=r"its schedule text sets .*\(edit spec\.schedule"):
        patch_for(content(schedule, ""), suspended=suspended)
