"""The two day fields, which combine in unexpected ways, and days that months lack."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from kron.lint import Advice
from tests.lint.linted import codes, marked, only

DAYS = (Advice.DAYS_BOTH, Advice.DAYS_EITHER, Advice.DAYS_LACKING)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("0 0 13 * FRI", [Advice.DAYS_EITHER], id="Friday or the 13th"),
        pytest.param("0 0 1-7 * MON", [Advice.DAYS_EITHER], id="no first Monday"),
        pytest.param("0 0 */2 * MON", [Advice.DAYS_BOTH], id="a starred day of month"),
        pytest.param("0 0 1 * */2", [Advice.DAYS_BOTH], id="a starred day of week"),
        pytest.param("0 0 31 * *", [Advice.DAYS_LACKING], id="the 31st"),
        pytest.param("0 0 30 * *", [Advice.DAYS_LACKING], id="the 30th"),
        pytest.param("0 0 1,15,30 * *", [Advice.DAYS_LACKING], id="the 30th of a list"),
        pytest.param("0 0 29-31 * *", [Advice.DAYS_LACKING], id="from the 29th"),
        pytest.param("0 0 29 2 *", [Advice.DAYS_LACKING], id="leap days"),
        pytest.param("0 0 31 3,4 *", [Advice.DAYS_LACKING], id="one month of two"),
        pytest.param("0 0 31 * MON", [Advice.DAYS_EITHER, Advice.DAYS_LACKING], id="both traps"),
        pytest.param("0 0 28-31 * *", [], id="to the end of the month"),
        pytest.param("0 0 28,29,30,31 * *", [], id="the same as a list"),
        pytest.param("0 0 1-31 * *", [], id="every day"),
        pytest.param("0 0 1-31/2 * *", [], id="a step takes what there is"),
        pytest.param("0 0 */2 * *", [], id="a starred step"),
        pytest.param("0 0 31 1,3,5 *", [], id="long months"),
        pytest.param("0 0 30 4 *", [], id="a month that has it"),
        pytest.param("0 0 28 * *", [], id="every month has a 28th"),
        pytest.param("0 0 * * MON", [], id="a day of week alone"),
        pytest.param("0 0 13 * *", [], id="a day of month alone"),
        pytest.param("0 0 * * *", [], id="neither"),
        pytest.param("0 0 1-7 * * @only(dow=MON)", [], id="the first Monday, done well"),
    ],
)
def test_the_days_are_judged(line: str, expected: list[Advice]) -> None:
    assert [code for code in codes(line) if code in DAYS] == expected


@pytest.mark.parametrize(
    ("line", "advice", "message", "fix", "part"),
    [
        pytest.param(
            "0 0 13 * FRI",
            Advice.DAYS_EITHER,
            "day of month and day of week are both restricted, so either is enough: days 13 "
            "and every FRI, such as 2026-03-06, 2026-03-13 and 2026-03-20",
            "to require both, write 13 * * @only(dow=FRI)",
            "FRI",
            id="either",
        ),
        pytest.param(
            "0 0 */14 * MON",
            Advice.DAYS_BOTH,
            "*/14 begins with a star, so day of month and day of week must both match: it runs on "
            "2026-06-01, 2026-06-15 and 2026-06-29",
            "if either should be enough, write 1-29/14 without a star",
            "*/14",
            id="both",
        ),
        pytest.param(
            "0 0 31 * *",
            Advice.DAYS_LACKING,
            "there is no day 31 in FEB, APR, JUN, SEP and NOV: the job does not run on it then",
            "write 28 for a day that every month has, or 1 for the day after the last",
            "31",
            id="the 31st",
        ),
        pytest.param(
            "0 0 29 2 *",
            Advice.DAYS_LACKING,
            "only leap years have February 29: it next runs on 2028-02-29, 2032-02-29 and "
            "2036-02-29",
            "write 28 2, or 1 3, for a day of every year",
            "29",
            id="leap days",
        ),
    ],
)
def test_the_trap_is_named_with_dates(
    line: str, advice: Advice, message: str, fix: str, part: str
) -> None:
    finding = only(line, advice)
    assert (finding.message, finding.fix, marked(finding)) == (message, fix, part)


def test_what_the_fix_proposes_for_both_is_not_warned_of_again() -> None:
    assert codes("0 0 13 * * @only(dow=FRI) @policy(deadline=1h)") == []


@pytest.mark.parametrize(
    ("line", "advice", "message"),
    [
        pytest.param(
            "0 0 29 2 *", Advice.DAYS_LACKING, "only leap years have February 29", id="leap days"
        ),
        pytest.param(
            "0 0 */28 2 WED",
            Advice.DAYS_BOTH,
            "*/28 begins with a star, so day of month and day of week must both match",
            id="both",
        ),
    ],
)
def test_no_next_day_is_shown_after_the_last_one_of_the_calendar(
    line: str, advice: Advice, message: str
) -> None:
    assert only(line, advice, now=datetime(2999, 6, 1, tzinfo=UTC)).message == message
