"""Warnings about fields that have no effect without another one."""

from __future__ import annotations

import pytest

from kron.jobs.document import read_document
from kron.lint import Advice, advise
from tests.lint.linted import NOW

JOB = "7 2 * * * @win(after,2h) command=x"


def warnings(*lines: str) -> list[tuple[str, int, str]]:
    document = read_document("\n".join(lines).encode(), "/jobs.kron")
    assert not document.findings
    return [
        (each.code, each.line, each.text[each.start : each.end])
        for each in advise([document], now=NOW, host=None)
    ]


@pytest.mark.parametrize(
    ("field", "needed", "advice"),
    [
        ("retry_delay=1m", "retries=2", Advice.RETRIES_MISSING),
        ("retry_within=1h", "retries=2", Advice.RETRIES_MISSING),
        ("mail_on=output", "mail=ops", Advice.MAIL_MISSING),
        ("mail_from=krond", "mail=ops", Advice.MAIL_MISSING),
    ],
)
def test_a_field_that_has_no_effect_without_another_one_is_warned_of(
    field: str, needed: str, advice: Advice
) -> None:
    assert warnings(f"{JOB} name=a {field}") == [(advice, 1, field)]
    assert warnings(f"{JOB} name=a {field} {needed}") == []
    assert warnings(f"defaults: {needed}", f"{JOB} name=a {field}") == []
    assert warnings(f"defaults: {field}", f"{JOB} name=a", f"{JOB} name=b {needed}") == []
    assert warnings(f"defaults: {field}", f"{JOB} name=a", f"{JOB} name=b") == [(advice, 1, field)]


def test_no_retries_are_none() -> None:
    job = f"{JOB} name=a retry_delay=1m retries=0"
    assert warnings(job) == [(Advice.RETRIES_MISSING, 1, "retry_delay=1m")]


def test_another_field_with_the_same_words_in_it_is_no_such_field() -> None:
    assert warnings(f'{JOB} name=a description="retry_delay=1m mail_on=output"') == []
