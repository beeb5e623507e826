from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.krond.process import scene as scenes
from tests.krond.process.ways import WAYS, only


@pytest.fixture
def scene() -> Iterator[scenes.Scene]:
    with scenes.scene() as made:
        yield made


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every way of starting, for what none of them may do differently."""
    only(request.param, monkeypatch.setattr)
    return str(request.param)
