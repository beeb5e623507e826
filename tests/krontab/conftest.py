"""A krontab for every test, in a directory of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.krontab.command import Krontab


@pytest.fixture
def krontab(tmp_path: Path) -> Krontab:
    return Krontab(tmp_path)
