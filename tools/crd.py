"""Writes what is made from the fields of a KronJob, which tools/kronjob.yaml declares: the
definition that the API server gets, as JSON for the package and as YAML for the manifests and the
chart in deploy/, and the tables of fields in docs/kronjob.md.

Run it with `python -m tools.crd` after a change to a field; a test fails when it is forgotten.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import yaml

from kron.kube.api_object import Object
from kron.kube.resource.schema.rule import Rule
from kron.kube.resource.schema.rules import RULES

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "tools" / "kronjob.yaml"
SHIPPED = ROOT / "src" / "kron" / "kube" / "resource" / "schema" / "definition.json"
CRD = ROOT / "deploy" / "kubernetes" / "crd.yaml"
IN_CHART = ROOT / "deploy" / "chart" / "files" / "crd.yaml"
"""Helm reads nothing outside of a chart."""
PAGE = ROOT / "docs" / "kronjob.md"

_HEAD = """\
# The KronJob resource. Made by `python -m tools.crd` from tools/kronjob.yaml; do not edit.
# `kron-operator crd` prints the same.
"""
_LINE = 100
_JOB_SPEC = "spec.jobTemplate.spec"
_TYPES = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "object": "object",
    "array": "list",
}


def files() -> dict[Path, str]:
    """Every generated file and what it must hold."""
    definition = _definition()
    written = yaml.safe_dump(definition, sort_keys=False, allow_unicode=True, width=_LINE)
    return {
        SHIPPED: json.dumps(definition, indent=2, ensure_ascii=False) + "\n",
        CRD: _HEAD + written,
        IN_CHART: _HEAD + written,
        PAGE: _with_tables(PAGE.read_text(encoding="utf-8"), definition),
    }


def _definition() -> Object:
    """The declared fields with their rules."""
    # Through JSON: an alias in the source is a value of its own in what is made from it.
    definition: Object = json.loads(json.dumps(yaml.safe_load(SOURCE.read_text(encoding="utf-8"))))
    template = _schemas(definition)["spec"]["properties"]["jobTemplate"]["properties"]
    _allow_nulls(template["spec"])
    left = dict(RULES)
    _add_rules("spec", _schemas(definition)["spec"], left)
    if left:
        raise SystemExit(f"{SOURCE} lacks {', '.join(left)}, which have rules")
    return definition


def _schemas(definition: Object) -> dict[str, Object]:
    schemas: dict[str, Object] = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"][
        "properties"
    ]
    return schemas


def _allow_nulls(schema: Object) -> None:
    """Let every field that is not required be null, as in a Job.

    An API server drops the nulls of fields that may not be null, but refuses them in a server-side
    apply.
    """
    for name, below in schema.get("properties", {}).items():
        if name not in schema.get("required", ()):
            below["nullable"] = True
        _allow_nulls(below)
    if "items" in schema:
        _allow_nulls(schema["items"])


def _add_rules(path: str, schema: Object, left: dict[str, tuple[Rule, ...]]) -> None:
    """Add to each field the rules of its path, taken from those that are left."""
    for name, below in schema.get("properties", {}).items():
        _add_rules(f"{path}.{name}", below, left)
    if "items" in schema:
        _add_rules(f"{path}[]", schema["items"], left)
    if path in left:
        schema["x-kubernetes-validations"] = [_validation(rule) for rule in left.pop(path)]


def _validation(rule: Rule) -> dict[str, str]:
    made = {"rule": rule.cel, "message": rule.message}
    return made | {"fieldPath": rule.path} if rule.path else made


def _with_tables(page: str, definition: Object) -> str:
    """The page with its tables generated again, each between its two marks."""
    for name, schema in _schemas(definition).items():
        begin, end = f"<!-- {name}: made by tools/crd.py -->\n", f"<!-- end of {name} -->"
        head, mark, rest = page.partition(begin)
        _, end_mark, tail = rest.partition(end)
        if not mark or not end_mark:
            raise SystemExit(f"{PAGE} lacks {begin!r} or {end!r}")
        table = "\n".join(["| field | type | meaning |", "|---|---|---|", *_rows(name, schema)])
        page = f"{head}{begin}\n{table}\n\n{end}{tail}"
    return page


def _rows(path: str, schema: Object) -> Iterator[str]:
    """A row for each field below this one."""
    for name, below in schema.get("properties", {}).items():
        if any(rule.is_refusal for rule in RULES.get(f"{path}.{name}", ())):
            continue
        required = ", required" if name in schema.get("required", ()) else ""
        meaning = below["description"]
        if "enum" in below:
            meaning += f" One of {', '.join(f'`{choice}`' for choice in below['enum'])}."
        if "default" in below:
            meaning += f" Default: `{below['default']}`."
        meaning = meaning.replace("|", r"\|")
        yield f"| `{path}.{name}` | {_type(below)}{required} | {meaning} |"
        if f"{path}.{name}" == _JOB_SPEC:
            continue  # as in any Job, and `kubectl explain` has it
        yield from _rows(f"{path}.{name}", below)
        yield from _rows(f"{path}.{name}[]", below.get("items", {}))


def _type(schema: Object) -> str:
    if "items" in schema:
        return f"list of {_TYPES[schema['items']['type']]}s"
    if schema.get("format") == "date-time":
        return "time"
    return "texts by key" if "additionalProperties" in schema else _TYPES[schema["type"]]


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")
