"""The CustomResourceDefinition, and the fields of a spec as it declares them.

The package ships it as definition.json. `python -m tools.crd` makes that file from
tools/kronjob.yaml, where the fields are declared, and from the rules in `rules`.
"""

from __future__ import annotations

import json
import os
from enum import StrEnum

from kron.core.frozen import Frozen
from kron.kube.api_object import Object
from kron.kube.resource.schema.rule import Rule
from kron.kube.resource.schema.rules import RULES

GROUP = "kron.io"
VERSION = "v1alpha1"
INSTALL = "kron-operator crd | kubectl apply --server-side --force-conflicts -f -"
"""What installs or updates the definition, whatever has applied it before."""
LONGEST_NAME = 52
"""A Job is called `<name>-<10 hex digits>`, and the name of a Job has at most 63 characters."""
_KEYWORDS = {
    "additionalProperties",
    "default",
    "description",
    "enum",
    "exclusiveMinimum",
    "items",
    "maxItems",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "nullable",
    "properties",
    "required",
    "type",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
}
"""What `read_field` reads, and what only the API server needs."""
_ANY_TEXT = {"type": "string"}


class FieldType(StrEnum):
    """The type of a field's value, in the words of JSON Schema."""

    TEXT = "string"
    INTEGER = "integer"
    NUMBER = "number"
    SWITCH = "boolean"
    OBJECT = "object"
    LIST = "array"
    MAP = "map"
    """An object whose keys are the user's and whose values are text, or else as `items` says."""
    INTEGER_OR_TEXT = "integer-or-string"
    """A port by its number or its name, a count or a percentage."""
    NUMBER_OR_TEXT = "number-or-string"
    """A quantity, such as 1.5 or 512Mi."""


class SchemaField(Frozen):
    """One field and everything that a value of it has to fulfil."""

    type: FieldType
    name: str
    is_required: bool = False
    choices: tuple[str, ...] = ()
    may_be_empty: bool = False
    """Whether an empty text counts as absent, although it is not one of the choices."""
    shortest: int = 0
    """The fewest characters or items."""
    longest: int | None = None
    """The most characters or items."""
    least: int | None = None
    most: int | None = None
    above: int | None = None
    """The value is more than this."""
    rules: tuple[Rule, ...] = ()
    members: tuple[SchemaField, ...] = ()
    items: SchemaField | None = None
    is_open: bool = False
    """Whether undeclared members are kept."""
    may_be_null: bool = False
    """For an item of a list. A member that is null counts as absent anyway."""

    @property
    def is_refused(self) -> bool:
        """Whether it is declared only to be refused."""
        return any(rule.is_refusal for rule in self.rules)


def definition() -> Object:
    path = os.path.join(os.path.dirname(__file__), "definition.json")  # noqa: PTH118,PTH120
    with open(path, "rb") as file:  # noqa: PTH123 (kronctl starts without pathlib)
        found: Object = json.load(file)
    return found


def root_schema() -> Object:
    found: Object = definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return found


def read_field(schema: Object, path: str, *, is_required: bool = False) -> SchemaField:
    """A field and all below it, with the rules for its path.

    A keyword that it does not know is an error: the offline check would accept what the API server
    refuses.
    """
    unknown = sorted(schema.keys() - _KEYWORDS)
    if schema.get("additionalProperties", _ANY_TEXT) != _ANY_TEXT:
        unknown.append("additionalProperties other than text")
    if unknown:
        raise ValueError(f"{path}: the offline check does not know {', '.join(unknown)}")
    kind = FieldType.MAP if "additionalProperties" in schema else FieldType(schema["type"])
    least, is_exclusive = schema.get("minimum"), schema.get("exclusiveMinimum", False)
    required = schema.get("required", ())
    return SchemaField(
        kind,
        path.rpartition(".")[2],
        is_required=is_required,
        choices=tuple(schema.get("enum", ())),
        shortest=schema.get("minLength") or schema.get("minItems") or 0,
        longest=schema.get("maxLength", schema.get("maxItems")),
        least=None if is_exclusive else least,
        most=schema.get("maximum"),
        above=least if is_exclusive else None,
        rules=RULES.get(path, ()),
        members=tuple(
            read_field(below, f"{path}.{name}", is_required=name in required)
            for name, below in schema.get("properties", {}).items()
        ),
        items=read_field(schema["items"], f"{path}[]") if "items" in schema else None,
        is_open=schema.get("x-kubernetes-preserve-unknown-fields", False),
        may_be_null=schema.get("nullable", False),
    )


SPEC = read_field(root_schema()["properties"]["spec"], "spec")
