"""How big the random tests are: once for `make test`, twenty times that for `make soak`."""

from __future__ import annotations

import os

from hypothesis import settings

SOAK = int(os.environ.get("KRON_SOAK", "1"))


def examples(count: int) -> settings:
    """Hypothesis settings for `count` examples, more of them in a soak, and no time limit each."""
    return settings(max_examples=count * SOAK, deadline=None)
