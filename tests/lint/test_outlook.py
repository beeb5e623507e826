"""The outlook agrees with asking every period of the year, which is what it saves."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kron.core.feasibility import feasibility
from kron.core.instant import DAY_S, to_datetime
from kron.core.schedule import Schedule
from kron.core.year import DAYS, Year
from kron.lint.outlook import outlook
from tests.lint.linted import NOW, schedule_of
from tests.soak import examples

YEAR = Year(NOW)
ZONES = (
    "UTC",
    "Europe/Paris",
    "America/New_York",
    "Africa/Cairo",  # a gap at midnight
    "Australia/Lord_Howe",  # half an hour
    "Africa/Casablanca",
    "Pacific/Apia",
)
MINUTES = ("0", "30", "0,30", "59", "*/30")
HOURS = ("0", "2", "1,2,3", "23", "0-23/6", "*/8", "22-23")
DAY_FIELDS = ("* * *", "* * MON-FRI", "1,15 * *", "*/3 * *", "25-31 3,10 *", "13 * FRI")
WINDOWS = ("", "@win(after,1h)", "@win(around,90m)", "@win(before,7h)", "@win(after,24h)")
DISTRIBUTIONS = ("", "@dist(skewLate)", "@dist(normal,sigma=20m)")
CLAUSES = (
    "hours=2",
    "hours=8-18",
    "between=23:30-00:29",
    "between=02:00-02:09",
    "dow=MON-FRI",
    "dow=SUN",
    "dom=1-7",
    "months=3,10",
    "date=2026-03-29",
    "dates=2026-10-20..2026-11-10",
)

lines = st.builds(
    "{} {} {} @tz({}) {} {} @{}({})".format,
    st.sampled_from(MINUTES),
    st.sampled_from(HOURS),
    st.sampled_from(DAY_FIELDS),
    st.sampled_from(ZONES),
    st.sampled_from(WINDOWS),
    st.sampled_from(DISTRIBUTIONS),
    st.sampled_from(("only", "avoid")),
    st.lists(st.sampled_from(CLAUSES), min_size=1, max_size=3, unique=True).map(";".join),
)


def every_period(schedule: Schedule) -> list[int]:
    """The nominal instants of the 366 wall days from today on, found by walking."""
    first_s = YEAR.today(schedule.zone) * DAY_S
    instants: list[int] = []
    nominal_s = first_s - 2 * DAY_S
    while True:
        nominal_s = schedule.nominals.after(nominal_s)
        wall_s = schedule.zone.wall_at(nominal_s)
        if wall_s >= first_s + DAYS * DAY_S:
            return instants
        if wall_s >= first_s:
            instants.append(nominal_s)


@examples(200)
@given(line=lines)
@example("0,30 1,2,3 * * * @tz(Europe/Paris) @win(around,90m)  @only(between=02:00-02:09)")
@example("0,30 2 * * * @tz(Australia/Lord_Howe)   @only(hours=2)")
@example("*/30 0 * * * @tz(Africa/Cairo) @win(before,7h)  @only(between=23:30-00:29)")
def test_it_counts_what_a_walk_over_every_period_counts(line: str) -> None:
    schedule = schedule_of(line)
    found = outlook(schedule, YEAR)
    asked = {s: feasibility(schedule, nominal=to_datetime(s)) for s in every_period(schedule)}
    runnable = {s: f for s, f in asked.items() if f.unschedulable < 1 - 1e-9}
    assert not found.is_sample
    assert found.looked_at == len(asked)
    assert found.runnable == len(runnable)
    risks = [f.unschedulable for f in runnable.values()]
    assert found.risk == pytest.approx(sum(risks), abs=1e-6)
    assert found.worst.unschedulable == pytest.approx(max(risks, default=0.0), abs=1e-9)
    if found.first_excluded_s is not None:
        assert found.first_excluded_s in asked.keys() - runnable.keys()


@pytest.mark.parametrize(
    ("line", "excluded", "intended"),
    [
        pytest.param("0 2 * * * @avoid(dow=SUN)", 53, 0, id="a weekday"),
        pytest.param("0 2 * * * @avoid(date=2026-12-25)", 0, 1, id="a date"),
        pytest.param("0 2 * * * @avoid(dow=SUN;date=2026-12-25)", 53, 1, id="a weekday and a date"),
        pytest.param("0 2 1-7 * * @only(dow=MON)", 0, 72, id="a weekday beside a day of month"),
        pytest.param("0 2 * * * @only(hours=3)", 366, 0, id="an hour"),
    ],
)
def test_what_cron_could_not_say_is_taken_as_meant(line: str, excluded: int, intended: int) -> None:
    found = outlook(schedule_of(line), YEAR)
    assert (found.excluded, found.intended) == (excluded, intended)


def test_a_window_of_many_days_is_sampled_and_its_share_is_right() -> None:
    found = outlook(schedule_of("0 0 * * * @win(after,480h) @only(hours=3)"), YEAR)
    assert found.is_sample
    assert found.looked_at == 64
    assert found.worst.share == pytest.approx(1 / 24, rel=0.01)
    assert found.mean_risk == pytest.approx((23 / 24) ** 64, rel=0.01)
