"""Wording: what messages say is neither rounded to a lie nor longer than needed."""

from __future__ import annotations

import pytest

from kron.lint.wording import clipped, duration, listed, percent, time_text


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        (0.0, "0 %"),
        (1e-9, "less than 0.1 %"),
        (0.0012, "0.12 %"),
        (0.0123, "1.2 %"),
        (0.25, "25 %"),
        (0.9949, "99 %"),
        (0.9951, "99.5 %"),
        (0.999999, "more than 99.9 %"),
        (1.0, "100 %"),
    ],
)
def test_a_share_has_the_digits_that_matter(share: float, expected: str) -> None:
    assert percent(share) == expected


def test_lists_are_cut_where_nobody_reads_on() -> None:
    assert listed(["a"]) == "a"
    assert listed(["a", "b"]) == "a and b"
    assert listed(["a", "b", "c", "d"]) == "a, b, c and d"
    assert listed([*"abcde"]) == "a, b, c and 2 more"
    assert clipped("a" * 100) == "a" * 100
    assert clipped("a" * 101) == "a" * 99 + "…"


def test_times_are_written_as_schedules_write_them() -> None:
    assert [duration(s) for s in (0, 90, 7200, 86_400, 172_800)] == [
        "0s",
        "1m30s",
        "2h",
        "24h",
        "2 days",
    ]
    assert [time_text(s) for s in (0, 9_000, 86_399)] == ["00:00", "02:30", "23:59:59"]
