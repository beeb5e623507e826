"""Steps: those that start again or come out uneven, and those that do not."""

from __future__ import annotations

import pytest

from kron.lint import Advice
from tests.lint.linted import codes, marked, only

STEPS = (Advice.STEP_RESTARTS, Advice.STEP_UNEVEN)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("0 0 */14 * *", [Advice.STEP_RESTARTS], id="every 14 days"),
        pytest.param("0 0 */2 * *", [Advice.STEP_RESTARTS], id="every other day"),
        pytest.param("0 0 1-31/7 * *", [Advice.STEP_RESTARTS], id="without a star"),
        pytest.param("0 0 2-31/3 * *", [Advice.STEP_RESTARTS], id="from the second"),
        pytest.param("*/7 * * * *", [Advice.STEP_UNEVEN], id="minutes"),
        pytest.param("3-59/7 * * * *", [Advice.STEP_UNEVEN], id="minutes from the third"),
        pytest.param("*/90 * * * *", [Advice.STEP_UNEVEN], id="more than an hour"),
        pytest.param("0 */5 * * *", [Advice.STEP_UNEVEN], id="hours"),
        pytest.param("0 */36 * * *", [Advice.STEP_UNEVEN], id="more than a day"),
        pytest.param("0 0 1 */5 *", [Advice.STEP_UNEVEN], id="months"),
        pytest.param("0 0 * * */2", [Advice.STEP_UNEVEN], id="days of the week"),
        pytest.param("*/7 22-23,0 * * *", [Advice.STEP_UNEVEN], id="hours that meet"),
        pytest.param("*/5 * * * *", [], id="a divisor of 60"),
        pytest.param("5-59/10 * * * *", [], id="a divisor of 60 with an offset"),
        pytest.param("*/60 * * * *", [], id="all of the hour"),
        pytest.param("0 */6 * * *", [], id="a divisor of 24"),
        pytest.param("0 0 1 */3 *", [], id="a divisor of 12"),
        pytest.param("0 9-17/3 * * *", [], id="part of the day"),
        pytest.param("10-50/7 * * * *", [], id="part of the hour"),
        pytest.param("*/7 9 * * *", [], id="one hour: the next is tomorrow"),
        pytest.param("*/7 9,11,13 * * *", [], id="hours that do not meet"),
        pytest.param("0 */5 * * MON", [], id="days that do not meet"),
        pytest.param("0 0 */2 1 *", [], id="months that do not meet"),
        pytest.param("0 0 */2 1,3,5 *", [], id="months with one between them"),
        pytest.param("*/1 * * * *", [], id="a step of one"),
        pytest.param("0 0 1,15 * *", [], id="no step"),
        pytest.param("*/5,7 * * * *", [], id="a list"),
    ],
)
def test_a_step_is_judged_where_one_round_meets_the_next(line: str, expected: list[Advice]) -> None:
    assert [code for code in codes(line) if code in STEPS] == expected


@pytest.mark.parametrize(
    ("line", "message", "part"),
    [
        pytest.param(
            "0 0 */14 * *",
            "*/14 starts again with each month: after 2026-03-29 comes 2026-04-01, 3 days later "
            "and not 14",
            "*/14",
            id="14 days",
        ),
        pytest.param(
            "0 0 */2 * *",
            "*/2 starts again with each month: after 2026-03-31 comes 2026-04-01, 1 day later and "
            "not 2",
            "*/2",
            id="the odd days",
        ),
        pytest.param(
            "0 0 */10 4-6 *",
            "*/10 starts again with each month: after 2026-05-31 comes 2026-06-01, 1 day later and "
            "not 10",
            "*/10",
            id="the first month end that is out of step",
        ),
        pytest.param(
            "*/7 * * * *",
            "*/7 is uneven: after minute 56 comes minute 0, 4 minutes later and not 7",
            "*/7",
            id="minutes",
        ),
        pytest.param(
            "0 */5 * * *",
            "*/5 is uneven: after hour 20 comes hour 0, 4 hours later and not 5",
            "*/5",
            id="hours",
        ),
        pytest.param(
            "*/90 * * * *",
            "*/90 is larger than its range of 60 minutes: only minute 0 matches, every 60 "
            "minutes and not every 90",
            "*/90",
            id="90 minutes",
        ),
        pytest.param(
            "5-59/55 * * * *",
            "5-59/55 is uneven: after minute 5 comes minute 5, 60 minutes later and not 55",
            "5-59/55",
            id="one minute, by a step shorter than an hour",
        ),
        pytest.param(
            "@win(after,1m) 0 0 1 */5 * @policy(deadline=1h)",
            "*/5 is uneven: after NOV comes JAN, 2 months later and not 5",
            "*/5",
            id="months, behind a modifier",
        ),
    ],
)
def test_the_uneven_step_is_named_and_marked(line: str, message: str, part: str) -> None:
    advice = Advice.STEP_RESTARTS if "starts again" in message else Advice.STEP_UNEVEN
    finding = only(line, advice)
    assert finding.message == message
    assert marked(finding) == part


def test_the_fix_names_steps_that_are_even() -> None:
    assert only("*/7 * * * *", Advice.STEP_UNEVEN).fix == "*/6 and */10 would be even"
    assert only("0 */23 * * *", Advice.STEP_UNEVEN).fix == "*/12 and */24 would be even"


@pytest.mark.parametrize(
    ("line", "value"), [("*/100 * * * *", "0"), ("0 */30 * * *", "0"), ("0 0 * */13 *", "JAN")]
)
def test_the_fix_of_a_step_beyond_its_range_is_the_only_value(line: str, value: str) -> None:
    assert only(line, Advice.STEP_UNEVEN).fix == f"write {value} if that is meant"


@pytest.mark.parametrize("line", ["0 0 */14 * *", "every 2 weeks"])
def test_the_fix_of_two_weeks_is_twice_a_month(line: str) -> None:
    assert only(line, Advice.STEP_RESTARTS).fix.endswith("such as * * MON; for twice a month, 1,15")


def test_a_fuzzy_schedule_shows_the_cron_expression_that_it_is() -> None:
    finding = only("bi-weekly", Advice.STEP_RESTARTS)
    assert marked(finding) == "bi-weekly"
    assert "*/14 * *: */14 starts again with each month" in finding.message
