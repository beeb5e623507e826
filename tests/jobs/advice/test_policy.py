"""Timeouts that outlast the next period, and rare jobs that nothing catches up with."""

from __future__ import annotations

import pytest

from kron.jobs.advice import Advice
from tests.jobs.advice.linted import codes, marked, only


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("*/5 * * * * timeout=6m", [Advice.TIMEOUT_LONG], id="longer than the gap"),
        pytest.param("0 2 * * * timeout=30h", [Advice.TIMEOUT_LONG], id="daily"),
        pytest.param("*/5 * * * * timeout=5m", [], id="as long as the gap"),
        pytest.param("*/5 * * * * @policy(concurrency=allow) timeout=6m", [], id="allow"),
        pytest.param("*/5 * * * * @policy(concurrency=replace) timeout=6m", [], id="replace"),
        pytest.param("*/5 * * * *", [], id="no timeout"),
        pytest.param("0 3 1 * *", [Advice.DEADLINE_NONE], id="monthly"),
        pytest.param("0 3 1 1 *", [Advice.DEADLINE_NONE], id="yearly"),
        pytest.param("0 3 1 * * @policy(deadline=24h)", [], id="monthly with a deadline"),
        pytest.param("0 3 * * SUN", [], id="weekly"),
        pytest.param("0 3 1,15 * *", [], id="twice a month"),
        pytest.param("0 * 1 * *", [], id="all day once a month"),
    ],
)
def test_the_policy_is_judged(line: str, expected: list[Advice]) -> None:
    assert codes(line) == expected


def test_a_long_timeout_says_what_a_hanging_run_costs() -> None:
    finding = only("*/5 * * * * timeout=1h", Advice.TIMEOUT_LONG)
    assert finding.message == (
        "a run may take 1h, but periods are down to 5m apart (2026-03-02 00:00, UTC): with "
        "concurrency=forbid a run that hangs there costs the next 11 periods"
    )
    assert marked(finding) == "timeout=1h"


def test_a_missing_deadline_says_how_long_the_next_run_takes_to_come() -> None:
    finding = only("0 3 31 * *", Advice.DEADLINE_NONE)
    assert "after 2026-03-31 03:00 the next is due on 2026-05-31 03:00 (UTC)" in finding.message
    assert marked(finding) == "0 3 31 * *"
