from __future__ import annotations

from collections.abc import Iterator

import pytest

from kron.krond.process import spawned
from tests.krond.process import scene as scenes


@pytest.fixture
def scene() -> Iterator[scenes.Scene]:
    with scenes.scene() as made:
        yield made


@pytest.fixture(params=["spawned", "forked"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways of starting, for what neither of them may do differently."""
    chosen = str(request.param)
    if chosen == "forked":
        monkeypatch.setattr(spawned, "suits", lambda *_: False)
    return chosen
