"""The shortest gap between periods is the shortest of a walk over the whole year."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kron.core.gap import gap_below, longest_gap_s, shortest_gap
from kron.core.instant import DAY_S, from_text
from kron.core.parser import parse_schedule
from kron.core.year import Year
from tests.soak import examples

YEAR = Year(datetime(2026, 3, 1, 12, tzinfo=UTC))
ZONES = (
    "UTC",
    "Europe/Paris",
    "America/New_York",
    "Africa/Cairo",  # a gap at midnight
    "Australia/Lord_Howe",  # half an hour
    "Africa/Casablanca",
    "Pacific/Apia",
)
lines = st.builds(
    "{} {} {} @tz({})".format,
    st.sampled_from(("0", "59", "1,59", "0,10,15", "*/25", "5-55/25")),
    st.sampled_from(("0", "1,2,4", "0,23", "*/7", "1,3", "9-11", "2,3")),
    st.sampled_from(("* * *", "* * MON", "*/9 * *", "31 * *", "29 3 *", "25 10 *", "1 1,2 *")),
    st.sampled_from(ZONES),
)


@examples(400)
@given(line=lines)
@example("1,59 2,3 * * * @tz(Europe/Paris)")
@example("0 1,2,4 29 3 * @tz(Europe/Paris)")
def test_it_is_the_shortest_of_a_walk(line: str) -> None:
    schedule = parse_schedule(line)
    gap = shortest_gap(schedule, YEAR)
    assert gap is not None
    assert gap.first_s > YEAR.now_s
    assert schedule.nominals.after(gap.first_s - 1) == gap.first_s
    assert schedule.nominals.after(gap.first_s) == gap.second_s
    walked = []
    first_s = schedule.nominals.after(YEAR.now_s)
    while (second_s := schedule.nominals.after(first_s)) <= YEAR.end_s - DAY_S:
        walked.append(second_s - first_s)
        first_s = second_s
    assert gap.seconds <= min(walked, default=gap.seconds)


@examples(100)
@given(line=lines, limit_s=st.sampled_from((61, 600, 3_540, 3_601, 7_300, DAY_S, 40 * DAY_S)))
def test_asking_for_a_gap_below_a_limit_never_misses_one(line: str, limit_s: int) -> None:
    schedule = parse_schedule(line)
    gap = shortest_gap(schedule, YEAR)
    assert gap is not None
    assert gap_below(schedule, YEAR, limit_s) == (gap if gap.seconds < limit_s else None)


@pytest.mark.parametrize(
    ("line", "first", "second"),
    [
        pytest.param(
            "*/5 * * * *", "2026-03-01T12:05:00Z", "2026-03-01T12:10:00Z", id="within an hour"
        ),
        pytest.param(
            "59 2,3,4 * * * @tz(Europe/Paris)",
            "2026-03-29T01:00:00Z",
            "2026-03-29T01:59:00Z",
            id="what a gap loses is made up for a minute before the next",
        ),
        pytest.param(
            "0 1,4 * * * @tz(Europe/Paris)",
            "2026-03-29T00:00:00Z",
            "2026-03-29T02:00:00Z",
            id="a night that is an hour short",
        ),
        pytest.param(
            "0 0 29 2 *", "2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z", id="beyond the year"
        ),
    ],
)
def test_it_comes_with_the_two_periods(line: str, first: str, second: str) -> None:
    gap = shortest_gap(parse_schedule(line), YEAR)
    assert gap is not None
    assert gap.seconds == from_text(second) - from_text(first)


@examples(100)
@given(line=lines)
@example("0 0 29 2 *")
def test_the_longest_is_the_longest_of_a_walk(line: str) -> None:
    schedule = parse_schedule(line)
    # A day more on either side: the year begins at a midnight of the zone, not of UTC.
    first_s = schedule.nominals.at_or_before(YEAR.now_s - 2 * DAY_S)
    walked = []
    while first_s <= YEAR.end_s + DAY_S:
        first_s, before_s = schedule.nominals.after(first_s), first_s
        walked.append((before_s, first_s - before_s))
    inside = [gap for start_s, gap in walked if YEAR.now_s < start_s + gap < YEAR.end_s - DAY_S]
    longest_s = longest_gap_s(schedule, YEAR)
    assert max(inside, default=0) <= longest_s <= max(gap for _, gap in walked)
