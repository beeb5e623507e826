"""A kronctl for every test, in a directory of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kube.kronctl.command import Kronctl


@pytest.fixture
def kronctl(tmp_path: Path) -> Kronctl:
    return Kronctl(tmp_path)
