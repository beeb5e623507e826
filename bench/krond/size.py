"""How much is measured. KRON_BENCH_SMALL=1 is for work on the benches: everything is a tenth."""

from __future__ import annotations

import os

IS_SMALL = bool(os.environ.get("KRON_BENCH_SMALL"))
_PART = 10 if IS_SMALL else 1

BURST_JOBS = 1_000 // _PART
SINGLE_RUNS = 60 // _PART
IDLE_JOBS = 10_000 // _PART
IDLE_S = 60 // _PART
START_JOBS = 10_000 // _PART
MANY_JOBS = 100_000 // _PART
