"""Instants as text: RFC3339 with whole seconds, quick, and the inverse of reading."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kron.core.instant import FIRST_S, LAST_S, from_text, to_text
from tests.soak import examples


@examples(300)
@given(st.integers(FIRST_S, LAST_S))
def test_it_is_what_a_datetime_says_and_reads_back(instant_s: int) -> None:
    moment = datetime.fromtimestamp(instant_s, UTC)
    assert to_text(instant_s) == moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    assert from_text(to_text(instant_s)) == instant_s


@pytest.mark.parametrize(
    ("instant_s", "text"),
    [
        (FIRST_S, "1900-01-01T00:00:00Z"),
        (-1, "1969-12-31T23:59:59Z"),
        (0, "1970-01-01T00:00:00Z"),
        (LAST_S, "2999-12-31T23:59:59Z"),
    ],
)
def test_the_ends_and_the_epoch(instant_s: int, text: str) -> None:
    assert to_text(instant_s) == text
