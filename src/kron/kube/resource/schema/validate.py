"""What the API server would refuse, found offline: unknown fields, types, bounds and rules.

The check goes by the declaration that the server's own schema is made from. What only the engine
can judge, such as an unknown time zone, `kronjob.find_problems` adds. Decision record 0019 says
why this is not jsonschema.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping

from kron.core.errors import Code, did_you_mean, quoted
from kron.core.frozen import Frozen
from kron.kube.resource.schema.definition import (
    GROUP,
    LONGEST_NAME,
    SPEC,
    VERSION,
    FieldType,
    SchemaField,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TOP = ("apiVersion", "kind", "metadata", "spec", "status")
METADATA_NAMES = (
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
)
_ANY_TEXT = SchemaField(FieldType.TEXT, "")
_QUOTE = "put it in double quotes"
_MOST_LISTED = 20
"""How many names of fields are listed to somebody who has misspelt one."""
TEXTS = (SchemaField(FieldType.MAP, "labels"), SchemaField(FieldType.MAP, "annotations"))
_LABEL = "[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?"
_WORD = "[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_PREFIX = rf"{_LABEL}(?:\.{_LABEL})*"
_LONGEST_PREFIX = 253
_MOST_ANNOTATED = 256 * 1024
"""Bytes of the keys and values of all annotations of an object."""
_NAME = r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?"
_LONGEST_NAMESPACE = 63
NAME_RULE = (
    f"the name of a KronJob has at most {LONGEST_NAME} characters: "
    "its Jobs are called <name>-<10 hex digits>"
)
_TYPES: dict[FieldType, tuple[Any, str]] = {
    FieldType.TEXT: (str, "text"),
    FieldType.INTEGER: (int, "a whole number"),
    FieldType.NUMBER: (int | float, "a number"),
    FieldType.SWITCH: (bool, "true or false"),
    FieldType.OBJECT: (dict, "an object"),
    FieldType.LIST: (list, "a list"),
    FieldType.MAP: (dict, "an object"),
    FieldType.INTEGER_OR_TEXT: (int | str, "a whole number or text"),
    FieldType.NUMBER_OR_TEXT: (int | float | str, "a number or text"),
}
"""The values of each type in Python, and what they are called."""


class FieldProblem(Frozen):
    """One problem, at a path such as `spec.window.duration`."""

    path: str
    message: str
    fix: str = ""
    code: Code = Code.FIELD_VALUE

    def __str__(self) -> str:
        fix = f" ({self.fix})" if self.fix else ""
        return f"{self.path}: {self.message}{fix}"


def check(obj: object) -> list[FieldProblem]:
    if not isinstance(obj, dict):
        return [_wrong_type("", FieldType.OBJECT, obj)]
    return [*_unknown("", obj, _TOP), *_type(obj), *check_metadata(obj), *check_spec(obj)]


def check_metadata(obj: object, *, is_stored: bool = False) -> Iterator[FieldProblem]:
    """What is wrong with the metadata of an object. One that is stored has both names."""
    metadata = obj.get("metadata") if isinstance(obj, dict) else None
    if metadata is None:
        yield _missing("metadata.name")
        return
    if not isinstance(metadata, dict):
        yield _wrong_type("metadata", FieldType.OBJECT, metadata)
        return
    yield from _unknown("metadata", metadata, METADATA_NAMES)
    name = metadata.get("name")
    if name is not None:
        yield from _name("metadata.name", name, LONGEST_NAME, NAME_RULE)
    elif metadata.get("generateName"):
        # The API server accepts it, but no file says then when the KronJob runs.
        message = "it is missing: the times of a KronJob follow from its name"
        fix = "write name instead of generateName"
        yield FieldProblem("metadata.name", message, fix, Code.FIELD_MISSING)
    else:
        yield _missing("metadata.name")
    namespace = metadata.get("namespace")
    if namespace is not None:
        rule = f"a namespace has at most {_LONGEST_NAMESPACE} characters"
        yield from _name("metadata.namespace", namespace, _LONGEST_NAMESPACE, rule)
    elif is_stored:
        yield _missing("metadata.namespace")
    for field in TEXTS:
        if metadata.get(field.name) is not None:
            yield from check_value(f"metadata.{field.name}", field, metadata[field.name])
    if not is_stored:
        yield from check_labels("metadata.labels", metadata.get("labels"))
        yield from check_annotations("metadata.annotations", metadata.get("annotations"))


def check_labels(path: str, labels: object) -> Iterator[FieldProblem]:
    """What is wrong with the keys and values of labels. Their types are another check's."""
    for key, value in labels.items() if isinstance(labels, dict) else ():
        yield from _key(path, key, key)
        if isinstance(value, str) and value and not re.fullmatch(_WORD, value):
            rule = "the value of a label has at most 63 letters, digits, -, _ and . between them"
            where = f"{path}[{quoted(key)}]"
            yield FieldProblem(where, f"{quoted(value)}: {rule}", code=Code.FIELD_FORM)


def check_annotations(path: str, annotations: object) -> Iterator[FieldProblem]:
    """The same for annotations, whose values are any text, but not too much of it."""
    if not isinstance(annotations, dict):
        return
    for key in annotations:
        # The API server reads this prefix, and no other, in any case of letters.
        yield from _key(path, key, str(key).lower())
    texts = filter(lambda each: isinstance(each, str), (*annotations, *annotations.values()))
    size = sum(len(text.encode(errors="surrogatepass")) for text in texts)
    if size > _MOST_ANNOTATED:
        message = f"they have {size:,} bytes, and may have {_MOST_ANNOTATED:,}"
        yield FieldProblem(path, message, code=Code.LIMIT)


def _key(path: str, key: object, judged: object) -> Iterator[FieldProblem]:
    """What is wrong with the key of a label or an annotation, which is judged by this text."""
    if not isinstance(key, str):
        return  # the schema says so
    prefix, slash, name = str(judged).rpartition("/")
    is_prefix = len(prefix) <= _LONGEST_PREFIX and re.fullmatch(_PREFIX, prefix)
    if not re.fullmatch(_WORD, name) or (slash and not is_prefix):
        rule = (
            "a key has at most 63 letters, digits, -, _ and . between them, after a DNS name and "
            "a / if need be"
        )
        where = f"{path}[{quoted(key)}]"
        yield FieldProblem(where, f"{quoted(key)}: {rule}", code=Code.FIELD_FORM)


def check_spec(obj: object) -> Iterator[FieldProblem]:
    if not isinstance(obj, dict) or obj.get("spec") is None:
        yield _missing("spec")
    else:
        yield from check_value("spec", SPEC, obj["spec"])


def _type(obj: dict[str, object]) -> Iterator[FieldProblem]:
    for name, expected in (("apiVersion", f"{GROUP}/{VERSION}"), ("kind", "KronJob")):
        value = obj.get(name)
        if value is None:
            yield _missing(name, f"write {name}: {expected}")
        elif value != expected:
            shown = quoted(value) if isinstance(value, str) else _kind_of(value)
            yield FieldProblem(name, f"{shown} is not {expected}", f"write {name}: {expected}")


def _name(path: str, value: object, longest: int, rule: str) -> Iterator[FieldProblem]:
    if not isinstance(value, str):
        yield _wrong_type(path, FieldType.TEXT, value)
    elif len(value) > longest:
        yield FieldProblem(path, f"{quoted(value)}: {rule}", code=Code.LIMIT)
    elif not all(re.fullmatch(_NAME, part) for part in value.split(".")):
        form = "a name has lower case letters, digits and - between them, in parts joined by ."
        yield FieldProblem(path, f"{quoted(value)}: {form}", code=Code.FIELD_FORM)


def check_value(path: str, field: SchemaField, value: object) -> Iterator[FieldProblem]:
    wrong = _wrong_value(path, field, value)
    if wrong is not None:
        yield wrong
        return
    if isinstance(value, dict):
        below = list(_members(path, field, value))
        yield from below
        if any(problem.code is Code.LIMIT for problem in below):
            return  # like the server: no rule is applied to a value that is too long
    elif isinstance(value, list) and field.items is not None:
        for place, item in enumerate(value):
            if item is None and field.items.may_be_null:
                continue
            yield from check_value(f"{path}[{place}]", field.items, item)
    for rule in field.rules:
        if not rule.holds(value):
            shown = f"{quoted(value)}: " if isinstance(value, str) else ""
            yield FieldProblem(f"{path}{rule.path}", f"{shown}{rule.message}", code=rule.code)


def _members(path: str, field: SchemaField, value: dict[object, object]) -> Iterator[FieldProblem]:
    """What is wrong below. A null counts as absent: the API server drops it."""
    if field.type is FieldType.MAP:
        for key, text in value.items():
            if not isinstance(key, str):
                yield _not_text(path, key)
            elif text is not None:
                yield from check_value(f"{path}[{quoted(key)}]", field.items or _ANY_TEXT, text)
        return
    if not field.is_open:
        refused = [member.name for member in field.members if member.is_refused]
        known = tuple(member.name for member in field.members if member.name not in refused)
        yield from _unknown(path, {k: v for k, v in value.items() if k not in refused}, known)
    for member in field.members:
        place = f"{path}.{member.name}" if path else member.name
        inner = value.get(member.name)
        if inner is not None:
            yield from check_value(place, member, inner)
        elif member.is_required:
            yield _missing(place)


def _wrong_value(path: str, field: SchemaField, value: object) -> FieldProblem | None:
    """What is wrong with the value itself: its type, its bounds or its text."""
    if not _is_of(field.type, value):
        is_unquoted = isinstance(value, int | float) and not field.rules and not field.choices
        fix = _QUOTE if is_unquoted and field.type is FieldType.TEXT else ""
        return _wrong_type(path, field.type, value, fix)
    if isinstance(value, str | list):
        what = "characters" if isinstance(value, str) else "items"
        if field.longest is not None and len(value) > field.longest:
            message = f"it has {len(value):,} {what}, and may have {field.longest:,}"
            return FieldProblem(path, message, code=Code.LIMIT)
        if len(value) < field.shortest:
            return FieldProblem(path, "it is empty", code=Code.FIELD_MISSING)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        bounds = (
            (field.least is not None and value < field.least, f"at least {field.least}"),
            (field.most is not None and value > field.most, f"at most {field.most}"),
            (field.above is not None and value <= field.above, f"more than {field.above}"),
        )
        for is_broken, rule in bounds:
            if is_broken:
                return FieldProblem(path, f"it is {_number(value)}, and must be {rule}")
    return _wrong_text(path, field, value) if isinstance(value, str) else None


def _wrong_text(path: str, field: SchemaField, value: str) -> FieldProblem | None:
    try:
        value.encode()
    except UnicodeEncodeError:
        return FieldProblem(path, f"{quoted(value)} holds half a character")
    if field.choices and value not in field.choices and (value or not field.may_be_empty):
        message = f"{quoted(value)} is not one of {', '.join(field.choices)}"
        near = did_you_mean(value, field.choices)
        return FieldProblem(path, message, near, Code.VALUE_UNKNOWN)
    return None


def _is_of(kind: FieldType, value: object) -> bool:
    if isinstance(value, bool):
        return kind is FieldType.SWITCH
    is_number = kind in (FieldType.NUMBER, FieldType.NUMBER_OR_TEXT)
    if is_number and isinstance(value, int | float):
        return abs(value) <= sys.float_info.max  # neither infinite nor a NaN
    return isinstance(value, _TYPES[kind][0])


def _number(value: float) -> str:
    """A number in digits, unless it has too many of them."""
    return str(value) if abs(value) < 10**15 else "that large" if value > 0 else "that small"


def _unknown(
    path: str, value: Mapping[Any, object], known: tuple[str, ...]
) -> Iterator[FieldProblem]:
    for key in value:
        if not isinstance(key, str):
            yield _not_text(path, key)
        elif key not in known:
            where = f"{path}.{key}" if path else key
            rule = f"the fields here are {', '.join(known)}"
            if len(known) > _MOST_LISTED:
                rule = f"none of the {len(known)} fields here is called that"
            message = f"unknown field {quoted(key)}: {rule}"
            shown = where if key.isprintable() and len(key) <= 60 else path
            yield FieldProblem(shown, message, did_you_mean(key, known), Code.FIELD_UNKNOWN)


def _not_text(path: str, key: object) -> FieldProblem:
    message = f"a field is called {quoted(repr(key))}, which is not text"
    return FieldProblem(path, message, _QUOTE, Code.FIELD_FORM)


def _missing(path: str, fix: str = "") -> FieldProblem:
    return FieldProblem(path, "it is missing", fix, Code.FIELD_MISSING)


def _wrong_type(path: str, kind: FieldType, value: object, fix: str = "") -> FieldProblem:
    message = f"it is {_kind_of(value)}, and must be {_TYPES[kind][1]}"
    return FieldProblem(path, message, fix, Code.FIELD_FORM)


def _kind_of(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"the number {_number(value)}"
    names = {str: "text", float: f"the number {value}", dict: "an object", list: "a list"}
    return names.get(type(value), f"a {type(value).__name__}")
