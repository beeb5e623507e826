"""Daylight saving in the coming year: said for schedules that it touches, and for no other."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from kron.core.instant import from_text
from kron.lint import Advice
from tests.lint.linted import codes, marked, only, schedule_of, warnings

BOTH = [Advice.DAYLIGHT_FOLD, Advice.DAYLIGHT_GAP]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("30 2 * * * @tz(Europe/Paris)", BOTH, id="a fixed time"),
        pytest.param("0 2 * * * @tz(Europe/Paris)", BOTH, id="the first minute"),
        pytest.param("59 2 * * * @tz(Europe/Paris)", BOTH, id="the last minute"),
        pytest.param("*/15 2 * * * @tz(Europe/Paris)", BOTH, id="starred minutes"),
        pytest.param("0 */2 * * * @tz(Europe/Paris)", BOTH, id="a starred step of hours"),
        pytest.param("0 2 * * SUN @tz(Europe/Paris)", BOTH, id="on Sundays"),
        pytest.param("30 2 29 * * @tz(Europe/Paris)", [Advice.DAYLIGHT_GAP], id="on the 29th"),
        pytest.param(
            "30 1 * * * @tz(Europe/Lisbon) @policy(deadline=1h)", BOTH, id="an hour to the west"
        ),
        pytest.param(
            "15 2 * * * @tz(Australia/Lord_Howe)", [Advice.DAYLIGHT_GAP], id="half an hour"
        ),
        pytest.param("0 3 * * * @tz(Europe/Paris)", [], id="the minute after"),
        pytest.param("59 1 * * * @tz(Europe/Paris)", [], id="the minute before"),
        pytest.param("30 2 * * MON @tz(Europe/Paris)", [], id="on Mondays"),
        pytest.param("30 2 * 1 * @tz(Europe/Paris)", [], id="in January"),
        pytest.param("30 * * * * @tz(Europe/Paris)", [], id="in every hour"),
        pytest.param("*/10 * * * * @tz(Europe/Paris)", [], id="all day long"),
        pytest.param("30 2 * * *", [], id="UTC"),
        pytest.param("30 2 * * * @tz(Asia/Tokyo)", [], id="a zone without daylight saving"),
    ],
)
def test_only_what_a_change_touches_is_warned_of(line: str, expected: list[Advice]) -> None:
    assert [code for code in codes(line) if code in BOTH] == expected


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param(
            "30 2 * * * @tz(Europe/Paris)",
            "02:30 does not exist on 2026-03-29 in Europe/Paris, where clocks go from 02:00 to "
            "03:00: the period is at 03:00 (2026-03-29T01:00:00Z)",
            id="moved",
        ),
        pytest.param(
            "15,45 2 * * * @tz(Europe/Paris)",
            "02:15 and 02:45 do not exist on 2026-03-29 in Europe/Paris, where clocks go from "
            "02:00 to 03:00: all of them become one period at 03:00 (2026-03-29T01:00:00Z)",
            id="moved together",
        ),
        pytest.param(
            "0 2,3 * * * @tz(Europe/Paris)",
            "02:00 does not exist on 2026-03-29 in Europe/Paris, where clocks go from 02:00 to "
            "03:00: the period at 03:00 (2026-03-29T01:00:00Z) also counts for it",
            id="joined with the next",
        ),
        pytest.param(
            "* 2 * * * @tz(Europe/Paris)",
            "02:00, 02:01, 02:02 and 57 more do not exist on 2026-03-29 in Europe/Paris, where "
            "clocks go from 02:00 to 03:00: nothing runs then, because the minute begins with a "
            "star",
            id="lost",
        ),
    ],
)
def test_a_gap_says_what_will_happen(line: str, message: str) -> None:
    finding = only(line, Advice.DAYLIGHT_GAP)
    assert finding.message == message
    assert marked(finding) == line.split()[1]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param(
            "30 2 * * * @tz(Europe/Paris)",
            "02:30 occurs twice on 2026-10-25 in Europe/Paris, where clocks go back from 03:00 to "
            "02:00: it has one period, at the first (2026-10-25T00:30:00Z)",
            id="fixed",
        ),
        pytest.param(
            "0 */2 * * * @tz(Europe/Paris)",
            "02:00 occurs twice on 2026-10-25 in Europe/Paris, where clocks go back from 03:00 to "
            "02:00: it has two periods (2026-10-25T00:00:00Z and 2026-10-25T01:00:00Z), because "
            "the hour begins with a star",
            id="starred",
        ),
    ],
)
def test_a_fold_says_what_will_happen(line: str, message: str) -> None:
    assert only(line, Advice.DAYLIGHT_FOLD).message == message


@pytest.mark.parametrize(
    ("line", "instants"),
    [
        pytest.param("30 2 * * *", ["2026-03-29T01:00:00Z"], id="fixed"),
        pytest.param("15,45 2 * * *", ["2026-03-29T01:00:00Z"], id="two fixed"),
        pytest.param("*/15 2 * * *", [], id="starred"),
    ],
)
def test_what_a_gap_is_said_to_do_is_what_the_schedule_does(line: str, instants: list[str]) -> None:
    nominals = schedule_of(f"{line} @tz(Europe/Paris)").nominals
    night_s = from_text("2026-03-28T22:00:00Z")
    found_s = nominals.after(night_s)
    assert found_s == (from_text(instants[0]) if instants else from_text("2026-03-30T00:00:00Z"))


def test_only_the_coming_year_is_looked_at() -> None:
    line = "30 2 29 3 * @tz(Europe/Paris)"  # in 2026, and not again before 2037
    assert [f.code for f in warnings(line)] == [Advice.DAYLIGHT_GAP, Advice.DEADLINE_NONE][::-1]
    later = datetime(2026, 3, 29, 1, tzinfo=UTC)
    assert [f.code for f in warnings(line, now=later)] == [Advice.DEADLINE_NONE]
