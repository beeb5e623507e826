"""A clone for every test, in a directory of its own."""

from __future__ import annotations

import pytest

from tests.krontab.command import Krontab
from tests.krontab.workflows.clone import Clone


@pytest.fixture
def clone(krontab: Krontab) -> Clone:
    return Clone(krontab)
