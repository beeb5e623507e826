"""The published schemas: complete, strict, and named by what prints them.

That every JSON answer keeps to its schema is checked in `command`, wherever a test runs krontab,
and in tests/krond/test_commands.py for krond.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

import kron
from kron.console.program import Program
from kron.krond.program import KROND
from kron.krontab.program import KRONTAB
from kron.kube.kronctl.program import KRONCTL
from tests.krontab.command import AT, Krontab
from tests.krontab.files import GOOD
from tests.krontab.schemas import DIRECTORY, names, schema, validate

SOURCE = Path(next(iter(kron.__path__)))
PROGRAMS = (KRONTAB, KROND, KRONCTL)
SHARED = {"add": "edit", "remove": "edit"}
"""Commands whose answers have one form."""


def parts(schema: Any, place: str = "#") -> Iterator[tuple[str, Any]]:
    """Every schema within a schema, with its place."""
    yield place, schema
    for key in ("properties", "$defs"):
        for name, part in schema.get(key, {}).items():
            yield from parts(part, f"{place}/{key}/{name}")
    for key in ("items",):
        if key in schema:
            yield from parts(schema[key], f"{place}/{key}")
    for key in ("anyOf",):
        for number, part in enumerate(schema.get(key, ())):
            yield from parts(part, f"{place}/{key}/{number}")


@pytest.mark.parametrize("name", names())
def test_it_is_a_schema_of_draft_2020_12_with_its_own_name(name: str) -> None:
    document = schema(name)
    Draft202012Validator.check_schema(document)
    assert document["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert document["properties"]["schema"]["const"] == name
    assert document["$id"] == f"urn:kron:{name.replace('/', ':')}"
    assert (DIRECTORY / f"{name.replace('/', '.')}.json").is_file()


@pytest.mark.parametrize("name", names())
def test_every_object_is_closed_and_every_property_described(name: str) -> None:
    objects = [part for _, part in parts(schema(name)) if part.get("type") == "object"]
    assert objects
    for part in objects:
        assert part["additionalProperties"] is False
        assert sorted(part["required"]) == sorted(part["properties"])
        for described in part["properties"].values():
            assert described["description"].endswith(".")


@pytest.mark.parametrize("name", names())
def test_every_definition_is_used(name: str) -> None:
    document = schema(name)
    used = set(re.findall(r"'#/\$defs/(\w+)'", str(document)))
    assert used == set(document.get("$defs", {}))


def test_every_command_that_prints_json_has_a_schema() -> None:
    def prints_json(program: Program, name: str) -> bool:
        formats = [a.choices for a in program.parser(name)._actions if a.dest == "format"]
        return any("json" in choices for choices in formats if choices)

    printing = {
        f"{program.name}.{SHARED.get(name, name).replace(' ', '.')}/1"
        for program in PROGRAMS
        for name in program.commands
        if prints_json(program, name)
    }
    assert printing == set(names())


def test_every_name_in_the_source_is_a_schema() -> None:
    found = {
        name
        for path in SOURCE.rglob("*.py")
        for name in re.findall(r'(?:"schema": |schema=)"([^"]+)"', path.read_text())
    }
    assert found == set(names())


def test_a_document_that_says_more_or_less_is_refused(krontab: Krontab) -> None:
    """The check that every test relies on can fail."""
    krontab.write("good.kron", GOOD)
    document = krontab("next", "backup", "--file", "good.kron", "--at", AT, "--format", "json").json
    validate(document)
    for changed in (
        document | {"new": 1},
        {key: value for key, value in document.items() if key != "runs"},
        document | {"at": "2026-03-01T00:00:00"},
        document | {"runs": [document["runs"][0] | {"in_seconds": "3"}]},
        document | {"runs": [document["runs"][0] | {"chosen": ""}]},
    ):
        with pytest.raises(ValidationError):
            validate(changed)


def test_json_is_one_document_in_utf8_with_a_last_line_end(krontab: Krontab) -> None:
    line = '0 0 * * * name=tea command=/bin/true description="Tee für zwei 茶 🫖"\n'
    krontab.write("tea.kron", line)
    out = krontab.process("list", "--file", "tea.kron", "--at", AT, "--format", "json").fine().out
    assert "Tee für zwei 茶 🫖" in out
    assert out == json.dumps(json.loads(out), indent=2, ensure_ascii=False) + "\n"
