"""JSON that is nested too deeply: the rest of the text is read as ever."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kron.kube.client.errors import json_object
from kron.kube.resource.kronjob import InvalidSpec, read_kronjob
from kron.kube.shallow import CUT, DEEPEST, is_shallow, shallow
from tests.kube.resource.bad_specs import good_kronjob

DEEP = 10_000
"""The most that an API server takes."""


def nested(levels: int, inside: str = "1") -> str:
    return "[" * levels + inside + "]" * levels


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(nested(DEEPEST), nested(DEEPEST), id="deep-enough"),
        pytest.param(nested(DEEP), nested(DEEPEST, CUT.decode()), id="too-deep"),
        pytest.param(
            '{"a":' * DEEP + "2" + "}" * DEEP,
            '{"a":' * DEEPEST + CUT.decode() + "}" * DEEPEST,
            id="objects",
        ),
        pytest.param(
            f"[{nested(DEEP)},3,{nested(DEEP)},4]",
            f"[{nested(DEEPEST - 1, CUT.decode())},3,{nested(DEEPEST - 1, CUT.decode())},4]",
            id="its-neighbours-stay",
        ),
        pytest.param(
            f'["{"[" * DEEP}\\"\\\\",5]', f'["{"[" * DEEP}\\"\\\\",5]', id="brackets-in-a-text"
        ),
    ],
)
def test_what_is_too_deep_is_cut_off_and_nothing_else(text: str, expected: str) -> None:
    assert shallow(text.encode()) == expected.encode()
    assert is_shallow(text.encode()) is (text == expected)
    json.loads(expected)


@pytest.mark.parametrize("text", [nested(DEEP)[:-5], nested(DEEP) + "]", '{"a":' * DEEP])
def test_what_is_no_json_is_none_however_deep(text: str) -> None:
    assert json_object(text.encode()) is None
    assert json_object(f'{{"a":{text}}}'.encode()) is None


def kronjob_with(text: str) -> dict[str, Any]:
    """One with a field that Kubernetes does not know, as the API server sends it."""
    obj = good_kronjob("deep", "prod")
    obj["spec"]["jobTemplate"]["spec"]["newer"] = "HERE"
    found = json_object(json.dumps(obj).replace('"HERE"', text).encode())
    assert found is not None
    return found


@pytest.mark.parametrize("levels", [DEEPEST, 900, DEEP])
def test_a_kronjob_that_is_nested_too_deeply_is_invalid(levels: int) -> None:
    with pytest.raises(InvalidSpec, match="nested too deeply"):
        read_kronjob(kronjob_with(nested(levels)))


def test_a_kronjob_that_nobody_calls_deep_is_valid() -> None:
    assert read_kronjob(kronjob_with(nested(100))).name == "deep"
