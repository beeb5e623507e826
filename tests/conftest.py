"""Hypothesis is derandomised: a run of `make test` cannot flicker. `make soak` explores."""

from __future__ import annotations

from hypothesis import settings

from tests.soak import SOAK

settings.register_profile("kron", derandomize=SOAK == 1, deadline=None)
settings.load_profile("kron")
