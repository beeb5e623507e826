"""Results: a set that keeps the newest ten, however often and in whatever order they come."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kron.kube.resource.results import (
    LONGEST_MESSAGE,
    LONGEST_REASON,
    MOST_RECENT,
    RunResult,
    RunResults,
    results_from_json,
    results_to_json,
)
from kron.kube.resource.schema.definition import root_schema
from tests.soak import examples

FIELDS = root_schema()["properties"]["status"]["properties"]


def result(number: int, at_s: int = 0, *, is_failed: bool = False) -> RunResult:
    return RunResult(f"job-{number:02}", "", is_failed, at_s, at_s)


ends = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 9), st.booleans()), max_size=30).map(
    lambda rows: [result(number, at_s, is_failed=failed) for number, at_s, failed in rows]
)


@given(ends, st.randoms())
@examples(100)
def test_the_newest_ten_are_kept_in_whatever_order_they_come(
    ended: list[RunResult], chance: Any
) -> None:
    by_key = {each.key: each for each in ended}
    at_once = RunResults().including(*by_key.values())
    one_by_one = RunResults()
    for each in chance.sample(list(by_key.values()), len(by_key)):
        one_by_one = one_by_one.including(each).including(each)
    assert one_by_one == at_once
    assert [each.key for each in at_once.recent] == sorted(by_key, reverse=True)[:MOST_RECENT]
    assert all(at_once.has(each) for each in by_key.values())
    for is_failed, last_s in ((False, at_once.last_success_s), (True, at_once.last_failure_s)):
        times = [each.finished_s for each in by_key.values() if each.is_failed is is_failed]
        assert last_s == max(times, default=None)


@given(ends, ends)
@examples(100)
def test_what_two_leaders_stored_is_merged(some: list[RunResult], others: list[RunResult]) -> None:
    known = {each.key: each for each in (*others, *some)}.values()
    one = RunResults().including(*(each for each in known if each in some))
    other = RunResults().including(*(each for each in known if each not in some))
    assert one.merged(other) == other.merged(one) == RunResults().including(*known)
    same = one.replace()
    assert one.merged(same) is same  # so that the one before takes no memory


def test_one_that_is_newer_than_the_oldest_of_ten_is_not_among_them() -> None:
    full = RunResults().including(*(result(number, 10 + number) for number in range(10)))
    assert full.has(result(99, 9))
    assert not full.has(result(99, 10))
    assert not RunResults(recent=full.recent[:-1]).has(result(99, 0))


def test_a_result_is_read_as_it_was_written() -> None:
    failed = RunResult("job", "2026-03-01T00:00:00Z", True, 1_772_323_201, 1_772_323_209, "No", "!")
    results = RunResults(7, None, ()).including(failed, result(1, 5))
    written = results_to_json(results)
    assert written == {
        "lastSuccessfulTime": "1970-01-01T00:00:07Z",
        "lastFailureTime": "2026-03-01T00:00:09Z",
        "recentRuns": [
            {
                "name": "job",
                "periodID": "2026-03-01T00:00:00Z",
                "result": "Failed",
                "startTime": "2026-03-01T00:00:01Z",
                "completionTime": "2026-03-01T00:00:09Z",
                "reason": "No",
                "message": "!",
            },
            {
                "name": "job-01",
                "result": "Succeeded",
                "startTime": "1970-01-01T00:00:05Z",
                "completionTime": "1970-01-01T00:00:05Z",
            },
        ],
    }
    assert results_from_json(written) == results


@pytest.mark.parametrize(
    "odd",
    [
        {"name": ""},
        {"result": "Perhaps"},
        {"completionTime": "soon"},
        {"completionTime": None},
        {"result": 1},
    ],
)
def test_one_that_does_not_read_is_left_out_and_the_others_stay_in_order(
    odd: dict[str, Any],
) -> None:
    good = {"name": "a", "result": "Failed", "completionTime": "2026-03-01T00:00:00Z"}
    later = {**good, "completionTime": "2026-03-02T00:00:00Z"}
    read = results_from_json({"recentRuns": [good, good | odd, "text", later]})
    assert [each.key for each in read.recent] == [(1_772_409_600, "a"), (1_772_323_200, "a")]
    assert read.recent[1].started_s == read.recent[1].finished_s
    assert results_from_json({"recentRuns": odd, "lastFailureTime": odd}) == RunResults()


def test_the_bounds_are_those_of_the_definition() -> None:
    assert FIELDS["recentRuns"]["maxItems"] == MOST_RECENT
    fields = FIELDS["recentRuns"]["items"]["properties"]
    assert fields["reason"]["maxLength"] == LONGEST_REASON
    assert fields["message"]["maxLength"] == LONGEST_MESSAGE
