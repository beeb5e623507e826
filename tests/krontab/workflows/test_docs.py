"""docs/fuzzy-compile.md says what the command does."""

from __future__ import annotations

from kron.krontab.workflows.source import MOST_NODES, WorkflowCode
from kron.yaml_text.tree import DEEPEST
from tests.krontab.workflows.clone import Clone
from tests.test_docs import blocks, page, rows

PAGE = page("fuzzy-compile.md")
NAME = ".github/workflows/report.yml"


def test_the_example_is_what_comes_out(clone: Clone) -> None:
    (before,) = blocks(PAGE, "yaml")
    (shown,) = blocks(PAGE, "diff")
    clone.write(NAME, before)
    assert clone.compile(".github").out.startswith(shown)


def test_every_code_is_documented_and_no_other() -> None:
    table = rows(
        PAGE.split("These are about workflow files only:")[1].join(["\n## x\n", ""]), "## x"
    )
    assert [row[0].strip("`") for row in table] == list(WorkflowCode)


def test_every_form_in_the_table_compiles(clone: Clone) -> None:
    for form, what in rows(PAGE, "## What is read"):
        entry = form.strip("`")
        text = (
            f"on:\n  {entry}\n"
            if entry.startswith("schedule")
            else f"on:\n  schedule:\n  {entry}\n"
        )
        after = clone.compiled("w.yml", text)
        assert (after == text) is what.startswith("plain cron")


def test_the_limits_are_those_of_the_code() -> None:
    assert f"{MOST_NODES:,} nodes, and {DEEPEST} levels" in PAGE
