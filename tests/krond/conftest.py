"""What modules of tests of krond share as fixtures."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.krond.fault import Server


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """The process that forks the kronds of a module."""
    with Server() as server:
        yield server
