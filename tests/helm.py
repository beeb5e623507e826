"""The Helm chart, as Helm renders it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.cache import UnavailableError
from tools.cluster import HELM

CHART = Path(__file__).parent.parent / "deploy" / "chart"
KUBERNETES = "1.35.0"
Manifest = dict[str, Any]
Values = dict[str, Any]


class _Strict(yaml.SafeLoader):
    """Refuses a key that is there twice, as an API server does and PyYAML does not."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = [key.value for key, _ in node.value]
        assert len(keys) == len(set(keys)), f"twice at {node.start_mark}: {keys}"
        return super().construct_mapping(node, deep)


def helm_program() -> Path:
    try:
        return HELM.find() / "helm"
    except UnavailableError as error:
        pytest.skip(str(error))


def helm(
    *words: str, values: Values | None = None, timeout_s: float = 60.0
) -> subprocess.CompletedProcess[str]:
    """`helm <words>`, with these values if there are any."""
    given = ("--values", "-") if values is not None else ()
    return subprocess.run(
        [helm_program(), *words, *given],
        # As JSON: PyYAML leaves the text 1e3 without quotes, and Helm then reads a number.
        input=json.dumps(values or {}),
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def render(
    values: Values | None = None, release: str = "kron", namespace: str = "kron-system"
) -> list[Manifest]:
    """The objects of a release."""
    done = template(values or {}, release, namespace)
    assert done.returncode == 0, done.stderr
    return [each for each in yaml.load_all(done.stdout, _Strict) if each]


def refusal(values: Values) -> str:
    """Why Helm renders nothing with these values."""
    done = template(values)
    assert done.returncode != 0, done.stdout
    return done.stderr


def template(
    values: Values, release: str = "kron", namespace: str = "kron-system"
) -> subprocess.CompletedProcess[str]:
    """`helm template` with these values, whatever it answers."""
    words = ("template", release, str(CHART), "--namespace", namespace)
    return helm(*words, "--kube-version", KUBERNETES, values=values)
