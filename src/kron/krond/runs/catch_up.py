"""Catching up: after downtime, a pause or a sleep of the host, what is overdue is spread.

All of it is due in one moment, however well its chosen times were spread before.
"""

from __future__ import annotations

import hashlib

from kron.core.duration import SECOND_NS
from kron.krond.loop.work import Work
from kron.krond.roster.run import PendingRun
from kron.waking.clock import Clock


class CatchUp:
    def __init__(self, clock: Clock, work: Work, *, spread_s: int, slack_s: int) -> None:
        self._clock = clock
        self._work = work
        self._spread_ns = spread_s * SECOND_NS
        self._on_time_ns = (slack_s + 1) * SECOND_NS

    def delay_ns(self, pending: PendingRun) -> int:
        """How long the run waits before it starts, the same part of the spread at every restart.

        It takes up at most half of the time until the deadline: the other half is for whatever
        else the run may have to wait for. Nothing is overdue within the slack, nor because of
        krond's own work.
        """
        chosen_s, latest_s = pending.record.chosen_s, pending.latest_s
        if not self._spread_ns or chosen_s is None or latest_s is None:
            return 0
        now_ns = self._clock.now_ns()
        late_ns = now_ns - chosen_s * SECOND_NS - self._work.recent_ns
        if late_ns < self._on_time_ns:
            return 0
        left_ns = max(0, (latest_s + 1) * SECOND_NS - now_ns)
        digest = hashlib.sha256(pending.run_id.encode()).digest()
        part = int.from_bytes(digest[:8], "big")
        return min(self._spread_ns, left_ns // 2) * part >> 64
