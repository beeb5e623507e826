"""The agenda lists what comes due in its order, and `next_run` is its first run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kron
from kron.core.instant import LAST_S, from_text, to_datetime
from kron.engine import Job
from kron.engine.agenda import agenda, next_run, open_periods
from kron.engine.survey import due_s
from tests.soak import examples

AT_S = from_text("2026-03-01T00:00:00Z")
HOUR_S = 3_600


def job(text: str, identity: str = "a") -> Job:
    return Job(identity, kron.parse_schedule(text))


schedules = st.sampled_from(
    [
        "0 * * * *",
        "*/5 * * * * @win(after,2h)",
        "*/5 * * * * @win(around,1h)",
        "0 * * * * @win(before,3h)",
        "0 * * * * @win(after,50m) @only(hours=3,5,22)",
        "*/10 * * * * @win(after,3h) @only(between=10:00-10:05)",
        "0 2 * * * @tz(Europe/Paris) @win(around,5h)",
    ]
)


@given(schedules, st.integers(0, 400_000), st.text("abc", min_size=1))
@examples(100)
def test_it_is_what_sorting_all_periods_gives(text: str, later_s: int, identity: str) -> None:
    subject = job(text, identity)
    from_s = AT_S + later_s
    horizon_s = from_s + 30 * HOUR_S
    nominal = subject.schedule.nominals_after(to_datetime(from_s - 10 * HOUR_S))
    everything = []
    for moment in nominal:
        decision = kron.decide(subject.schedule, identity=identity, nominal=moment)
        if decision.window_start_s > horizon_s:
            break
        if from_s <= due_s(decision) < horizon_s:
            everything.append(decision)
    everything.sort(key=lambda decision: (due_s(decision), decision.nominal_s))
    found = []
    for decision in agenda(subject, from_s):
        if due_s(decision) >= horizon_s:
            break
        found.append(decision)
    assert found == everything
    runs = [decision for decision in everything if not decision.unschedulable]
    if runs:
        assert next_run(subject, from_s) == runs[0]
    opened = open_periods(subject, from_s)
    assert all(d.window_start_s <= from_s <= d.window_end_s for d in opened)
    assert {d.nominal_s for d in everything if d.window_start_s <= from_s} <= {
        d.nominal_s for d in opened
    }


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("19 */3 * * * @only(hours=22-23)", id="never in the window"),
        pytest.param("0 0 * * * @only(date=2020-01-01)", id="only in the past"),
    ],
)
def test_a_job_that_never_runs_has_no_next_run(text: str) -> None:
    assert next_run(job(text), AT_S) is None


def test_a_week_of_rejected_minutes_does_not_hide_the_next_run() -> None:
    found = next_run(job("* * * * * @only(dow=SUN;between=23:59-23:59)"), AT_S + 86_400)
    assert found is not None
    assert found.period_id == "2026-03-08T23:59:00Z"


def test_it_ends_where_the_years_of_kron_end() -> None:
    subject = job("0 * * * * @win(after,30m)")
    last = list(agenda(subject, LAST_S - 2 * HOUR_S))
    assert [decision.period_id for decision in last] == [
        "2999-12-31T22:00:00Z",
        "2999-12-31T23:00:00Z",
    ]
