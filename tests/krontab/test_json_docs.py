"""docs/json.md says what the commands print, and names every schema and exit code."""

from __future__ import annotations

import json
import re

import pytest

from kron.krontab.program import EXIT_CODES
from tests.krontab.command import Krontab
from tests.krontab.json_page import PAGE, examples, output, prepare
from tests.krontab.schemas import names, validate

TEXT = PAGE.read_text(encoding="utf-8")
EXAMPLES = examples(TEXT)
LONG = {
    "krontab.heatmap/1",
    "krontab.fuzzy.compile/1",
    "krontab.fuzzy.conformance/1",
    "kronctl.explain/1",
}
"""Documents too long for an example here."""
UNREPEATABLE = {
    "krond.status/1",
    "krond.history/1",
    "krond.check/1",
    "kronctl.suspend/1",
    "kronctl.resume/1",
    "kronctl.trigger/1",
    "kronctl.doctor/1",
}
"""Those whose example cannot be printed again: it has a process id in it, or needs a cluster."""
_BLOCK = re.MULTILINE | re.DOTALL


@pytest.mark.parametrize(
    ("command", "shown"), EXAMPLES, ids=[" ".join(c.split()[1:3]) for c, _ in EXAMPLES]
)
def test_an_example_is_what_the_command_prints(krontab: Krontab, command: str, shown: str) -> None:
    prepare(krontab, TEXT)
    assert output(krontab, command) == shown, "python -m tests.krontab.json_page writes it anew"
    validate(json.loads(shown))


def test_every_schema_has_a_section_a_link_and_an_example() -> None:
    sections = re.findall(r"^### `(.+)`$", TEXT, re.MULTILINE)
    assert sorted(sections) == names()
    for name in names():
        assert f"(schemas/{name.replace('/', '.')}.json)" in TEXT
    shown = [json.loads(block) for block in re.findall(r"^```json\n(.*?)^```$", TEXT, _BLOCK)]
    for document in shown:
        validate(document)
    assert {document["schema"] for document in shown} == set(names()) - LONG
    exemplified = {json.loads(block)["schema"] for _, block in EXAMPLES}
    assert exemplified == set(names()) - LONG - UNREPEATABLE


def test_the_exit_codes_are_those_of_the_program() -> None:
    rows = re.findall(r"^\| (\d) \| (.+) \|$", TEXT, re.MULTILINE)
    assert {int(code): meaning for code, meaning in rows} == EXIT_CODES
