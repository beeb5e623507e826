"""Windows that overlap or smooth nothing, long timeouts and missing deadlines."""

from __future__ import annotations

import pytest

from kron.lint import Advice
from tests.lint.linted import codes, marked, only


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("*/5 * * * * @win(after,2h)", [Advice.WINDOW_OVERLAP], id="overlap"),
        pytest.param("0 * * * * @win(around,61m)", [Advice.WINDOW_OVERLAP], id="by a minute"),
        pytest.param("0 2 * * * @win(after,25h)", [Advice.WINDOW_OVERLAP], id="daily"),
        pytest.param("0 2,3 * * * @win(after,2h)", [Advice.WINDOW_OVERLAP], id="two hours"),
        pytest.param(
            "0 1,4 * * * @tz(Europe/Paris) @win(after,150m)",
            [Advice.WINDOW_OVERLAP],
            id="only in the night when the clocks go forward",
        ),
        pytest.param("0 2 * * * @win(after,1s)", [Advice.WINDOW_NARROW], id="a second"),
        pytest.param("0 2 * * * @win(after,65s)", [Advice.WINDOW_NARROW], id="a minute"),
        pytest.param("0 2 * * * @win(after,999ms)", [Advice.WINDOW_NARROW], id="no second"),
        pytest.param(
            "0 2 * * * @win(after,2h) @dist(normal,sigma=5s)",
            [Advice.WINDOW_NARROW],
            id="a wide window, a narrow distribution",
        ),
        pytest.param(
            "0 2 * * * @dist(skewLate)", [Advice.WINDOW_MISSING], id="no window to act in"
        ),
        pytest.param(
            "0 2 * * * @win(after,0) @dist(normal)", [Advice.WINDOW_MISSING], id="an empty window"
        ),
        pytest.param("0 * * * * @win(after,1h)", [], id="a window as long as the gap"),
        pytest.param("0 2 * * * @win(after,24h)", [], id="a day"),
        pytest.param("0 2 * * MON @win(after,168h)", [], id="a week"),
        pytest.param("0 1,4 * * * @win(after,150m)", [], id="no clocks are set in UTC"),
        pytest.param("0 2 * * * @win(after,70s)", [], id="a little more than a minute"),
        pytest.param("* * * * * @win(after,1m)", [], id="every minute: there is no more room"),
        pytest.param("*/2 * * * * @win(after,60s)", [], id="every other minute"),
        pytest.param("0 2 * * * @win(after,2h) @dist(normal,sigma=5m)", [], id="a soft peak"),
        pytest.param("0 2 * * *", [], id="no window"),
        pytest.param("0 2 * * * @dist(uniform)", [], id="the default, written out"),
        pytest.param("0 2 * * * @win(after,0)", [], id="no window, written out"),
    ],
)
def test_the_width_of_a_window_is_judged(line: str, expected: list[Advice]) -> None:
    assert codes(line) == expected


def test_an_overlap_names_two_periods_and_how_many_are_open() -> None:
    finding = only("*/5 * * * * @win(after,2h)", Advice.WINDOW_OVERLAP)
    assert finding.message == (
        "the window of 2h is longer than the 5m between the periods 2026-03-02 00:00 and "
        "2026-03-02 00:05 (UTC): 25 periods are open at once and may run out of order"
    )
    assert finding.fix == "a window of at most 5m keeps their order"
    assert marked(finding) == "@win(after,2h)"


def test_an_overlap_because_of_the_clocks_names_that_night() -> None:
    line = "0 1,4 * * * @tz(Europe/Paris) @win(after,150m)"
    message = only(line, Advice.WINDOW_OVERLAP).message
    assert "than the 2h between the periods 2026-03-29 01:00 and 2026-03-29 04:00" in message


def test_the_narrow_part_is_the_one_that_is_marked() -> None:
    line = "0 2 * * * @win(after,{}) @dist(normal,sigma={})"
    narrow_window = only(line.format("30s", "10s"), Advice.WINDOW_NARROW)
    narrow_distribution = only(line.format("2h", "5s"), Advice.WINDOW_NARROW)
    assert marked(narrow_window) == "@win(after,30s)"
    assert marked(narrow_distribution) == "@dist(normal,sigma=5s)"
    assert "9 of 10 runs fall within 16s of each other" in narrow_distribution.message


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
        "a run may take 1h, but periods are as little as 5m apart (2026-03-02 00:00, UTC): with "
        "concurrency=forbid, a run that hangs skips the next 11 periods"
    )
    assert marked(finding) == "timeout=1h"


def test_a_missing_deadline_says_how_long_the_next_run_takes_to_come() -> None:
    finding = only("0 3 31 * *", Advice.DEADLINE_NONE)
    assert "after 2026-03-31 03:00 the next is due on 2026-05-31 03:00 (UTC)" in finding.message
    assert marked(finding) == "0 3 31 * *"
