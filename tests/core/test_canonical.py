"""A schedule prints as its canonical text, and that text is the same schedule again."""

from __future__ import annotations

import copy
import pickle
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kron
from tests.core.schedules import schedule_texts
from tests.soak import examples


@examples(400)
@given(text=schedule_texts())
def test_the_canonical_text_reads_back_as_an_equal_schedule(text: str) -> None:
    schedule = kron.parse_schedule(text)
    again = kron.parse_schedule(str(schedule))
    assert again == schedule
    assert hash(again) == hash(schedule)
    assert str(again) == str(schedule)


@examples(100)
@given(text=schedule_texts())
def test_copies_and_pickles_are_equal(text: str) -> None:
    schedule = kron.parse_schedule(text)
    for twin in (
        pickle.loads(pickle.dumps(schedule)),
        pickle.loads(pickle.dumps(schedule, protocol=2)),
        copy.deepcopy(schedule),
        copy.copy(schedule),
        schedule.replace(),
    ):
        assert twin == schedule
        assert hash(twin) == hash(schedule)
        assert str(twin) == str(schedule)
        assert repr(twin) == repr(schedule)


@examples(150)
@given(
    text=schedule_texts(),
    identity=st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20),
    day=st.integers(0, 20_000),
)
def test_equal_schedules_decide_equally(text: str, identity: str, day: int) -> None:
    nominal = datetime(1990, 1, 1, 5, 30, tzinfo=UTC) + timedelta(days=day)
    schedule = kron.parse_schedule(text)
    decision = kron.decide(schedule, identity=identity, nominal=nominal)
    twins = kron.parse_schedule(str(schedule)), pickle.loads(pickle.dumps(schedule))
    for twin in twins:
        decided = kron.decide(twin, identity=identity, nominal=nominal)
        assert decided == decision
        assert twin.next_nominal(nominal) == schedule.next_nominal(nominal)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        pytest.param("0 0 * * *", "0 0 * * *", id="nothing to do"),
        pytest.param(" 00\t0  * * *  ", "0 0 * * *", id="spaces and leading zeros"),
        pytest.param("15 9 * * mon-fri", "15 9 * * MON-FRI", id="names in capitals"),
        pytest.param("0 0 1 1 0", "0 0 1 JAN SUN", id="numbers to names"),
        pytest.param("0 0 * * 7", "0 0 * * SUN", id="7 is Sunday"),
        pytest.param("5,3,3,4 0 * * *", "3-5 0 * * *", id="lists sorted and joined"),
        pytest.param("0 0 * * * @tz(UTC)", "0 0 * * *", id="default zone"),
        pytest.param("0 0 * * * @win(after,0s)", "0 0 * * *", id="default window"),
        pytest.param("0 0 * * * @dist(uniform)", "0 0 * * *", id="default distribution"),
        pytest.param('0 0 * * * @seed(stable,salt="")', "0 0 * * *", id="default seed"),
        pytest.param(
            "0 0 * * * @policy(concurrency=forbid,deadline=0s,suspend=false)",
            "0 0 * * *",
            id="default policy",
        ),
        pytest.param(
            "0 0 * * * @dist(skewEarly,shape=2.0)", "0 0 * * * @dist(skewEarly)", id="shape"
        ),
        pytest.param(
            "0 0 * * * @dist(exponential,lambda=1,dir=early)",
            "0 0 * * * @dist(exponential)",
            id="lambda and dir",
        ),
        pytest.param(
            "0 0 * * * @dist(exponential,dir=late,lambda=2.50)",
            "0 0 * * * @dist(exponential,lambda=2.5,dir=late)",
            id="order of parameters",
        ),
        pytest.param(
            "0 0 * * * @dist(normal,sigma=90m,mu=start)",
            "0 0 * * * @dist(normal,mu=start,sigma=1h30m)",
            id="normal",
        ),
        pytest.param(
            '0 0 * * * @seed(daily,salt="team-a")',
            "0 0 * * * @seed(daily,salt=team-a)",
            id="quotes only where they are needed",
        ),
        pytest.param(
            r'0 0 * * * @seed(daily,salt="a \"b\" \\")',
            r'0 0 * * * @seed(daily,salt="a \"b\" \\")',
            id="quotes where they are",
        ),
        pytest.param(
            "0 0 * * * @avoid(dates=2026-12-25..2026-12-25)",
            "0 0 * * * @avoid(date=2026-12-25)",
            id="a range of one day is a day",
        ),
        pytest.param(
            '0 0 * * * @only(hours="8-10,11";dow=1-5)',
            "0 0 * * * @only(hours=8-11;dow=MON-FRI)",
            id="clauses",
        ),
        pytest.param(
            "@avoid(dom=1) @only(hours=8) @policy(suspend=true) @seed(weekly) "
            "@dist(skewLate) @win(around,60m) @tz(Asia/Tokyo) 0 0 * * *",
            "0 0 * * * @tz(Asia/Tokyo) @win(around,1h) @dist(skewLate) @seed(weekly) "
            "@policy(suspend=true) @only(hours=8) @avoid(dom=1)",
            id="one order of modifiers",
        ),
    ],
)
def test_there_is_one_text_for_each_schedule(text: str, canonical: str) -> None:
    assert str(kron.parse_schedule(text)) == canonical


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param("0 0 * * *", "0 0 */1 * *", id="a step of one"),
        pytest.param("0 0 * * * @win(after,1h)", "0 0 * * * @win(after,60m)", id="durations"),
        pytest.param("0 0 * * *", "0 0 * * * @tz(UTC)", id="defaults"),
    ],
)
def test_texts_that_mean_the_same_are_equal(first: str, second: str) -> None:
    assert kron.parse_schedule(first) == kron.parse_schedule(second)
    assert str(kron.parse_schedule(first)) == str(kron.parse_schedule(second))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param("* * * * *", "0-59 * * * *", id="a star follows real time, a range not"),
        pytest.param("0 0 * * 0", "0 0 */31 * 0", id="days"),
        pytest.param("0 0 * * *", "0 0 * * * @tz(Etc/UTC)", id="zones by name"),
        pytest.param("0 0 * * *", "0 0 * * * @win(before,0s)", id="mode"),
        pytest.param("0 0 * * * @seed(daily)", "0 0 * * * @seed(daily,salt=a)", id="salt"),
        pytest.param("0 0 * * * @only(dom=1)", "0 0 * * * @avoid(dom=1)", id="only and avoid"),
        pytest.param("0 0 * * * @dist(skewLate)", "0 0 * * * @dist(skewEarly)", id="direction"),
        pytest.param(
            "0 0 * * * @win(around,1h) @dist(normal)",
            "0 0 * * * @win(around,1h) @dist(normal,mu=nominal)",
            id="a default that follows the window is not a value",
        ),
    ],
)
def test_texts_that_mean_something_else_are_not_equal(first: str, second: str) -> None:
    assert kron.parse_schedule(first) != kron.parse_schedule(second)
    assert str(kron.parse_schedule(first)) != str(kron.parse_schedule(second))
