"""Feasibility: the exact share that constraints leave, against counting every single second."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import FrameType
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import kron
from tests.core.schedules import ZONES, constraint_texts, distribution_texts
from tests.soak import SOAK, examples

NOMINAL = datetime(2026, 3, 2, 12, tzinfo=UTC)  # a Monday
CHANGES = [
    datetime(2026, 3, 29, 1, tzinfo=UTC),  # Europe
    datetime(2026, 10, 25, 1, tzinfo=UTC),
    datetime(2026, 3, 8, 10, tzinfo=UTC),  # Los Angeles
    datetime(2026, 11, 1, 6, tzinfo=UTC),  # New York
    datetime(2026, 4, 4, 15, tzinfo=UTC),  # Lord Howe
    datetime(2018, 11, 4, 3, tzinfo=UTC),  # Sao Paulo
    datetime(2011, 12, 30, 10, tzinfo=UTC),  # Apia loses a day
]


def counted(schedule: kron.Schedule, nominal: datetime) -> float:
    """The share by brute force: every second of the window, decided alone and weighed."""
    decision = kron.decide(schedule, identity="a", nominal=nominal)
    seconds = int((decision.window_end - decision.window_start).total_seconds()) + 1
    alone = schedule.replace(window=kron.parse_schedule("* * * * *").window)
    law = schedule.law
    share = 0.0
    for second in range(seconds):
        moment = decision.window_start + timedelta(seconds=second)
        if not kron.decide(alone, identity="a", nominal=moment).unschedulable:
            if law is None:
                return 1.0
            share += law.cumulative((second + 1) / seconds) - law.cumulative(second / seconds)
    return share


@examples(60)
@given(
    only=st.none() | constraint_texts(),
    avoid=st.none() | constraint_texts(),
    zone=st.sampled_from(ZONES),
    mode=st.sampled_from(["after", "around", "before"]),
    width=st.integers(0, 1500),
    distribution=distribution_texts(),
    near=st.sampled_from([*CHANGES, NOMINAL]),
    minutes=st.integers(-240, 240),
)
@example("hours=2", None, "Europe/Paris", "around", 1499, "uniform", CHANGES[0], 0)
@example("hours=2", None, "Europe/Paris", "around", 1499, "normal", CHANGES[1], 0)
@example("hours=2", None, "Europe/Paris", "after", 1499, "skewLate", CHANGES[1], -70)
@example(None, "between=23:50-00:10", "UTC", "around", 1499, "exponential", NOMINAL, 720)
@example("date=2011-12-31", None, "Pacific/Apia", "around", 1500, "uniform", CHANGES[6], 0)
def test_the_share_is_what_counting_every_second_gives(
    only: str | None,
    avoid: str | None,
    zone: str,
    mode: str,
    width: int,
    distribution: str,
    near: datetime,
    minutes: int,
) -> None:
    text = f"* * * * * @tz({zone}) @win({mode},{width}s) @dist({distribution})"
    text += f" @only({only})" if only else ""
    text += f" @avoid({avoid})" if avoid else ""
    schedule = kron.parse_schedule(text)
    nominal = near + timedelta(minutes=minutes)
    found = kron.feasibility(schedule, nominal=nominal)
    assert found.share == pytest.approx(counted(schedule, nominal), abs=1e-9)
    assert 0.0 <= found.share <= 1.0
    if width:
        assert found.unschedulable == pytest.approx((1 - found.share) ** 64, rel=1e-12)
    else:
        assert found.unschedulable == 1 - found.share


@pytest.mark.parametrize(
    ("modifiers", "share"),
    [
        pytest.param("", 1.0, id="no window"),
        pytest.param("@win(after,3h)", 1.0, id="no constraints"),
        pytest.param("@win(after,3h) @dist(normal)", 1.0, id="no constraints, normal"),
        pytest.param("@win(after,3h) @only(hours=12-15)", 1.0, id="nothing is lost"),
        pytest.param("@win(after,3h) @only(hours=1)", 0.0, id="nothing is left"),
        pytest.param("@win(after,3h) @avoid(dow=MON)", 0.0, id="the whole day is avoided"),
        pytest.param("@only(hours=12)", 1.0, id="no window, accepted"),
        pytest.param("@only(hours=13)", 0.0, id="no window, refused"),
        pytest.param("@win(after,59s) @only(between=12:00-12:00)", 1.0, id="one whole minute"),
        pytest.param("@win(after,119s) @only(between=12:00-12:00)", 0.5, id="half"),
        pytest.param("@win(after,59m59s) @only(between=12:00-12:14)", 0.25, id="a quarter"),
        pytest.param("@win(after,59m59s) @avoid(between=12:00-12:14)", 0.75, id="three quarters"),
        pytest.param(
            "@win(after,119s) @dist(skewEarly) @only(between=12:00-12:00)",
            0.5**0.5,
            id="half of skewEarly",
        ),
        pytest.param(
            "@win(after,119s) @dist(skewLate) @only(between=12:00-12:00)",
            1 - 0.5**0.5,
            id="half of skewLate",
        ),
        pytest.param(
            "@win(after,8783h59m59s) @only(dates=2026-03-03..2026-03-03)",
            1 / 366,
            id="one day of 366",
        ),
    ],
)
def test_the_share_of_windows_that_can_be_counted_by_hand(modifiers: str, share: float) -> None:
    schedule = kron.parse_schedule(f"* * * * * {modifiers}")
    found = kron.feasibility(schedule, nominal=NOMINAL)
    assert found.share == pytest.approx(share, abs=1e-12)
    if share in (0.0, 1.0):
        assert (found.share, found.unschedulable) == (share, 1.0 - share)


def test_the_hour_that_a_fold_repeats_counts_twice() -> None:
    schedule = kron.parse_schedule(
        "* * * * * @tz(Europe/Paris) @win(after,3h59m59s) @only(hours=2)"
    )
    folded = kron.feasibility(schedule, nominal=datetime(2026, 10, 25, 0, tzinfo=UTC))
    skipped = kron.feasibility(schedule, nominal=datetime(2026, 3, 29, 0, tzinfo=UTC))
    usual = kron.feasibility(schedule, nominal=datetime(2026, 10, 24, 0, tzinfo=UTC))
    assert (folded.share, skipped.share, usual.share) == (0.5, 0.0, 0.25)


@pytest.mark.heavy
@pytest.mark.parametrize(
    "modifiers",
    [
        pytest.param("@win(after,59m59s) @only(between=12:00-12:00)", id="one in 60"),
        pytest.param("@win(after,59m59s) @dist(skewLate) @only(between=12:00-12:03)", id="skewed"),
        pytest.param("@win(around,2h) @dist(normal) @only(between=11:20-11:23)", id="normal"),
        pytest.param(
            "@win(after,2h) @dist(exponential,lambda=3) @only(between=13:30-13:35)",
            id="exponential",
        ),
    ],
)
def test_as_many_periods_find_nothing_as_is_foretold(modifiers: str) -> None:
    schedule = kron.parse_schedule(f"0 12 * * * {modifiers}")
    foretold = kron.feasibility(schedule, nominal=NOMINAL).unschedulable
    assert 0.05 < foretold < 0.95
    periods = 3_000 * SOAK
    failed = sum(
        kron.decide(schedule, identity=f"job/{number}", nominal=NOMINAL).unschedulable
        for number in range(periods)
    )
    deviation = (periods * foretold * (1 - foretold)) ** 0.5
    assert abs(failed - periods * foretold) < 3.3 * deviation


@pytest.mark.parametrize(
    "nominal",
    [
        pytest.param(NOMINAL.replace(tzinfo=None), id="naive"),
        pytest.param(NOMINAL.replace(year=3000), id="too late"),
        pytest.param(NOMINAL.replace(microsecond=1), id="no whole second"),
    ],
)
def test_a_nominal_that_decide_refuses_is_refused(nominal: datetime) -> None:
    with pytest.raises(kron.KronError) as caught:
        kron.feasibility(kron.parse_schedule("* * * * * @win(after,1h)"), nominal=nominal)
    assert caught.value.code is kron.Code.INSTANT


def calls(work: Callable[[], object]) -> int:
    """How many functions were called on the way."""
    count = 0

    def observe(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(observe)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def test_the_widest_window_with_the_most_clauses_stays_cheap() -> None:
    minutes = [
        f"between={n // 3:02d}:{n % 3 * 20:02d}-{n // 3:02d}:{n % 3 * 20:02d}" for n in range(64)
    ]
    days = [f"date=2026-{1 + n % 12:02d}-{1 + n % 28:02d}" for n in range(64)]
    widest = kron.parse_schedule(
        f"0 0 * * * @tz(Europe/Paris) @win(after,8784h) @dist(normal) @only({';'.join(minutes)}) "
        f"@avoid({';'.join(days)})"
    )
    assert 0.0 < kron.feasibility(widest, nominal=NOMINAL).share < 0.1
    # 366 days of 64 runs, each weighed at both ends; there are 31 million seconds.
    most = 366 * 64 * 20
    assert calls(lambda: kron.feasibility(widest, nominal=NOMINAL)) < most


def test_the_cost_grows_with_days_and_not_with_seconds() -> None:
    def cost(hours: int) -> int:
        text = f"0 0 * * * @win(after,{hours}h) @only(hours=3,7) @avoid(dow=SUN)"
        schedule = kron.parse_schedule(text)
        kron.feasibility(schedule, nominal=NOMINAL)
        return calls(lambda: kron.feasibility(schedule, nominal=NOMINAL))

    assert cost(8784) < 366 * 30
    assert cost(8784) < 12 * cost(8784 // 10)
