"""The CustomResourceDefinition, made of the declared fields."""

from __future__ import annotations

from kron.kube.resource.field import Field, Kind, Rule
from kron.kube.resource.fields import LONGEST_NAME, SPEC
from kron.kube.resource.patterns import for_server
from kron.kube.resource.status_fields import STATUS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

GROUP = "kron.io"
VERSION = "v1alpha1"
PLURAL = "kronjobs"

DESCRIPTION = (
    "A KronJob makes a Job for every period of a schedule, at a second that is chosen within a "
    "window: the same second on every machine and after every restart, and explainable afterwards."
)

NAME_RULE = (
    f"the name of a KronJob has at most {LONGEST_NAME} characters: "
    "its Jobs are called <name>-<10 hex digits>"
)

COLUMNS = (
    ("Schedule", "string", ".spec.schedule", "When the work is due.", 0),
    ("Ready", "string", '.status.conditions[?(@.type=="Ready")].status', "Whether it runs.", 0),
    ("Suspended", "boolean", ".spec.policy.suspend", "Whether nothing is started for now.", 0),
    # Not a date: kubectl shows those as ages, and a time to come as <invalid>.
    ("Next", "string", ".status.nextChosenTime", "When it starts next.", 0),
    ("Last", "string", ".status.lastOutcome", "How the last period ended.", 0),
    ("Last chosen", "string", ".status.lastChosenTime", "When the last period was to start.", 1),
    ("Timezone", "string", ".spec.timezone", "The schedule's time zone.", 1),
    ("Window", "string", ".spec.window.duration", "The length of the window.", 1),
    ("Age", "date", ".metadata.creationTimestamp", "Since when it has been there.", 0),
)


def definition() -> dict[str, Any]:
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


def _version() -> dict[str, Any]:
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


def schema(field: Field) -> dict[str, Any]:
    """The structural schema of one field and all below it."""
    made: dict[str, Any] = {"description": field.description}
    made["type"] = "object" if field.kind is Kind.MAP else field.kind.value
    if field.default is not None:
        made["default"] = field.default
    if field.choices:
        made["enum"] = list(field.choices)
    if field.pattern:
        made["pattern"] = for_server(field.pattern)
    made |= _bounds(field)
    if field.kind is Kind.MAP:
        made["additionalProperties"] = {"type": "string"}
    if field.items is not None:
        made["items"] = schema(field.items)
    if field.members:
        made["properties"] = {member.name: schema(member) for member in field.members}
        required = [member.name for member in field.members if member.is_required]
        if required:
            made["required"] = required
    if field.is_open:
        made["x-kubernetes-preserve-unknown-fields"] = True
    if field.rules:
        made["x-kubernetes-validations"] = [_validation(rule) for rule in field.rules]
    return made


def _bounds(field: Field) -> dict[str, Any]:
    suffix = "Items" if field.kind is Kind.LIST else "Length"
    bounds: dict[str, Any] = {}
    if field.shortest:
        bounds[f"min{suffix}"] = field.shortest
    if field.longest is not None:
        bounds[f"max{suffix}"] = field.longest
    if field.least is not None:
        bounds["minimum"] = field.least
    if field.most is not None:
        bounds["maximum"] = field.most
    if field.above is not None:
        bounds |= {"minimum": field.above, "exclusiveMinimum": True}
    return bounds


def _validation(rule: Rule) -> dict[str, str]:
    made = {"rule": rule.cel, "message": rule.message}
    return made | {"fieldPath": rule.path} if rule.path else made
