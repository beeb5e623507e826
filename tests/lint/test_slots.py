"""Warnings about slots."""

from __future__ import annotations

from kron.jobs.document import read_document
from kron.lint import Advice, advise
from tests.lint.linted import NOW

JOB = "7 2 * * * @win(after,2h)"


def warnings(*files: str) -> list[tuple[str, str, int, str]]:
    documents = [
        read_document(text.encode(), f"/{number}.kron") for number, text in enumerate(files)
    ]
    return [
        (each.code, each.path, each.line, each.text[each.start : each.end])
        for each in advise(documents, now=NOW, host=None)
    ]


def test_a_job_that_waits_for_a_slot_without_a_deadline_is_warned_of() -> None:
    defaults = f"slots: a=1\ndefaults: slots=a\n{JOB} name=a command=x\n"
    found = warnings(f"{defaults}{JOB} @policy(deadline=1h) name=b command=x")
    assert found == [(Advice.SLOTS_DEADLINE, "/0.kron", 3, "7 2 * * *")]


def test_a_slot_that_no_file_uses_is_warned_of() -> None:
    used = f"{JOB} @policy(deadline=1h) name=a command=x slots=a"
    assert warnings("slots: a=1 b=2", used) == [(Advice.SLOTS_UNUSED, "/0.kron", 1, "b=2")]
