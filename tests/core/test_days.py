"""A mask of days holds the days that a search finds."""

from __future__ import annotations

from datetime import date
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from kron.core.bits import least_spacing, lowest, positions
from kron.core.days import select_days
from kron.core.instant import to_date, to_day
from kron.core.parser import parse_schedule
from tests.soak import examples

FIRST_DAYS = st.integers(to_day(date(1998, 1, 1)), to_day(date(2101, 1, 1)))
DAY_FIELDS = st.sampled_from(("* * *", "31 * *", "29 2 *", "* * MON", "13 * FRI", "*/9 2-5 1"))


@examples(200)
@given(first=FIRST_DAYS, count=st.integers(1, 1_200), fields=DAY_FIELDS)
def test_a_mask_has_the_matching_days_and_no_others(first: int, count: int, fields: str) -> None:
    days = parse_schedule(f"0 0 {fields}").nominals.wall.days
    found = {first + position for position in positions(days.mask(first, count))}
    assert found == {day for day in range(first, first + count) if days.at_or_after(day) == day}


@examples(100)
@given(first=FIRST_DAYS, month=st.integers(1, 12), weekday=st.integers(0, 6))
def test_what_is_not_named_is_not_restricted(first: int, month: int, weekday: int) -> None:
    everything = (1 << 400) - 1
    assert select_days().mask(first, 400) == everything
    of_month = select_days(month_mask=1 << month).mask(first, 400)
    of_week = select_days(dow_mask=1 << weekday).mask(first, 400)
    for position in range(400):
        day = to_date(first + position)
        assert of_month >> position & 1 == (day.month == month)
        assert of_week >> position & 1 == (day.isoweekday() % 7 == weekday)


@examples(300)
@given(st.sets(st.integers(0, 400)))
def test_bits_are_found_from_the_lowest_and_so_is_their_spacing(numbers: set[int]) -> None:
    mask = sum(1 << number for number in numbers)
    ordered = sorted(numbers)
    assert list(positions(mask)) == ordered
    assert lowest(mask) == (ordered[0] if ordered else -1)
    gaps = [after - before for before, after in pairwise(ordered)]
    assert least_spacing(mask) == min(gaps, default=0)
