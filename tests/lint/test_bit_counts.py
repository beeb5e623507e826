"""Counting all bits at once gives what counting one by one gives."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from kron.core.bits import positions
from kron.lint.fleet import busiest
from tests.soak import examples

masks = st.integers(min_value=0, max_value=2**80 - 1)


@examples(300)
@given(st.lists(st.tuples(masks, st.integers(min_value=0, max_value=70)), max_size=12))
def test_the_peak_is_the_highest_count_and_where_it_is(added: list[tuple[int, int]]) -> None:
    counts: Counter[int] = Counter()
    for mask, times in added:
        for position in positions(mask):
            counts[position] += times
    highest = max(counts.values(), default=0)
    places = sum(1 << place for place, count in counts.items() if count == highest and highest)
    assert busiest(added) == (highest, places)
