"""Writes the schema of a Job of batch/v1 that the package ships, from what an API server publishes:
the types of fields, their choices and which are required, and nothing else.

    kubectl get --raw /openapi/v3/apis/batch/v1 | python -m tools.job_schema 1.35

tests/cluster/test_job_schema.py fails when the control plane of the tests publishes another one.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from kron.kube.api_object import Object

ROOT = Path(__file__).parent.parent
SHIPPED = ROOT / "src" / "kron" / "kube" / "resource" / "schema" / "job.json"
_FIRST = "JobSpec"
_KEPT = ("type", "enum", "items", "properties", "additionalProperties", "required")
_NUMBER_OR_TEXT = {"Quantity": "number-or-string", "IntOrString": "integer-or-string"}
"""Kubernetes has two types of which a value is one thing or another."""


def text(published: Object, version: str) -> str:
    """The file, from the OpenAPI document of batch/v1 and the version of Kubernetes: `1.35`."""
    schemas = {_short(name): schema for name, schema in published["components"]["schemas"].items()}
    found: dict[str, Object] = {}
    _collect(_FIRST, schemas, found)
    lines = [f"{json.dumps(name)}:{_compact(found[name])}" for name in sorted(found)]
    joined = ",\n".join(lines)
    return f'{{"kubernetes":{json.dumps(version)},"schemas":{{\n{joined}\n}}}}\n'


def _collect(name: str, schemas: dict[str, Object], found: dict[str, Object]) -> None:
    """Add the trimmed schema of this name, and of all that it refers to."""
    if name in found:
        return
    found[name] = {}
    found[name] = _trimmed(schemas[name], schemas, found)


def _trimmed(schema: Object, schemas: dict[str, Object], found: dict[str, Object]) -> Object:
    for target in (schema, *schema.get("allOf", ())):
        if "$ref" in target:
            name = _short(target["$ref"].rpartition("/")[2])
            if name in _NUMBER_OR_TEXT:
                return {"type": _NUMBER_OR_TEXT[name]}
            _collect(name, schemas, found)
            return {"ref": name}
    trimmed = {key: schema[key] for key in _KEPT if key in schema}
    for key in ("items", "additionalProperties"):
        if key in trimmed:
            trimmed[key] = _trimmed(trimmed[key], schemas, found)
    if "properties" in trimmed:
        below = trimmed["properties"].items()
        trimmed["properties"] = {name: _trimmed(each, schemas, found) for name, each in below}
    return trimmed


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def _compact(schema: Object) -> str:
    return json.dumps(schema, separators=(",", ":"), sort_keys=True)


if __name__ == "__main__":
    SHIPPED.write_text(text(json.load(sys.stdin), sys.argv[1]), encoding="utf-8")
