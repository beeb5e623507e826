"""Distributions: the exact truncated laws, written here a second time, and what is chosen.

The identities are fixed, so a goodness of fit that holds once holds always.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kron
from kron.core.distribution import Law
from tests.core.schedules import distribution_texts, window_texts
from tests.soak import SOAK, examples

VECTORS = Path(__file__).parents[1] / "vectors"
NOMINAL = datetime(2026, 3, 2, 12, tzinfo=UTC)
PERIODS = 3_000 * SOAK
KOLMOGOROV = 1.95
"""The critical value of sqrt(n) * D for one chance in a thousand."""
NORMAL_DEVIATE = 3.09
"""The standard normal quantile for one chance in a thousand."""

ExactLaw = Callable[[float], float]


def uniform() -> ExactLaw:
    return lambda x: x


def skew_early(shape: float) -> ExactLaw:
    return lambda x: x ** (1 / shape)


def skew_late(shape: float) -> ExactLaw:
    return lambda x: 1 - (1 - x) ** (1 / shape)


def exponential(rate: float) -> ExactLaw:
    return lambda x: (1 - math.exp(-rate * x)) / (1 - math.exp(-rate))


def exponential_late(rate: float) -> ExactLaw:
    early = exponential(rate)
    return lambda x: 1 - early(1 - x)


def normal(mean: float, deviation: float) -> ExactLaw:
    def standard(x: float) -> float:
        return (1 + math.erf((x - mean) / deviation / math.sqrt(2))) / 2

    return lambda x: (standard(x) - standard(0)) / (standard(1) - standard(0))


FITS = [
    pytest.param("@win(after,3h)", uniform(), id="uniform"),
    pytest.param("@win(around,59s)", uniform(), id="uniform, a minute"),
    pytest.param("@win(before,8784h)", uniform(), id="uniform, a year"),
    pytest.param("@win(after,1s)", uniform(), id="uniform, two seconds"),
    pytest.param("@win(after,3h) @dist(skewEarly)", skew_early(2), id="skewEarly"),
    pytest.param("@win(after,3h) @dist(skewEarly,shape=0.4)", skew_early(0.4), id="skewEarly 0.4"),
    pytest.param("@win(around,3h) @dist(skewEarly,shape=7)", skew_early(7), id="skewEarly 7"),
    pytest.param("@win(after,3h) @dist(skewLate)", skew_late(2), id="skewLate"),
    pytest.param("@win(around,90m) @dist(skewLate,shape=2.5)", skew_late(2.5), id="skewLate 2.5"),
    pytest.param("@win(before,3h) @dist(skewLate,shape=0.3)", skew_late(0.3), id="skewLate 0.3"),
    pytest.param("@win(after,3h) @dist(exponential)", exponential(1), id="exponential"),
    pytest.param("@win(after,3h) @dist(exponential,lambda=8)", exponential(8), id="exponential 8"),
    pytest.param(
        "@win(around,3h) @dist(exponential,lambda=0.01)", exponential(0.01), id="exponential 0.01"
    ),
    pytest.param(
        "@win(after,3h) @dist(exponential,lambda=50)", exponential(50), id="exponential 50"
    ),
    pytest.param(
        "@win(after,3h) @dist(exponential,dir=late)", exponential_late(1), id="exponential late"
    ),
    pytest.param(
        "@win(around,3h) @dist(exponential,dir=late,lambda=5)",
        exponential_late(5),
        id="exponential late 5",
    ),
    pytest.param("@win(around,2h) @dist(normal)", normal(0.5, 1 / 6), id="normal around"),
    pytest.param("@win(after,2h) @dist(normal)", normal(0.5, 1 / 6), id="normal after"),
    pytest.param("@win(before,2h) @dist(normal)", normal(0.5, 1 / 6), id="normal before"),
    pytest.param(
        "@win(after,2h) @dist(normal,mu=nominal)", normal(0.0, 1 / 6), id="nominal of after"
    ),
    pytest.param(
        "@win(before,2h) @dist(normal,mu=nominal)", normal(1.0, 1 / 6), id="nominal of before"
    ),
    pytest.param(
        "@win(around,3s) @dist(normal,mu=nominal,sigma=1s)",
        normal(2 / 3, 1 / 3),
        id="nominal of three seconds",
    ),
    pytest.param(
        "@win(after,2h) @dist(normal,mu=start,sigma=15m)", normal(0.0, 1 / 8), id="normal start"
    ),
    pytest.param("@win(around,2h) @dist(normal,mu=end)", normal(1.0, 1 / 6), id="normal end"),
    pytest.param(
        "@win(around,2h) @dist(normal,mu=mid,sigma=2h)", normal(0.5, 1.0), id="a wide normal"
    ),
    pytest.param("@win(after,2h) @dist(normal,sigma=100h)", normal(0.5, 50.0), id="nearly uniform"),
    pytest.param(
        "@win(after,2h) @dist(normal,sigma=30s)", normal(0.5, 1 / 240), id="a narrow normal"
    ),
]


def chosen_offsets(modifiers: str) -> tuple[list[int], int]:
    """The second of the window that was chosen in each of many periods, and the last there is."""
    schedule = kron.parse_schedule(f"* * * * * {modifiers}")
    offsets = []
    for period in range(PERIODS):
        nominal = NOMINAL + timedelta(minutes=period)
        decision = kron.decide(schedule, identity="goodness/of-fit", nominal=nominal)
        assert decision.chosen_s is not None
        offsets.append(decision.chosen_s - decision.window_start_s)
    return offsets, schedule.window.width_s


@pytest.mark.parametrize(("modifiers", "law"), FITS)
def test_what_is_chosen_follows_the_exact_law(modifiers: str, law: ExactLaw) -> None:
    offsets, last = chosen_offsets(modifiers)
    assert min(offsets) >= 0
    assert max(offsets) <= last
    count = Counter(offsets)
    below = 0
    distance = 0.0
    for offset in sorted(count):
        distance = max(distance, abs(below / PERIODS - law(offset / (last + 1))))
        below += count[offset]
        distance = max(distance, abs(below / PERIODS - law((offset + 1) / (last + 1))))
    assert math.sqrt(PERIODS) * distance < KOLMOGOROV


@pytest.mark.parametrize(("modifiers", "law"), FITS)
def test_no_part_of_the_window_gets_more_or_less_than_its_share(
    modifiers: str, law: ExactLaw
) -> None:
    offsets, last = chosen_offsets(modifiers)
    seconds = last + 1
    edges = [0]
    for share in range(1, 20):  # twenty bins of about one twentieth each, cut at whole seconds
        low, high = edges[-1], seconds
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if law(middle / seconds) < share / 20 else (low, middle)
        if edges[-1] < low < seconds:
            edges.append(low)
    edges.append(seconds)
    statistic = 0.0
    for first, end in pairwise(edges):
        expected = PERIODS * (law(end / seconds) - law(first / seconds))
        assert expected > 5
        observed = sum(first <= offset < end for offset in offsets)
        statistic += (observed - expected) ** 2 / expected
    freedom = len(edges) - 2
    # Wilson and Hilferty's approximation of the chi-square quantile.
    spread = 2 / (9 * freedom)
    assert statistic < freedom * (1 - spread + NORMAL_DEVIATE * math.sqrt(spread)) ** 3


def law_of(window: str, distribution: str) -> Law | None:
    """The law of a distribution on a window."""
    return kron.parse_schedule(f"* * * * * @win({window}) @dist({distribution})").law


INVERSES = [
    "uniform",
    "skewEarly",
    "skewEarly,shape=0.1",
    "skewEarly,shape=20",
    "skewLate",
    "skewLate,shape=0.1",
    "skewLate,shape=3",
    "exponential",
    "exponential,lambda=0.0001",
    "exponential,lambda=12",
    "exponential,dir=late",
    "exponential,dir=late,lambda=12",
    "normal",
    "normal,mu=start",
    "normal,mu=end,sigma=10m",
    "normal,mu=nominal,sigma=3h",
    "normal,sigma=1m",
]


@pytest.mark.parametrize("distribution", INVERSES)
def test_cumulative_and_quantile_are_inverses(distribution: str) -> None:
    law = law_of("around,2h", distribution)
    assert law is not None
    places = []
    for step in range(1, 200):
        u = step / 200
        x = law.quantile(u)
        places.append(x)
        assert 0.0 <= x <= 1.0
        assert law.cumulative(x) == pytest.approx(u, abs=1e-9)
    assert places == sorted(places)
    assert law.cumulative(0.0) == pytest.approx(0.0, abs=1e-12)
    assert law.cumulative(1.0) == pytest.approx(1.0, abs=1e-12)


@examples(300)
@given(
    window=window_texts(), distribution=distribution_texts(), u=st.floats(0, 1, exclude_max=True)
)
def test_every_law_stays_in_the_window_whatever_its_parameters(
    window: str, distribution: str, u: float
) -> None:
    law = law_of(window, distribution)
    if law is None:
        return
    draws = sorted([0.0, 2.0**-53, u, 0.5, 1 - 2.0**-53])
    places = [law.quantile(draw) for draw in draws]
    assert all(-1e-6 <= place <= 1 + 1e-6 for place in places)
    assert all(after >= before - 1e-9 for before, after in pairwise(places))
    shares = [law.cumulative(step / 10) for step in range(11)]
    assert all(-1e-6 <= share <= 1 + 1e-6 for share in shares)
    assert all(after >= before - 1e-9 for before, after in pairwise(shares))


EXTREMES = [
    *(
        f"{name},shape={shape}"
        for name in ("skewEarly", "skewLate")
        for shape in ("5e-324", "1e-300", "1e-9", "1e9", "1e300", "1.7e308")
    ),
    *(
        f"exponential,dir={direction},lambda={rate}"
        for direction in ("early", "late")
        for rate in ("5e-324", "1e-300", "1e-9", "36", "37", "38", "700", "746", "1e9", "1.7e308")
    ),
    *(
        f"normal,mu={anchor},sigma={sigma}"
        for anchor in ("nominal", "start", "mid", "end")
        for sigma in ("1ns", "1s", "9223372036854775807ns")
    ),
]


@pytest.mark.parametrize("window", ["after,1s", "around,3s", "around,2h", "before,8784h"])
@pytest.mark.parametrize("distribution", EXTREMES)
def test_extreme_parameters_choose_within_the_window(window: str, distribution: str) -> None:
    schedule = kron.parse_schedule(f"* * * * * @win({window}) @dist({distribution})")
    for number in range(20):
        decision = kron.decide(schedule, identity=f"extreme/{number}", nominal=NOMINAL)
        assert decision.chosen_time is not None
        assert decision.window_start <= decision.chosen_time <= decision.window_end
        assert decision.attempts == 1


@pytest.mark.parametrize(
    ("distribution", "place"),
    [
        pytest.param("skewEarly,shape=1e300", 0.0, id="skewEarly"),
        pytest.param("skewEarly,shape=1e-300", 1.0, id="skewEarly the other way"),
        pytest.param("skewLate,shape=1e300", 1.0, id="skewLate"),
        pytest.param("exponential,lambda=1e300", 0.0, id="exponential"),
        pytest.param("exponential,lambda=1e300,dir=late", 1.0, id="exponential late"),
        pytest.param("normal,mu=start,sigma=1ns", 0.0, id="normal start"),
        pytest.param("normal,mu=mid,sigma=1ns", 0.5, id="normal mid"),
        pytest.param("normal,mu=end,sigma=1ns", 1.0, id="normal end"),
        pytest.param("normal,mu=nominal,sigma=1ns", 0.0, id="normal nominal"),
    ],
)
def test_an_extreme_parameter_pins_the_choice_to_its_place(distribution: str, place: float) -> None:
    law = law_of("after,2h", distribution)
    assert law is not None
    assert [law.quantile(u) for u in (0.25, 0.5, 0.75)] == pytest.approx([place] * 3, abs=1e-9)


@pytest.mark.parametrize(
    "distribution",
    [
        "exponential,lambda=1e-300",
        "exponential,lambda=1e-12,dir=late",
        "skewEarly,shape=1",
        "skewLate,shape=1",
        "normal,sigma=2000000h",
    ],
)
def test_a_law_without_any_lean_is_uniform(distribution: str) -> None:
    law = law_of("around,2h", distribution)
    assert law is not None
    shares = [step / 16 for step in range(16)]
    assert [law.quantile(share) for share in shares] == pytest.approx(shares, abs=1e-6)
    assert [law.cumulative(share) for share in shares] == pytest.approx(shares, abs=1e-6)


def test_the_frozen_vectors_hold_bit_for_bit() -> None:
    rows = json.loads((VECTORS / "kron-distribution-v1.json").read_text())["rows"]
    assert len(rows) == 120
    for row in rows:
        nominal = datetime.fromisoformat(row["nominal"])
        schedule = kron.parse_schedule(row["schedule"])
        decision = kron.decide(schedule, identity=row["identity"], nominal=nominal)
        moments = (decision.window_start, decision.window_end, decision.chosen_time)
        start, end, chosen = (
            moment and moment.strftime("%Y-%m-%dT%H:%M:%SZ") for moment in moments
        )
        assert {
            "schedule": row["schedule"],
            "identity": decision.identity,
            "nominal": decision.period_id,
            "window_start": start,
            "window_end": end,
            "period_key": decision.period_key,
            "seed_hash": decision.seed_hash,
            "chosen": chosen,
            "attempts": decision.attempts,
        } == row
