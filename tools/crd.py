"""Writes what is made from the declared fields of a KronJob: the definition that the API server
gets, deploy/kubernetes/crd.yaml, and the tables of fields in docs/kronjob.md.

Run it with `python -m tools.crd` after a change to a field; a test fails when it is forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import yaml

from kron.kube.resource.schema.definition import definition
from kron.kube.resource.schema.model import FieldType, SchemaField
from kron.kube.resource.schema.spec import SPEC
from kron.kube.resource.schema.status import CONDITIONS, STATUS

ROOT = Path(__file__).parent.parent
CRD = ROOT / "deploy" / "kubernetes" / "crd.yaml"
PAGE = ROOT / "docs" / "kronjob.md"

_HEAD = """\
# The KronJob resource. Made by `python -m tools.crd` from src/kron/kube/resource; do not edit.
# `kron-operator crd` prints the same.
"""
_LINE = 100
_TYPES = {
    FieldType.TEXT: "text",
    FieldType.INTEGER: "whole number",
    FieldType.NUMBER: "number",
    FieldType.SWITCH: "true or false",
    FieldType.OBJECT: "object",
    FieldType.LIST: "list",
    FieldType.MAP: "texts by key",
}


def files() -> dict[Path, str]:
    """Every generated file and what it must hold."""
    return {CRD: crd_yaml(), PAGE: _with_tables(PAGE.read_text(encoding="utf-8"))}


def crd_yaml() -> str:
    """The definition as YAML."""
    text: str = yaml.safe_dump(definition(), sort_keys=False, allow_unicode=True, width=_LINE)
    return _HEAD + text


def _with_tables(page: str) -> str:
    """The page with its tables generated again, each between its two marks."""
    for name, lines in (
        ("spec", _fields("spec", SPEC)),
        ("status", _fields("status", STATUS)),
        ("conditions", _conditions()),
    ):
        begin, end = f"<!-- {name}: made by tools/crd.py -->\n", f"<!-- end of {name} -->"
        head, mark, rest = page.partition(begin)
        _, end_mark, tail = rest.partition(end)
        if not mark or not end_mark:
            raise SystemExit(f"{PAGE} lacks {begin!r} or {end!r}")
        table = "\n".join(lines)
        page = f"{head}{begin}\n{table}\n\n{end}{tail}"
    return page


def _fields(path: str, field: SchemaField) -> Iterator[str]:
    yield "| field | type | meaning |"
    yield "|---|---|---|"
    for member in field.members:
        yield from _rows(f"{path}.{member.name}", member)


def _rows(path: str, field: SchemaField) -> Iterator[str]:
    kind = _TYPES[field.type]
    if field.items is not None:
        kind = f"list of {_TYPES[field.items.type]}s"
    required = ", required" if field.is_required else ""
    meaning = field.description
    if field.choices:
        meaning += f" One of {', '.join(f'`{choice}`' for choice in field.choices)}."
    if field.default is not None:
        meaning += f" Default: `{field.default}`."
    meaning = meaning.replace("|", r"\|")
    yield f"| `{path}` | {kind}{required} | {meaning} |"
    for member in field.members:
        yield from _rows(f"{path}.{member.name}", member)
    if field.items is not None:
        for member in field.items.members:
            yield from _rows(f"{path}[].{member.name}", member)


def _conditions() -> Iterator[str]:
    yield "| condition | when it is True |"
    yield "|---|---|"
    for name, meaning in CONDITIONS.items():
        yield f"| `{name}` | {meaning} |"


if __name__ == "__main__":
    for path, text in files().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
