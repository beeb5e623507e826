"""What an API server would refuse in a jobTemplate, found offline: unknown fields, wrong types, and
the mistakes that everybody makes sooner or later.

job.json has the fields of a Job in one version of Kubernetes; tools/job_schema.py makes it from
what an API server publishes. kron-operator does not go by it: it asks its own API server, which may
have other fields and has the last word.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from functools import cache

from kron.core.errors import Code, did_you_mean, quoted
from kron.kube.api_object import Object, member, objects, text
from kron.kube.resource.schema.definition import FieldType, SchemaField
from kron.kube.resource.schema.rule import Rule, shaped
from kron.kube.resource.schema.validate import (
    FieldProblem,
    check_annotations,
    check_labels,
    check_value,
)

_PATH = "spec.jobTemplate"
_POD = f"{_PATH}.spec.template"
_LABEL = "[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?"
_DNS_NAME = rf"(?=.{{1,253}}$){_LABEL}(?:\.{_LABEL})*"
_SIGNED = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_QUANTITY = rf"{_SIGNED}(?:[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?"
_NAME_RULE = shaped("a name has at most 63 lower case letters, digits and - between them", _LABEL)
_QUANTITY_RULE = shaped("a quantity is written like 1, 0.5, 250m, 512Mi or 2G", _QUANTITY)
_QUANTITY_TEXT = _QUANTITY_RULE.replace(
    holds=lambda value: not isinstance(value, str) or _QUANTITY_RULE.holds(value)
)
"""A number needs no quotes, and has no wrong form."""
_NOT_NEGATIVE = shaped("a quantity must not be negative", _QUANTITY).replace(
    holds=lambda value: re.match("-[0.]*[1-9]", str(value)) is None, code=Code.FIELD_VALUE
)
_LABEL_OR_EMPTY = shaped(
    "a host name has at most 63 lower case letters, digits and - between them", _LABEL, ""
)
_OBJECT_NAME = shaped(
    "a name has at most 253 lower case letters, digits and - between them, in parts joined by .",
    _DNS_NAME,
    "",
)
_RULES: dict[str, tuple[Rule, ...]] = {
    "Container.name": (_NAME_RULE,),
    "Volume.name": (_NAME_RULE,),
    "PodSpec.hostname": (_LABEL_OR_EMPTY,),
    "PodSpec.priorityClassName": (_OBJECT_NAME,),
    "PodSpec.runtimeClassName": (_OBJECT_NAME,),
    "PodSpec.serviceAccountName": (_OBJECT_NAME,),
    "PodSpec.subdomain": (_LABEL_OR_EMPTY,),
}
_LEAST = {
    "JobSpec.activeDeadlineSeconds": 0,
    "JobSpec.backoffLimit": 0,
    "JobSpec.backoffLimitPerIndex": 0,
    "JobSpec.completions": 0,
    "JobSpec.maxFailedIndexes": 0,
    "JobSpec.parallelism": 0,
    "JobSpec.ttlSecondsAfterFinished": 0,
    "PodSpec.activeDeadlineSeconds": 1,
    "ContainerPort.containerPort": 1,
}
_MOST_INT32 = 2**31 - 1
_MOST_INT64 = 2**63 - 1
_MOST = {
    **dict.fromkeys(filter(lambda path: path.startswith("JobSpec."), _LEAST), _MOST_INT32),
    "JobSpec.activeDeadlineSeconds": _MOST_INT64,
    "PodSpec.activeDeadlineSeconds": _MOST_INT32,
    "ContainerPort.containerPort": 65_535,
}
_MAY_BE_MISSING = ("HTTPHeader.value", "Sysctl.value")
"""Required by the schema, but an API server accepts a Job without them."""


def check_template(spec: Mapping[str, object]) -> Iterator[FieldProblem]:
    """What is wrong with the jobTemplate of a spec. The definition has no more to say of it."""
    template = member(spec, "jobTemplate")
    yield from check_value(f"{_PATH}.spec", job_spec(), template.get("spec") or {})
    pods = member(member(template, "spec"), "template")
    for path, metadata in ((_PATH, member(template, "metadata")), (_POD, member(pods, "metadata"))):
        yield from check_labels(f"{path}.metadata.labels", metadata.get("labels"))
        yield from check_annotations(f"{path}.metadata.annotations", metadata.get("annotations"))
    yield from _selector(member(template, "spec"), member(member(pods, "metadata"), "labels"))
    yield from _pod(f"{_POD}.spec", member(pods, "spec"))


def kubernetes_version() -> str:
    version: str = _document()["kubernetes"]
    return version


@cache
def job_spec() -> SchemaField:
    """The field `spec` of a Job, with all below it."""
    return _Reader(_document()["schemas"]).named("JobSpec")


def _document() -> Object:
    path = os.path.join(os.path.dirname(__file__), "job.json")  # noqa: PTH118,PTH120
    with open(path, "rb") as file:  # noqa: PTH123 (kronctl starts without pathlib)
        found: Object = json.load(file)
    return found


class _Reader:
    """Reads the schemas of job.json, each once."""

    def __init__(self, schemas: dict[str, Object]) -> None:
        self._schemas = schemas
        self._read: dict[str, SchemaField] = {}

    def named(self, name: str) -> SchemaField:
        if name not in self._read:
            self._read[name] = self._field(self._schemas[name], name)
        return self._read[name]

    def _field(self, schema: Object, path: str, *, is_required: bool = False) -> SchemaField:
        """`path`: the name of the schema and the field, such as `Container.name`."""
        name = path.rpartition(".")[2]
        if "ref" in schema:
            return self.named(schema["ref"]).replace(name=name)
        values = schema.get("additionalProperties")
        kind = FieldType.MAP if values else FieldType(schema["type"])
        of_values = schema.get("items") or values
        fields, required = schema.get("properties", {}), schema.get("required", ())
        is_quantity = kind is FieldType.NUMBER_OR_TEXT
        return SchemaField(
            kind,
            name,
            is_required=is_required and kind in (FieldType.TEXT, FieldType.LIST),
            choices=tuple(schema.get("enum", ())),
            may_be_empty=True,
            least=_LEAST.get(path),
            most=_MOST.get(path),
            rules=(_QUANTITY_TEXT, _NOT_NEGATIVE) if is_quantity else _RULES.get(path, ()),
            members=tuple(
                self._field(
                    below,
                    f"{path}.{each}",
                    is_required=each in required and f"{path}.{each}" not in _MAY_BE_MISSING,
                )
                for each, below in fields.items()
            ),
            items=self._field(of_values, f"{path}[]") if of_values else None,
            is_open=kind is FieldType.OBJECT and not fields,
            may_be_null=kind in (FieldType.TEXT, FieldType.INTEGER),  # '' or 0 in a list
        )


def _selector(spec: Mapping[str, object], labels: Mapping[str, object]) -> Iterator[FieldProblem]:
    path, selector = f"{_PATH}.spec.selector", member(spec, "selector")
    wanted = member(selector, "matchLabels")
    if spec.get("manualSelector") is not True:
        if wanted:  # expressions may match the labels of every Job
            yield FieldProblem(path, "a Job has a selector of its own", "leave it out")
    elif not selector:
        yield FieldProblem(path, "it is missing", "leave manualSelector out", Code.FIELD_MISSING)
    elif any(labels.get(name) != value for name, value in wanted.items()):
        yield FieldProblem(path, "it does not match the labels of the template")


def _pod(path: str, pod: Mapping[str, object]) -> Iterator[FieldProblem]:
    volumes = [text(volume, "name") for volume in objects(pod, "volumes")]
    names: dict[str, str] = {}
    for kind in ("initContainers", "containers"):
        for number, container in enumerate(_listed(pod, kind)):
            place = f"{path}.{kind}[{number}]"
            name = text(container, "name")
            if name and names.setdefault(name, place) != place:
                message = f"{quoted(name)} is the name of {names[name]} already"
                yield FieldProblem(f"{place}.name", message, code=Code.NAME_REPEATED)
            if "image" not in container or container["image"] in (None, ""):
                yield FieldProblem(f"{place}.image", "it is missing", code=Code.FIELD_MISSING)
            for variable, each in enumerate(_listed(container, "env")):
                if each.get("value") and member(each, "valueFrom"):
                    message = "it cannot be given together with value"
                    yield FieldProblem(f"{place}.env[{variable}].valueFrom", message)
            for mount, mounted in enumerate(_listed(container, "volumeMounts")):
                volume = text(mounted, "name")
                if volume and volume not in volumes:
                    message = f"the Pod has no volume {quoted(volume)}"
                    near = did_you_mean(volume, volumes)
                    where = f"{place}.volumeMounts[{mount}].name"
                    yield FieldProblem(where, message, near, Code.VALUE_UNKNOWN)


def _listed(value: Mapping[str, object], name: str) -> list[Object]:
    """The items of a list, each in its place; {} for what is no object."""
    items = value.get(name)
    listed = items if isinstance(items, list) else []
    return [item if isinstance(item, dict) else {} for item in listed]
