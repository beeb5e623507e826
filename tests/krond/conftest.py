"""What modules of tests of krond share as fixtures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.krond.fault import Server
from tests.krond.host import Host


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    """A host, on which no krond runs yet."""
    with Host(tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """The process that forks the kronds of a module."""
    with Server() as server:
        yield server
