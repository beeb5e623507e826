"""What follows from the error of a request, whatever the request was."""

from __future__ import annotations

from itertools import pairwise

import pytest

from kron.kube.client.errors import (
    FIRST_RETRY_S,
    LONGEST_RETRY_S,
    ApiError,
    is_gone,
    no_answer,
    refusal,
    retry_delay_s,
)


@pytest.mark.parametrize(
    ("error", "gone"),
    [
        pytest.param(refusal("get jobs", 404, {"reason": "NotFound"}), True, id="not found"),
        pytest.param(refusal("get jobs", 404, b"<h1>404</h1>"), False, id="a load balancer's page"),
        pytest.param(refusal("get jobs", 410, {"reason": "Gone"}), False, id="an old version"),
        pytest.param(no_answer("get jobs", "cut", is_sent=True), False, id="no answer"),
    ],
)
def test_only_the_api_server_can_say_that_an_object_is_gone(error: ApiError, gone: bool) -> None:
    assert is_gone(error) is gone


def test_waits_grow_to_their_longest_and_stay_there() -> None:
    error = refusal("get jobs", 503, {})
    waits_s = [retry_delay_s(error, tries) for tries in (*range(20), 10**6)]
    assert waits_s[0] == FIRST_RETRY_S
    assert waits_s[-1] == LONGEST_RETRY_S
    assert all(late == min(2 * early, LONGEST_RETRY_S) for early, late in pairwise(waits_s))


@pytest.mark.parametrize(
    ("retry_after", "tries", "wait_s"),
    [
        pytest.param("7", 0, 7.0, id="longer than ours"),
        pytest.param("0", 0, FIRST_RETRY_S, id="at once is not asked for in vain"),
        pytest.param("1", 20, LONGEST_RETRY_S, id="shorter than ours"),
        pytest.param("soon", 0, FIRST_RETRY_S, id="nonsense"),
        pytest.param(None, 0, FIRST_RETRY_S, id="not said"),
    ],
)
def test_a_server_may_ask_for_a_longer_wait_and_never_for_a_shorter_one(
    retry_after: str | None, tries: int, wait_s: float
) -> None:
    error = refusal("get jobs", 429, {}, retry_after=retry_after)
    assert retry_delay_s(error, tries) == wait_s
