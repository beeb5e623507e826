"""The Helm chart, as Helm renders it."""

from __future__ import annotations

import subprocess
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


def helm(
    *words: str, values: Values | None = None, timeout_s: float = 60.0
) -> subprocess.CompletedProcess[str]:
    """`helm <words>`, with these values if there are any."""
    try:
        program = HELM.find() / "helm"
    except UnavailableError as error:
        pytest.skip(str(error))
    given = ("--values", "-") if values is not None else ()
    return subprocess.run(
        [program, *words, *given],
        input=yaml.safe_dump(values or {}),
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def render(
    values: Values | None = None, release: str = "kron", namespace: str = "kron-system"
) -> list[Manifest]:
    """The objects of a release."""
    words = ("template", release, str(CHART), "--namespace", namespace)
    done = helm(*words, "--kube-version", KUBERNETES, values=values or {})
    assert done.returncode == 0, done.stderr
    return [each for each in yaml.safe_load_all(done.stdout) if each]
