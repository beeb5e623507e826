"""What the pages say of the operator is what its code does: the reasons of Events, and numbers."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import kron.kube.operator
from kron.engine.actions import Outcome
from kron.kube.operator import create_verdict
from kron.kube.operator.condition import INVALID_SPEC, NEWER_STATUS
from kron.kube.operator.event_sender import A_SECOND, BURST, MOST_WAITING
from kron.kube.operator.settings import OperatorSettings
from kron.kube.resource.run import run_manifest
from tests.kube.operator.made import T0, intent, kronjob
from tests.test_docs import page, rows

SOURCES = sorted(Path(kron.kube.operator.__file__).parent.glob("*.py"))
SETTINGS = OperatorSettings("a", "kron-system")
WRITTEN_ELSEWHERE = {"INVALID_SPEC", "outcome.value.capitalize()", "reason", "trouble.reason"}
"""What the calls have that send Events, where they do not write a reason out."""


def arguments(function: str, place: int) -> Iterator[ast.expr]:
    """That argument of all calls of a function or method, in all of the operator."""
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and len(node.args) > place:
                called = node.func
                name = called.attr if isinstance(called, ast.Attribute) else ast.unparse(called)
                if name == function:
                    yield node.args[place]


def constants(found: Iterator[ast.expr]) -> set[str]:
    return {str(each.value) for each in found if isinstance(each, ast.Constant)}


def words_for_answers() -> set[str]:
    """What `reason_word` makes of answers, but for the API server's own words."""
    body = ast.walk(ast.parse(inspect.getsource(create_verdict.reason_word)))
    returned = [node for each in body if isinstance(each, ast.Return) for node in ast.walk(each)]
    names = {node.id for node in returned if isinstance(node, ast.Name)}
    named = {str(getattr(create_verdict, name)) for name in names if name.isupper()}
    return named | constants(node for node in returned if isinstance(node, ast.expr))


def test_every_reason_of_an_event_is_documented_and_no_other() -> None:
    said = list(arguments("say", 2))
    others = {ast.unparse(each) for each in said if not isinstance(each, ast.Constant)}
    assert others == WRITTEN_ELSEWHERE
    ends = {outcome.value.capitalize() for outcome in Outcome if outcome is not Outcome.EXECUTED}
    troubles = constants(arguments("Trouble", 0)) | words_for_answers()
    reasons = constants(iter(said)) | ends | troubles | {INVALID_SPEC, "Suspended", "Resumed"}
    assert {"JobCreated", "NotReplaced", "Denied", "Refused"} < reasons
    documented = [
        word for row in rows(page("kronjob.md"), "### Events") for word in row[0].split(", ")
    ]
    own = "the API server's own reason"
    assert sorted(documented) == sorted([own, *(f"`{reason}`" for reason in reasons)])


def test_the_documented_time_that_a_finished_job_stays_is_the_one_of_the_defaults() -> None:
    pod = {"restartPolicy": "Never", "containers": [{"name": "run", "image": "none"}]}
    job_spec = {"ttlSecondsAfterFinished": 1, "template": {"spec": pod}}
    made = kronjob(jobTemplate={"spec": job_spec})
    job = run_manifest(made, intent(T0), SETTINGS.slack_s + SETTINGS.dead_s)
    stays_s = job["spec"]["ttlSecondsAfterFinished"]
    for name in ("kronjob.md", "migrate-cronjobs.md"):
        assert re.findall(r"\b(\d+) s plus the deadline", page(name)) == [str(stays_s)]


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(
            f"more than {MOST_WAITING:,} waited (it sends {A_SECOND} a second, bursts of {BURST})",
            id="Events",
        ),
        pytest.param(f"(`--lease-duration`, {SETTINGS.lease_duration_s} s)", id="lease"),
        pytest.param(f"for two thirds of its duration ({SETTINGS.act_s:g} s)", id="acting"),
        pytest.param(f"a third of the lease ({SETTINGS.creation_s:g} s)", id="silent"),
        pytest.param(f"with the reason `{NEWER_STATUS}`", id="newer"),
    ],
)
def test_a_number_of_the_operator_is_documented_as_it_is(words: str) -> None:
    assert words in " ".join(page("operator.md").split())
