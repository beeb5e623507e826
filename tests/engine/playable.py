"""Schedules for random lives: a few with known traits, and random ones that are quick to check."""

from __future__ import annotations

import hypothesis.strategies as st

import kron
from tests.core.schedules import schedule_texts

SCHEDULES = (
    "*/5 * * * *",
    "*/5 * * * * @win(after,2h)",
    "*/5 * * * * @win(around,2h) @policy(concurrency=allow,deadline=5m)",
    "0 * * * * @win(around,90m) @dist(skewLate) @policy(deadline=30m)",
    "* * * * * @win(around,10m) @policy(concurrency=allow,deadline=1m)",
    "30 2 * * * @tz(Europe/Paris) @win(after,3h) @only(hours=3) @policy(deadline=12h)",
    "0 0 * * * @win(before,6h) @dist(normal) @policy(concurrency=replace,deadline=2h)",
    "7 * * * * @win(after,30m) @only(hours=9-17) @seed(daily) @policy(deadline=1000h)",
    "0 10 * * * @win(after,1h) @only(hours=12)",
    "*/30 1-3 * * * @tz(America/New_York) @dist(exponential) @win(before,45m)",
    "0 0 1 * * @win(after,744h) @policy(deadline=24h)",
)
DAY_S = 86_400
MOST_OPEN = 40
"""The most periods of a schedule here that are open at once: more only takes longer to check."""


def is_playable(text: str) -> bool:
    schedule = kron.parse_schedule(text)
    a_day = schedule.nominals.wall.matches_a_day
    return min(a_day * (schedule.width_s // DAY_S + 2), schedule.width_s // 60 + 2) < MOST_OPEN


schedules = st.one_of(
    st.sampled_from(SCHEDULES),
    schedule_texts(most_window_ns=6 * 3600 * 10**9).filter(is_playable),
)
