"""The order of events, and the checker that finds lines in the wrong place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kron.logs import Component, Level, Record
from kron.logs.ordering import violations
from tests.core.schedules import schedule_texts
from tests.logs.records import decided
from tests.soak import examples


def events(words: str) -> list[tuple[int, Record]]:
    """`decision trigger@b`: the events of a job, with another job or period after the `@`."""
    lines = []
    for number, word in enumerate(words.split(), 1):
        event, _, job = word.partition("@")
        name, _, period = job.partition("/")
        fields = (("namespace", "n"), ("name", name or "a"), ("period", period or "p"))
        lines.append((number, Record(0, Level.INFO, Component.SEED, event, fields)))
    return lines


DEBUG = "seed_computed sample constraint_reject sample decision"


@pytest.mark.parametrize(
    "words",
    [
        pytest.param("decision trigger job_created", id="executed-in-kubernetes"),
        pytest.param("decision trigger started exited", id="executed-on-a-host"),
        pytest.param("decision trigger skipped_concurrency", id="skipped"),
        pytest.param(f"{DEBUG} trigger started", id="with-draws"),
        pytest.param("seed_computed sample constraint_reject constraint_unsatisfiable", id="none"),
        pytest.param(f"{DEBUG} {DEBUG} trigger started", id="decided-again"),
        pytest.param("decision reschedule decision trigger", id="moved"),
        pytest.param("decision decision@b trigger@b trigger", id="two-jobs"),
        pytest.param("decision decision@a/q trigger@a/q trigger", id="two-periods"),
        pytest.param("decision missed_deadline", id="missed"),
    ],
)
def test_logs_in_order_have_no_violation(words: str) -> None:
    assert list(violations(events(words))) == []


@pytest.mark.parametrize(
    ("words", "line", "rule"),
    [
        pytest.param("trigger decision", 1, "decision must appear before trigger", id="1"),
        pytest.param("decision@b trigger", 2, "decision must appear before", id="1-other-job"),
        pytest.param("decision@a/q trigger", 2, "decision must appear", id="1-other-period"),
        pytest.param(
            "constraint_unsatisfiable trigger", 2, "decision must appear", id="1-unsatisfiable"
        ),
        pytest.param("decision job_created trigger", 2, "trigger must appear before", id="2"),
        pytest.param("decision started", 2, "trigger must appear before", id="2-started"),
        pytest.param("decision skipped_concurrency", 2, "trigger must", id="2-skipped"),
        pytest.param("decision skipped_for_some_reason", 2, "trigger must", id="2-skipped-any"),
        pytest.param(
            "decision constraint_reject trigger", 2, "constraint_reject must appear", id="3"
        ),
        pytest.param("decision constraint_reject", 2, "constraint_reject must", id="3-at-the-end"),
        pytest.param("sample seed_computed decision", 1, "seed_computed must appear", id="4"),
        pytest.param(f"{DEBUG} sample decision", 6, "seed_computed must", id="4-decided-again"),
    ],
)
def test_each_guarantee_is_checked(words: str, line: int, rule: str) -> None:
    (violation,) = violations(events(words))
    assert violation.line == line
    assert violation.rule.startswith(rule)
    assert violation.event == words.split()[line - 1]
    assert str(violation).startswith(f"line {line}: {violation.event} of n a, ")


def test_what_belongs_to_no_period_is_passed_over() -> None:
    manual = Record(
        0, Level.INFO, Component.EXECUTOR, "started", (("namespace", "n"), ("name", "a"))
    )
    reload = Record(0, Level.INFO, Component.CONTROLLER, "reload", (("result", "applied"),))
    assert list(violations([(1, manual), (2, reload)])) == []


@examples(30)
@given(texts=st.lists(schedule_texts(), min_size=1, max_size=4))
def test_decisions_are_logged_in_order(texts: list[str]) -> None:
    made = [
        record
        for number, text in enumerate(texts)
        for record in decided(text, name=f"job-{number}", level=Level.DEBUG)
    ]
    assert list(violations(enumerate(made, 1))) == []
