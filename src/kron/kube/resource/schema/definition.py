"""The CustomResourceDefinition, made from the declared fields."""

from __future__ import annotations

from kron.kube.api_object import Object
from kron.kube.resource.schema.model import FieldType, Rule, SchemaField, for_server
from kron.kube.resource.schema.spec import LONGEST_NAME, SPEC
from kron.kube.resource.schema.status import STATUS

GROUP = "kron.io"
VERSION = "v1alpha1"
PLURAL = "kronjobs"

DESCRIPTION = (
    "A KronJob creates a Job for every period of a schedule, at a second that is chosen within a "
    "window: the same second on every machine and after every restart, and explainable afterwards."
)

NAME_RULE = (
    f"the name of a KronJob has at most {LONGEST_NAME} characters: "
    "its Jobs are called <name>-<10 hex digits>"
)

COLUMNS = (
    ("Schedule", "string", ".spec.schedule", "When the work is due.", 0),
    ("Ready", "string", '.status.conditions[?(@.type=="Ready")].status', "Whether it runs.", 0),
    ("Suspended", "boolean", ".spec.policy.suspend", "Whether no run is started for now.", 0),
    # Not a date: kubectl shows dates as ages, and a future one as <invalid>.
    ("Next", "string", ".status.nextChosenTime", "When it starts next.", 0),
    ("Last", "string", ".status.lastOutcome", "How the last period ended.", 0),
    ("Last chosen", "string", ".status.lastChosenTime", "When the last period was to start.", 1),
    ("Timezone", "string", ".spec.timezone", "The schedule's time zone.", 1),
    ("Window", "string", ".spec.window.duration", "The length of the window.", 1),
    ("Age", "date", ".metadata.creationTimestamp", "How long it has existed.", 0),
)


def definition() -> Object:
    """The definition as JSON values."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": "KronJob",
                "listKind": "KronJobList",
                "plural": PLURAL,
                "singular": "kronjob",
                "shortNames": ["kj"],
                "categories": ["all"],
            },
            "versions": [_version()],
        },
    }


def _version() -> Object:
    return {
        "name": VERSION,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "additionalPrinterColumns": [
            {
                "name": name,
                "type": kind,
                "jsonPath": path,
                "description": description,
                "priority": priority,
            }
            for name, kind, path, description, priority in COLUMNS
        ],
        "schema": {
            "openAPIV3Schema": {
                "description": DESCRIPTION,
                "type": "object",
                "required": ["spec"],
                "properties": {"spec": schema(SPEC), "status": schema(STATUS)},
                "x-kubernetes-validations": [
                    {"rule": f"self.metadata.name.size() <= {LONGEST_NAME}", "message": NAME_RULE}
                ],
            }
        },
    }


def schema(field: SchemaField) -> Object:
    """The structural schema of one field and all below it."""
    is_map = field.type is FieldType.MAP
    size = "Items" if field.type is FieldType.LIST else "Length"
    declared = {
        "description": field.description,
        "type": "object" if is_map else field.type.value,
        "default": field.default,
        "enum": list(field.choices) or None,
        "pattern": for_server(field.pattern) if field.pattern else None,
        f"min{size}": field.shortest or None,
        f"max{size}": field.longest,
        "minimum": field.least if field.above is None else field.above,
        "maximum": field.most,
        "exclusiveMinimum": None if field.above is None else True,
        "additionalProperties": {"type": "string"} if is_map else None,
        "items": None if field.items is None else schema(field.items),
        "properties": {member.name: schema(member) for member in field.members} or None,
        "required": [member.name for member in field.members if member.is_required] or None,
        "x-kubernetes-preserve-unknown-fields": field.is_open or None,
        "x-kubernetes-validations": [_validation(rule) for rule in field.rules] or None,
    }
    return {name: value for name, value in declared.items() if value is not None}


def _validation(rule: Rule) -> dict[str, str]:
    made = {"rule": rule.cel, "message": rule.message}
    return made | {"fieldPath": rule.path} if rule.path else made
