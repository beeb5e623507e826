"""Warnings about fields that have no effect without another one."""

from __future__ import annotations

import pytest

from kron.jobs.document import read_document
from kron.jobs.finding import Finding
from kron.lint import Advice, advise
from tests.lint.linted import NOW

JOB = "7 2 * * * @win(after,2h) command=x"


def findings(*lines: str) -> list[Finding]:
    document = read_document("\n".join(lines).encode(), "/jobs.kron")
    assert not document.findings
    return list(advise([document], now=NOW, host=None))


def warnings(*lines: str) -> list[tuple[str, int, str]]:
    return [(each.code, each.line, each.text[each.start : each.end]) for each in findings(*lines)]


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


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ([f"{JOB} name=a retry_delay=1m retries=0"], ": retries is 0"),
        (["defaults: retries=0", f"{JOB} name=a retry_delay=1m"], ": retries is 0"),
        (["defaults: retries=3", f"{JOB} name=a retry_delay=1m retries=0"], ": retries is 0"),
        (
            ["defaults: retries=3 retry_delay=1m", f"{JOB} name=a retries=0"],
            ": retries is 0 in every job with these defaults",
        ),
        (
            ["defaults: retry_delay=1m", f"{JOB} name=a", f"{JOB} name=b retries=0"],
            ": retries is 0 in every job with these defaults",
        ),
    ],
)
def test_it_is_said_if_the_other_field_is_there_and_is_0(lines: list[str], why: str) -> None:
    found = findings(*lines)
    (finding,) = (each for each in found if each.code == Advice.RETRIES_MISSING)
    assert finding.message == f"retry_delay has no effect{why}"
    assert finding.fix == "raise retries, or remove retry_delay"
    assert finding.text[finding.start : finding.end] == "retry_delay=1m"


def test_a_field_that_is_not_there_is_to_be_added() -> None:
    (finding,) = findings(f"{JOB} name=a retry_delay=1m")
    assert finding.message == "retry_delay has no effect without retries"
    assert finding.fix == "add retries=3, or remove retry_delay"


def test_another_field_with_the_same_words_in_it_is_no_such_field() -> None:
    assert warnings(f'{JOB} name=a description="retry_delay=1m mail_on=output"') == []
