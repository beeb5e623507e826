"""Times for people."""

from __future__ import annotations

import pytest

from kron.answers.times import distance, local_text, local_time
from kron.core.zone import load_zone

SUMMER_ENDS_S = 1_792_890_000  # 2026-10-25T01:00:00Z


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (59, "59s"),
        (60, "1m"),
        (9_120, "2h 32m"),
        (9_121, "2h 32m"),
        (3_601, "1h"),
        (273_600, "3d 4h"),
        (-301, "-5m 1s"),
    ],
)
def test_a_distance_is_its_two_largest_units_without_a_gap(seconds: int, text: str) -> None:
    assert distance(seconds) == text


@pytest.mark.parametrize(
    ("instant_s", "text", "rfc3339"),
    [
        (
            SUMMER_ENDS_S - 1,
            "Sun 2026-10-25 02:59:59 +02:00",
            "2026-10-25T02:59:59+02:00",
        ),
        (SUMMER_ENDS_S, "Sun 2026-10-25 02:00:00 +01:00", "2026-10-25T02:00:00+01:00"),
    ],
    ids=["summer", "winter"],
)
def test_local_time_says_its_offset(instant_s: int, text: str, rfc3339: str) -> None:
    zone = load_zone("Europe/Paris")
    assert local_text(instant_s, zone) == text
    assert local_time(instant_s, zone).isoformat() == rfc3339
