"""The JSON values that a manifest means.

An alias is the value that it names and counts each time it is used, so a YAML bomb is refused
before it expands. `kron.yaml_text.tree` limits the nodes in the text, this the values they mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kron.core.errors import Code, quoted
from kron.yaml_text.json_values import json_values
from kron.yaml_text.tree import (
    DEEPEST,
    MERGE,
    NULLS,
    SPLIT,
    NodeType,
    Repeated,
    YamlError,
    YamlNode,
    load_yaml,
    read_documents,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Measured = tuple[Any, int, int]
    """A value, how many values it has with those below, and how many levels of mappings and
    sequences."""

MOST_VALUES = 500_000
MOST_DOCUMENTS = 50_000
"""Of JSON, in one file. YAML documents are bounded by the length of the file."""

_CONSTANTS: dict[str, bool | None] = {
    **dict.fromkeys(NULLS),
    **dict.fromkeys(("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"), False),
}
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,30})")
_OCTAL = re.compile(r"0o?[0-7]{1,30}")
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]{1,30}")
_FLOAT = re.compile(
    r"[-+]?+(?:[0-9]{1,40}+(?:\.[0-9]{0,40}+)?+|\.[0-9]{1,40}+)(?:[eE][-+]?+[0-9]{1,5}+)?+"
)
_FIRST_EXPONENT = 1e21
"""From here on Go writes a float with an exponent."""
_TAG = "tag:yaml.org,2002:"
_PLAIN_TAGS = ("", "!", f"{_TAG}map", f"{_TAG}seq", f"{_TAG}str")
_KINDS = {"int": int, "float": int | float, "bool": bool, "null": type(None)}


def read_values(text: str, repeated: Repeated) -> Iterator[tuple[YamlNode, Any]]:
    """The documents of a text, each with its value. Keys that a mapping has twice go to `repeated`.

    The last of them counts. `YamlError` where reading stops; the documents before that have been
    given already.
    """
    load_yaml("manifests", "kube")
    for number, stretch in enumerate(json_values(text)):
        if number >= MOST_DOCUMENTS:
            message = f"more than {MOST_DOCUMENTS:,} JSON values"
            raise YamlError(Code.LIMIT, message, stretch.start, fix=SPLIT)
        try:
            for root in read_documents(stretch, repeated, most_nodes=2 * MOST_VALUES):
                yield root, _measured(root, 0, {})[0]
        except YamlError as error:
            if error.unfinished is not None:
                _measured(error.unfinished, 0, {})  # raises the first error of the document
            raise


def find_field(node: YamlNode, name: str) -> tuple[YamlNode, YamlNode] | None:
    """The key and the value of a mapping's field; for a field that is merged, twice the value."""
    own = merged = None
    for key, value in node.pairs() if node.type is NodeType.MAPPING else ():
        if key.resolved.value == name:
            own = (key, value.resolved)
        elif key.resolved.value == MERGE:
            source = value.resolved
            sources = source.children if source.type is NodeType.SEQUENCE else [source]
            found = filter(None, (find_field(each.resolved, name) for each in sources))
            merged = merged or next(found, None)
    return own or (merged and (merged[1], merged[1]))


def _measured(node: YamlNode, level: int, known: dict[int, Measured]) -> Measured:
    """What a node means that is nested in `level` mappings and sequences; `DEEPEST` bounds it.

    `known` has the meaning of each mapping and sequence with an anchor, by its order.
    """
    target = node.resolved
    if target.is_scalar:
        return _scalar(target), 1, 0
    if node.type is NodeType.ALIAS:
        if target.order not in known:
            message = f"the alias {quoted('*' + node.anchor)} is part of what it names"
            raise YamlError(Code.TEXT, message, node.start, node.end)
        return known[target.order]
    _check_tag(node)
    fields: dict[str, Any] = {}
    items: list[Any] = []
    is_mapping = node.type is NodeType.MAPPING
    size = depth = 1
    for key, child in (
        node.pairs() if is_mapping else zip(node.children, node.children, strict=True)
    ):
        if is_mapping and not key.resolved.is_scalar:
            raise YamlError(Code.TEXT, "a key must be text", key.start, key.end)
        value, child_size, child_depth = _measured(child, level + 1, known)
        size += child_size
        depth = max(depth, child_depth + 1)
        if size > MOST_VALUES:
            message = f"more than {MOST_VALUES:,} values, aliases counted as often as they are used"
            raise YamlError(Code.LIMIT, message, child.start, child.end, SPLIT)
        if level + 1 + child_depth > DEEPEST:
            message = f"nested deeper than {DEEPEST} levels"
            raise YamlError(Code.LIMIT, message, child.start, child.end)
        if not is_mapping:
            items.append(value)
        elif key.resolved.value == MERGE:
            _merge(fields, value, child)
        else:
            fields[key.resolved.value] = value
    measured = (fields if is_mapping else items, size, depth)
    if node.anchor:
        known[node.order] = measured
    return measured


def _merge(fields: dict[str, Any], merged: object, node: YamlNode) -> None:
    """`<<: *defaults`: add the fields that the mapping does not have itself."""
    for source in merged if isinstance(merged, list) else [merged]:
        if not isinstance(source, dict):
            message = "only a mapping can be merged with <<"
            raise YamlError(Code.TEXT, message, node.start, node.end)
        for key, value in source.items():
            fields.setdefault(key, value)


def _check_tag(node: YamlNode) -> None:
    if node.tag not in _PLAIN_TAGS:
        message = f"JSON has no counterpart of the tag {quoted(node.tag)}"
        raise YamlError(Code.TEXT, message, node.start, node.end)


def _scalar(node: YamlNode) -> object:
    """The value of a scalar: by its tag or, if it has neither tag nor quotes, by its form."""
    if node.tag in ("", "!") and not node.style:
        return resolved(node.value)
    kind = node.tag.removeprefix(_TAG)
    if kind in _KINDS and isinstance(value := resolved(node.value), _KINDS[kind]):
        return value
    _check_tag(node)
    return node.value


def resolved(text: str) -> object:
    """What a plain scalar means to Kubernetes' readers (YAML 1.1 without times)."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _OCTAL.fullmatch(text):
        return int(text.replace("o", ""), 8)
    if _HEXADECIMAL.fullmatch(text):
        return int(text, 16)
    if _FLOAT.fullmatch(text):
        number = float(text)
        # kubectl sends 3.0 as 3.
        return int(number) if number.is_integer() and abs(number) < _FIRST_EXPONENT else number
    return text
