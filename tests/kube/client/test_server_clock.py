"""How far our clock is certainly ahead of the API server's, by the Date of an answer."""

from __future__ import annotations

import pytest

from kron.kube.client.server_clock import ServerClock
from kron.testing.clock import FakeClock

NOW = "2026-03-01T12:00:00Z"
DATE = "Sun, 01 Mar 2026 {} GMT"


@pytest.mark.parametrize(
    ("shown", "took_s", "ahead_s"),
    [
        pytest.param("12:00:00", 0.0, 0.0, id="the same second"),
        pytest.param("11:59:59", 0.0, 0.0, id="it may have ended just now"),
        pytest.param("11:59:50", 0.0, 9.0, id="ahead"),
        pytest.param("11:59:50", 20.0, 0.0, id="a slow answer proves nothing"),
        pytest.param("11:59:50", 4.0, 5.0, id="or less"),
        pytest.param("12:00:30", 0.0, -30.0, id="behind"),
        pytest.param("12:00:30", 20.0, -30.0, id="behind, however slow"),
    ],
)
def test_a_difference_counts_beyond_what_an_answer_can_hide(
    shown: str, took_s: float, ahead_s: float
) -> None:
    server_clock = ServerClock(FakeClock(NOW))
    server_clock.heard(DATE.format(shown), took_s)
    assert server_clock.ahead_s == 0.0, "one answer may be somebody else's"
    server_clock.heard(DATE.format(shown), took_s)
    assert server_clock.ahead_s == ahead_s


@pytest.mark.parametrize("date", ["", "yesterday", "Sun, 99 Mar 2026 12:00:00 GMT", "\x00"])
def test_a_date_that_does_not_read_changes_nothing(date: str) -> None:
    server_clock = ServerClock(FakeClock(NOW))
    server_clock.heard(date, 0.0)
    assert server_clock.ahead_s == 0.0
    for _ in range(2):
        server_clock.heard(DATE.format("11:59:50"), 0.0)
    server_clock.heard(date, 0.0)
    assert server_clock.ahead_s == 9.0
