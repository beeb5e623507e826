"""Which finished Jobs are beyond the limits."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kron.kube.operator.job_cleanup import surplus
from tests.kube.operator.made import HOUR_S, T0, finished, intent, kronjob, ledger, member, run
from tests.soak import examples


def names(*limits: int, jobs: list[tuple[str, int, bool]]) -> list[str]:
    made = member(*(finished(name, at_s, is_failed=failed) for name, at_s, failed in jobs))
    successful, failed = limits
    made.kronjob = kronjob(successfulJobsHistoryLimit=successful, failedJobsHistoryLimit=failed)
    return [each.name for each in surplus(made)]


def test_the_oldest_of_each_kind_go_first() -> None:
    jobs = [("s2", T0 + 2, False), ("s1", T0 + 1, False), ("s3", T0 + 3, False)]
    jobs += [("f2", T0 + 2, True), ("f1", T0 + 1, True)]
    assert names(3, 2, jobs=jobs) == []
    assert names(1, 1, jobs=jobs) == ["s1", "s2", "f1"]
    assert names(0, 2, jobs=jobs) == ["s1", "s2", "s3"]
    assert names(0, 0, jobs=jobs) == ["s1", "s2", "s3", "f1", "f2"]


def test_of_those_that_finished_together_the_first_made_goes_first() -> None:
    made = member(
        finished("a", T0, created_s=T0 - 1),
        finished("c", T0, created_s=T0 - 2),
        finished("b", T0, created_s=T0 - 2),
    )
    made.kronjob = kronjob(successfulJobsHistoryLimit=1)
    assert [each.name for each in surplus(made)] == ["b", "c"]


def test_what_is_active_going_or_anothers_is_left_alone() -> None:
    made = member(
        run("active"),
        finished("going", T0, is_deleting=True),
        finished("theirs", T0, owner_uid="u2"),
    )
    made.kronjob = kronjob(successfulJobsHistoryLimit=0, failedJobsHistoryLimit=0)
    assert surplus(made) == []


def test_a_job_is_kept_until_the_stored_ledger_has_its_period() -> None:
    job = finished("job", T0 + 9, T0)
    made = member(job, known=ledger(T0))
    made.kronjob = kronjob(successfulJobsHistoryLimit=0)
    assert surplus(made) == []  # our own ledger could still be lost
    made = member(job, known=ledger(T0), stored=ledger(T0 + HOUR_S))
    made.kronjob = kronjob(successfulJobsHistoryLimit=0)
    assert surplus(made) == []
    made = member(job, known=ledger(T0), stored=ledger(T0, starting=(intent(T0),)))
    made.kronjob = kronjob(successfulJobsHistoryLimit=0)
    assert surplus(made) == []  # without the Job, the next leader would start it
    made = member(job, known=ledger(T0), stored=ledger(through_s=T0))
    made.kronjob = kronjob(successfulJobsHistoryLimit=0)
    assert surplus(made) == [job]


def test_a_job_is_kept_until_the_stored_status_has_its_result() -> None:
    jobs = finished("period", T0 + 9, T0), finished("by-hand", T0 + 9)
    made = member(*jobs, stored=ledger(T0), recorded=False)
    made.kronjob = kronjob(successfulJobsHistoryLimit=0)
    made.results = made.results.including(*(job.result for job in jobs if job.result))
    assert surplus(made) == []  # our own results could still be lost
    made.stored = made.stored.replace(results=made.results)
    assert surplus(made) == [jobs[1], jobs[0]]


def test_nothing_is_deleted_while_the_spec_is_invalid() -> None:
    made = member(*(finished(f"job-{number}", T0) for number in range(9)))
    made.kronjob = None
    assert surplus(made) == []


@given(
    st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=12),
    st.integers(0, 4),
    st.integers(0, 4),
)
@examples(100)
def test_as_many_stay_as_the_limits_say_and_they_are_the_newest(
    ends: list[tuple[int, bool]], successful: int, failed: int
) -> None:
    jobs = [(f"j{number:02}", T0 + at, fails) for number, (at, fails) in enumerate(ends)]
    gone = set(names(successful, failed, jobs=jobs))
    for kind, limit in ((False, successful), (True, failed)):
        of_kind = [job for job in jobs if job[2] is kind]
        kept = [job for job in of_kind if job[0] not in gone]
        assert len(kept) == min(limit, len(of_kind))
        oldest_kept_s = min((at_s for _, at_s, _ in kept), default=T0 + 9)
        assert all(at_s <= oldest_kept_s for name, at_s, _ in of_kind if name in gone)
