from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kron.kube.client.errors import ApiError, no_answer, refusal
from kron.kube.operator.create_verdict import Verdict, judge, reason_word
from tests.soak import examples


def answered(status: int, reason: str = "", message: str = "no") -> ApiError:
    """The error of an answer as API servers write it."""
    body = {"kind": "Status", "code": status, "reason": reason, "message": message}
    return refusal("create jobs", status, json.dumps(body).encode(), is_write=True)


QUOTA = (
    'jobs.batch "x" is forbidden: exceeded quota: none, requested: count/jobs.batch=1, '
    "used: count/jobs.batch=0, limited: count/jobs.batch=0"
)
TERMINATING = (
    'jobs.batch "x" is forbidden: unable to create new content in namespace n because it is being '
    "terminated"
)
DENIED = 'admission webhook "a.b.c" denied the request: not on Sundays'
POLICY = "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: not on Sundays"
UNASKED = (
    'Internal error occurred: failed calling webhook "a.b.c": failed to call webhook: '
    "connect: connection refused"
)
RIGHTS = 'jobs.batch is forbidden: User "u" cannot create resource "jobs" in API group "batch"'


@pytest.mark.parametrize(
    ("error", "answer", "word"),
    [
        pytest.param(
            answered(409, "AlreadyExists"), Verdict.EXISTS, "AlreadyExists", id="it is there"
        ),
        pytest.param(answered(409, "Conflict"), Verdict.AGAIN, "Conflict", id="a race in a quota"),
        pytest.param(answered(403, "Forbidden", QUOTA), Verdict.AGAIN, "QuotaExceeded", id="quota"),
        pytest.param(
            answered(403, "Forbidden", RIGHTS), Verdict.AGAIN, "Forbidden", id="no rights"
        ),
        pytest.param(answered(401, "Unauthorized"), Verdict.AGAIN, "Unauthorized", id="token"),
        pytest.param(
            answered(403, "Forbidden", TERMINATING),
            Verdict.NEVER,
            "NamespaceTerminating",
            id="a namespace that goes",
        ),
        pytest.param(answered(404, "NotFound"), Verdict.NEVER, "NotFound", id="no namespace"),
        pytest.param(
            answered(422, "Invalid"), Verdict.NEVER, "InvalidTemplate", id="an invalid template"
        ),
        pytest.param(answered(400, "BadRequest"), Verdict.NEVER, "InvalidTemplate", id="a bad one"),
        pytest.param(
            answered(413, "RequestEntityTooLarge"),
            Verdict.NEVER,
            "InvalidTemplate",
            id="too large",
        ),
        pytest.param(answered(400, "", DENIED), Verdict.NEVER, "Denied", id="a webhook, as 400"),
        pytest.param(
            answered(403, "Forbidden", DENIED), Verdict.NEVER, "Denied", id="a webhook, as 403"
        ),
        pytest.param(
            answered(403, "Forbidden", POLICY), Verdict.NEVER, "Denied", id="an admission policy"
        ),
        pytest.param(
            answered(500, "InternalError", UNASKED),
            Verdict.AGAIN,
            "InternalError",
            id="a webhook that cannot be asked",
        ),
        pytest.param(
            answered(429, "TooManyRequests"), Verdict.AGAIN, "TooManyRequests", id="too many"
        ),
        pytest.param(answered(500, "InternalError"), Verdict.AGAIN, "InternalError", id="a fault"),
        pytest.param(answered(503, "ServiceUnavailable"), Verdict.AGAIN, "ServiceUnavailable"),
        pytest.param(answered(504, "Timeout"), Verdict.AGAIN, "Timeout", id="it took too long"),
        pytest.param(
            no_answer("create jobs", "cut", is_sent=True), Verdict.AGAIN, "Unreachable", id="cut"
        ),
        pytest.param(
            refusal(
                "create jobs", 404, b"<h1>default backend</h1>", retry_after=None, is_write=True
            ),
            Verdict.AGAIN,
            "Refused",
            id="a load balancer's page",
        ),
        pytest.param(answered(418, "Not A Word!"), Verdict.AGAIN, "Refused", id="nonsense"),
    ],
)
def test_an_answer_is_final_only_if_the_api_server_would_give_it_again(
    error: ApiError, answer: Verdict, word: str
) -> None:
    assert (judge(error), reason_word(error)) == (answer, word)


@examples(300)
@given(st.integers(0, 599), st.text(max_size=20), st.text(max_size=60))
def test_whatever_is_answered_is_judged_and_its_word_is_one_that_a_condition_may_have(
    status: int, reason: str, message: str
) -> None:
    error = answered(status, reason, message)
    assert judge(error) in Verdict
    word = reason_word(error)
    assert re.fullmatch("[A-Za-z]+", word)
