"""The busiest minutes: the highest ones, and the jobs that make them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kron.engine import Job
from kron.fleet import Busy, busiest, count_firings
from tests.fleet.plans import agenda_firings, job, seconds
from tests.soak import examples

MONDAY = seconds("2026-03-02T00:00")


def top(jobs: list[Job], most: int, *, from_s: int = MONDAY, weeks: int = 2) -> list[Busy]:
    tally = count_firings(jobs, from_s, weeks, by_minute=True)
    return busiest(jobs, tally, most)


def test_a_storm_comes_first_with_its_rarest_jobs() -> None:
    jobs = [
        job("*/5 * * * *", "poll"),
        job("0 0 * * *", "backup"),
        job("0 0 * * SUN", "weekly"),
        job("30 4 * * *", "report"),
    ]
    first, second, third = top(jobs, 3)
    assert first == Busy(0, (4, 4, 4, 4, 4, 4, 6), ("weekly", "backup", "poll"))
    assert (first.weekday, first.most, first.firings) == (6, 6, 30)
    assert second == Busy(270, (4,) * 7, ("report", "poll"))
    assert third == Busy(5, (2,) * 7, ("poll",))


def test_nothing_is_busy_where_nothing_runs() -> None:
    assert top([], 10) == []
    assert top([job("0 0 29 2 *")], 10) == []
    assert [busy.minute for busy in top([job("7 3 * * *")], 10)] == [187]


@pytest.mark.parametrize("past_s", [0, 1, 59, 60, 12_345])
def test_a_count_that_begins_within_the_busy_minute_knows_its_jobs(past_s: int) -> None:
    jobs = [job("0 0 * * * @win(after,59s)", f"prod/{number}") for number in range(40)]
    (busy,) = top(jobs, 1, from_s=MONDAY + past_s, weeks=1)
    assert busy.identities == tuple(sorted(each.identity for each in jobs))


@examples(25)
@given(
    crons=st.lists(
        st.builds(
            "{} {} * * {} @win({},{}m)".format,
            st.sampled_from(["0", "0,30", "*/20", "59"]),
            st.sampled_from(["0", "*/6", "23"]),
            st.sampled_from(["*", "MON", "SAT,SUN"]),
            st.sampled_from(["after", "around", "before"]),
            st.sampled_from([0, 1, 3, 10]),
        ),
        min_size=1,
        max_size=8,
    ),
    past_s=st.integers(0, 7 * 86_400),
)
def test_the_minutes_and_their_jobs_are_those_of_the_agendas(crons: list[str], past_s: int) -> None:
    jobs = [job(text, f"prod/{number}") for number, text in enumerate(crons)]
    from_s, until_s = MONDAY + past_s, MONDAY + past_s + 7 * 86_400
    slots: dict[tuple[int, int], list[str]] = {}
    for each in jobs:
        for fired_s in agenda_firings(each, from_s, until_s):
            moment = datetime.fromtimestamp(fired_s, UTC)
            minute = moment.hour * 60 + moment.minute
            slots.setdefault((moment.weekday(), minute), []).append(each.identity)
    found = top(jobs, 5, from_s=from_s, weeks=1)
    assert len(found) == min(5, len({minute for _, minute in slots}))
    heights = sorted(
        (max(len(names) for (_, m), names in slots.items() if m == minute))
        for minute in {minute for _, minute in slots}
    )
    assert [busy.most for busy in found] == heights[::-1][:5]
    for busy in found:
        assert set(busy.identities) == set(slots[busy.weekday, busy.minute])
        assert busy.firings == sum(len(n) for (_, m), n in slots.items() if m == busy.minute)


def test_progress_is_told_of_every_job() -> None:
    told: list[int] = []
    jobs = [job("0 3 * * *", "a"), job("0 4 * * *", "b")]
    tally = count_firings(jobs, MONDAY, 1, by_minute=True)
    busiest(jobs, tally, 1, progress=lambda: told.append(1))
    assert len(told) == 2
