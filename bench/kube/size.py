"""How much is measured. KRON_BENCH_SMALL=1 is for work on the benches: everything is a tenth."""

from __future__ import annotations

from bench.krond.size import IS_SMALL

_PART = 10 if IS_SMALL else 1

BURST_JOBS = 1_000 // _PART
BURST_ROUNDS = 1 if IS_SMALL else 2
SPREAD_JOBS = 600 // _PART
"""Due within one minute."""
SPREAD_PEERS = 10
FLEET_KRONJOBS = 10_000 // _PART
HANDOVERS = 2 if IS_SMALL else 10
KILLS = 2 if IS_SMALL else 5
IDLE_S = 60 // _PART
