"""Suspending and resuming: one field, and never against what the schedule text says."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from kron.core.errors import KronError
from kron.kube.kronctl.commands.suspend import patch_for
from tests.kube.kronctl.command import Kronctl
from tests.kube.kronctl.manifests import kronjob
from tests.kube.kronctl.server import Answer, answering, use

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


@pytest.mark.parametrize("words", [("one", "two", "three"), ("--all",), ("-l", "a=b")], ids=str)
@pytest.mark.parametrize("status", [403, 404, 409, 500, 0])
def test_a_refusal_in_the_middle_keeps_none_of_the_others(
    kronctl: Kronctl, words: tuple[str, ...], status: int
) -> None:
    stored = {}
    for name in ("one", "two", "three"):
        stored[name] = yaml.safe_load(kronjob(name))
        stored[name]["metadata"] |= {"uid": name, "resourceVersion": "7"}
    refused = {"kind": "Status", "reason": "" if status == 404 else "No", "message": "no"}

    def answer(method: str, path: str, body: object) -> Answer:
        name = path.rpartition("/")[2]
        if name == "kronjobs":
            items = list(stored.values())
            return 200, {"metadata": {"resourceVersion": "1"}, "items": items}
        if method == "PATCH" and name == "two":
            return status or 200, refused if status else b"no JSON"
        return 200, stored[name]

    with answering(answer) as address:
        use(kronctl, address)
        ran = kronctl("suspend", *words, "--format", "json")
        texts = kronctl("suspend", *words)
    assert (ran.code, ran.err) == (2, "")
    rows = {each["name"]: each for each in ran.json["kronjobs"]}
    assert list(rows) == ["one", "two", "three"]
    assert {name: (row["suspended"], row["changed"]) for name, row in rows.items()} == {
        "one": (True, True),
        "two": (None, False),
        "three": (True, True),
    }
    error = rows["two"]["error"]
    assert error
    assert texts.code == 2
    done = [f"prod/{name}: suspended; active Jobs continue" for name in ("one", "three")]
    assert (texts.lines, texts.err) == (done, f"prod/two: {error}\n")


@pytest.mark.parametrize("command", ["suspend", "resume"])
def test_none_is_a_document_as_well(kronctl: Kronctl, command: str) -> None:
    with answering(lambda *_: (200, {"metadata": {"resourceVersion": "1"}})) as address:
        use(kronctl, address)
        ran = kronctl(command, "--all", "--format", "json")
    assert ran.fine().json["kronjobs"] == []
