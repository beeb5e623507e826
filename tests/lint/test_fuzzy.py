"""A fuzzy schedule that scatters nothing, or may mean two zones, is warned of."""

from __future__ import annotations

import pytest

from tests.lint.linted import codes


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        pytest.param("every 2 days", True, id="a fixed interval"),
        pytest.param("daily around 9am PT", True, id="an abbreviation of two zones"),
        pytest.param("daily", False, id="plain"),
        pytest.param("daily around 9am utc-8", False, id="an offset"),
    ],
)
def test_what_the_specification_warns_of_is_said(schedule: str, expected: bool) -> None:
    assert ("fuzzy-doubtful" in codes(schedule)) is expected
