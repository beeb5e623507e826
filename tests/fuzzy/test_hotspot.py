"""R-SAFE-001 and R-SAFE-002: a time stays in its window, and clear of busy minutes if it can."""

from __future__ import annotations

import pytest

from kron.fuzzy.pattern import Around, Between
from kron.fuzzy.scatter import avoid, avoid_hour_boundary, avoid_peak_minutes, settle
from tests.fuzzy.naive import BUSY_MINUTES, place, two_passes
from tests.soak import SOAK

DAY = range(1440)
LONGEST_BUSY = 10
"""The longest run of busy minutes: from :55 to :04."""

EVERY_RAW_UP_TO = 24
"""Windows up to this width are tried with every raw minute: more than two runs of busy ones."""


def test_the_passes_are_those_of_the_specification() -> None:
    assert [avoid_hour_boundary(minute) for minute in (0, 4, 5, 54, 55, 59)] == [
        5,
        9,
        5,
        54,
        50,
        54,
    ]
    for minute in DAY:
        assert avoid(minute) == two_passes(minute)
        assert avoid(minute - 1440) == two_passes(minute) - 1440
        assert avoid(minute + 1440) == two_passes(minute) + 1440


@pytest.mark.parametrize(
    ("hour", "minute", "expected"),
    [
        pytest.param(14, 28, 28, id="seed: Europe's peak is not at two in the afternoon"),
        pytest.param(15, 13, 19, id="seed: quarter past in US business hours"),
        pytest.param(6, 27, 34, id="Europe's morning begins"),
        pytest.param(9, 33, 34, id="Europe's morning ends"),
        pytest.param(10, 30, 30, id="after Europe's morning"),
        pytest.param(18, 48, 49, id="quarter to in US business hours"),
        pytest.param(19, 45, 45, id="after US business hours"),
    ],
)
def test_peak_minutes_are_avoided_in_their_hours_only(
    hour: int, minute: int, expected: int
) -> None:
    assert avoid_peak_minutes(hour, minute) == expected


def test_what_the_passes_give_is_never_busy_and_never_far() -> None:
    for minute in DAY:
        assert avoid(minute) % 1440 not in BUSY_MINUTES
        assert abs(avoid(minute) - minute) <= 7
        assert (avoid(minute) == minute) == (minute not in BUSY_MINUTES)


@pytest.mark.heavy
def test_a_time_stays_in_every_window_of_every_start_and_end() -> None:
    """Each of the two million windows, with hashes that walk through its whole width."""
    for turn in range(SOAK):
        seed = turn * 0x9E3779B9 % 2**32
        for start in DAY:
            for width in range(1, 1440):
                seed = seed + 0x61C88647 & 0xFFFFFFFF
                minute, is_busy = settle(start, width, seed)
                assert start <= minute <= start + width
                assert not is_busy or width < LONGEST_BUSY


@pytest.mark.heavy
def test_a_time_stays_in_every_small_window_for_every_hash() -> None:
    """All raw minutes of all windows up to 24 minutes.

    As the passes move nothing by more than 7 minutes, and no more than 10 minutes in a row are
    busy, this proves it for all windows: in a longer one, only the nearer end can matter.
    """
    for start in DAY:
        for width in range(1, EVERY_RAW_UP_TO + 1):
            for raw in range(width):
                minute, is_busy = settle(start, width, raw)
                assert start <= minute <= start + width
                assert is_busy == (minute % 1440 in BUSY_MINUTES)


def test_a_busy_minute_is_taken_only_where_there_is_no_other() -> None:
    for start in DAY:
        for width in range(1, EVERY_RAW_UP_TO + 1, 2):
            all_busy = all(
                minute % 1440 in BUSY_MINUTES for minute in range(start, start + width + 1)
            )
            assert settle(start, width, start)[1] == all_busy


@pytest.mark.parametrize("start", range(0, 1440, 13))
def test_the_result_is_that_of_the_naive_reading(start: int) -> None:
    for width in (1, 2, 3, 7, 9, 10, 11, 20, 60, 480, 1439):
        for raw in {*range(0, width, max(1, width // 20)), width - 1}:
            assert settle(start, width, raw) == place(start, width, raw)


def test_a_time_stays_around_every_minute_for_every_hash() -> None:
    for target in DAY:
        window = Around(target)
        for raw in range(120):
            minute, is_busy = settle(window.first, window.width, raw)
            assert abs(minute - target) <= 60
            assert not is_busy
            assert minute % 1440 not in BUSY_MINUTES


def test_windows_have_the_width_of_the_specification() -> None:
    assert (Around(14 * 60).first, Around(14 * 60).width) == (13 * 60, 120)
    assert (Around(30).first, Around(30).width) == (-30, 120)
    assert (Between(540, 1020).first, Between(540, 1020).width) == (540, 480)
    assert (Between(22 * 60, 2 * 60).first, Between(22 * 60, 2 * 60).width) == (22 * 60, 240)


@pytest.mark.parametrize(
    ("window", "seed", "expected"),
    [
        pytest.param(Between(540, 543), 2, (542, True), id="9:00 to 9:03 is all busy: raw"),
        pytest.param(Between(540, 545), 2, (545, False), id="9:00 to 9:05: its end is free"),
        pytest.param(Between(538, 545), 0, (545, False), id="8:58 to 9:05: the only free minute"),
        pytest.param(Between(534, 543), 6, (534, False), id="8:54 to 9:03: back to 8:54"),
        pytest.param(Between(1435, 4), 7, (1442, True), id="23:55 to 0:04: past midnight"),
        pytest.param(Between(870, 888), 14, (881, False), id="14:30 to 14:48: back to 14:41"),
        pytest.param(Between(540, 1020), 217, (757, False), id="seed: 9:00 to 17:00 is 12:37"),
        pytest.param(Around(842), 119, (894, False), id="around 14:02: 15:01 back to 14:54"),
        pytest.param(Around(840), 73, (859, False), id="seed: 14:13, but that is a US peak"),
        pytest.param(Around(30), 1, (-29, False), id="around 0:30: 23:31, the day before"),
        pytest.param(Around(1410), 119, (1469, False), id="around 23:30: 0:29, the day after"),
    ],
)
def test_the_nearest_free_minute_of_the_window_is_taken(
    window: Around | Between, seed: int, expected: tuple[int, bool]
) -> None:
    assert settle(window.first, window.width, seed) == expected
