"""Constraints: what cannot run is said, what may not is weighed, what is meant is left alone."""

from __future__ import annotations

import pytest

from kron.lint import Advice
from tests.lint.linted import codes, marked, only, warnings


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param(
            "0 2 * * * @win(after,1h) @only(hours=8-18)",
            [Advice.CONSTRAINT_NEVER],
            id="a window beside the allowed hours",
        ),
        pytest.param(
            "0 2 * * * @only(dates=2020-01-01..2025-12-31)",
            [Advice.CONSTRAINT_NEVER],
            id="dates in the past",
        ),
        pytest.param(
            "0 2 * * MON @only(dow=TUE)", [Advice.CONSTRAINT_NEVER], id="days that never meet"
        ),
        pytest.param(
            "0 2 * * * @only(dow=MON-FRI)",
            [Advice.CONSTRAINT_EXCLUDES],
            id="a day of week that the cron expression could say",
        ),
        pytest.param(
            "0 * * * * @win(after,30m) @only(hours=8-18)",
            [Advice.CONSTRAINT_EXCLUDES],
            id="hours that the cron expression could say",
        ),
        pytest.param(
            "0 2 * * * @avoid(months=8)",
            [Advice.CONSTRAINT_EXCLUDES],
            id="a month that the cron expression could say",
        ),
        pytest.param(
            "0 2 1-7 * * @avoid(dom=1)",
            [Advice.CONSTRAINT_EXCLUDES],
            id="a day of month that the cron expression could say",
        ),
        pytest.param(
            "0 0 * * * @win(after,24h) @only(between=10:00-10:30)",
            [Advice.CONSTRAINT_STARVES],
            id="a fiftieth of the window",
        ),
        pytest.param(
            "0 0 * * * @win(after,8h) @dist(normal,sigma=30m) @only(hours=0)",
            [Advice.CONSTRAINT_STARVES],
            id="a tail of the distribution",
        ),
        pytest.param(
            "0 0 * * * @win(after,24h) @only(between=10:00-10:30;dow=MON-FRI)",
            [Advice.CONSTRAINT_EXCLUDES, Advice.CONSTRAINT_STARVES],
            id="both at once",
        ),
        pytest.param("0 2 * * * @avoid(date=2026-12-25)", [], id="a holiday is meant"),
        pytest.param("0 2 * * * @avoid(dates=2026-12-24..2026-12-31)", [], id="holidays are meant"),
        pytest.param("0 2 * * * @only(dates=2026-06-01..2026-06-30)", [], id="a season is meant"),
        pytest.param(
            "0 2 1-7 * * @only(dow=MON)", [], id="the first Monday: cron has no other way"
        ),
        pytest.param("0 2 * * MON @only(dom=1-7)", [], id="the same from the other side"),
        pytest.param("0 2 * * * @win(after,3h) @avoid(hours=4)", [], id="a third of the window"),
        pytest.param("0 0 * * * @win(after,10h) @only(hours=3)", [], id="a tenth of the window"),
        pytest.param("0 2 * * * @win(after,1h) @only(hours=2-3)", [], id="all of the window"),
        pytest.param("0 2 * * * @only(hours=2)", [], id="no window, and its second is allowed"),
        pytest.param("0 0 29 2 * @only(hours=5)", [], id="no period in the coming year"),
    ],
)
def test_a_constraint_is_judged_by_the_coming_year(line: str, expected: list[Advice]) -> None:
    assert [code for code in codes(line) if "constraint" in code] == expected


def test_what_cannot_run_is_counted_with_a_first_example_and_a_reason() -> None:
    line = "0 10 * * * @tz(Europe/Paris) @win(around,90m) @only(dow=MON-FRI;between=08:00-20:00)"
    finding = only(line, Advice.CONSTRAINT_EXCLUDES)
    assert finding.message == (
        "105 of the 366 periods of the coming year cannot run, the first at "
        "2026-03-01 10:00 (Europe/Paris): its window is outside only(dow=MON-FRI)"
    )
    assert marked(finding) == "@only(dow=MON-FRI;between=08:00-20:00)"


def test_a_job_that_cannot_run_at_all_is_told_so_and_nothing_else() -> None:
    (finding,) = warnings("0 2 * * * @win(after,1h) @only(hours=0-8) @avoid(hours=1-4)")
    assert finding.code == Advice.CONSTRAINT_NEVER
    assert finding.message == (
        "none of the 366 periods of the coming year can run: all of their windows are inside "
        "avoid(hours=1-4)"
    )
    assert marked(finding) == "@avoid(hours=1-4)"


def test_a_starving_constraint_comes_with_its_probability_and_share() -> None:
    # 31 minutes of a day are 2.15 % of it, and (1 - 0.0215) ** 64 = 24.9 %.
    finding = only(
        "0 0 * * * @win(after,24h) @only(between=10:00-10:30)", Advice.CONSTRAINT_STARVES
    )
    assert finding.message == (
        "a period finds no second to run in 25 % of all cases: in the worst case, "
        "2026-03-01 00:00 (UTC), the clauses leave 2.2 % of the window, and all 64 draws miss "
        "it with a probability of 25 %"
    )


def test_an_hour_that_a_change_of_the_clocks_takes_away_is_found_and_explained() -> None:
    line = "0 0 * * * @tz(Europe/Paris) @win(after,6h) @only(hours=2)"
    finding = only(line, Advice.CONSTRAINT_EXCLUDES)
    assert finding.message == (
        "1 of the 366 periods of the coming year cannot run, the first at "
        "2026-03-29 00:00 (Europe/Paris): its window is outside only(hours=2)"
    )
    assert finding.fix == "the clocks change then: also allow an hour that exists on that day"


def test_a_sample_says_how_many_periods_were_looked_at() -> None:
    finding = only("*/5 * * * * @win(after,5m) @only(hours=8-18)", Advice.CONSTRAINT_EXCLUDES)
    assert finding.message.startswith(
        "54 % of the 17,568 periods checked (of 105,408) of the coming year cannot run"
    )


def test_long_lists_of_clauses_do_not_flood_the_message() -> None:
    clauses = ";".join(
        f"between={hour:02d}:00-{hour:02d}:0{minute}" for hour in range(9) for minute in range(7)
    )
    (finding,) = warnings(f"30 12 * * * @only({clauses})")
    assert len(finding.message) < 250
