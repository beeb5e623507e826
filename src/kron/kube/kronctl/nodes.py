"""YAML and JSON as nodes that know where they stand in the text.

They are made from PyYAML's events, so nothing is constructed by a tag and nothing recurses: a
hostile file costs one pass, and less if it is nested too deep. An alias is the node that it names,
and counts as often as it is used, so that a bomb is refused before it goes off.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kron.core.errors import Code, KronError, quoted
from kron.core.frozen import Frozen
from kron.kube.kronctl.pieces import Piece, pieces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_NODES = 500_000
MOST_PIECES = 50_000
DEEPEST = 100

_NULLS = ("", "~", "null", "Null", "NULL")
_TRUE = ("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON")
_FALSE = ("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF")
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,30})")
_OCTAL = re.compile(r"0o?[0-7]{1,30}")
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]{1,30}")
_FLOAT = re.compile(
    r"[-+]?+(?:[0-9]{1,40}+(?:\.[0-9]{0,40}+)?+|\.[0-9]{1,40}+)(?:[eE][-+]?+[0-9]{1,5}+)?+"
)
_TAG = "tag:yaml.org,2002:"
_PLAIN_TAGS = ("", "!", f"{_TAG}map", f"{_TAG}seq", f"{_TAG}str")


class Place(Frozen):
    """[start, end) in the characters of the text."""

    start: int
    end: int


class Node:
    """A node: its place and its value. `fields` and `items` hold the nodes below it."""

    __slots__ = ("anchor", "depth", "fields", "items", "key", "keys", "place", "scalar", "size")

    def __init__(self, place: Place, anchor: str = "") -> None:
        self.place = place
        self.anchor = anchor
        self.scalar: object = None
        self.fields: dict[str, Node] | None = None
        self.items: list[Node] | None = None
        self.keys: dict[str, Place] = {}
        """Of a mapping: where its keys stand."""
        self.key: tuple[str, Place] | None = None
        """Of a mapping that is being read: the key whose value comes next."""
        self.size = 1
        self.depth = 1

    @property
    def is_scalar(self) -> bool:
        """Whether nothing is below it."""
        return self.fields is None and self.items is None

    @property
    def value(self) -> Any:
        """It and all that is below as plain JSON values."""
        if self.fields is not None:
            return {name: node.value for name, node in self.fields.items()}
        if self.items is not None:
            return [node.value for node in self.items]
        return self.scalar


class NodeError(KronError):
    """A text that is not YAML, or is more than is read."""

    def __init__(self, code: Code, message: str, place: Place, fix: str = "") -> None:
        super().__init__(code, message, fix)
        self.args = (code, message, place, fix)
        self.place = place


class Repeated(Frozen):
    """A key that a mapping has twice."""

    key: str
    place: Place


def load_yaml() -> Any:
    """PyYAML, which is part of the extra that kronctl needs."""
    try:
        import yaml
    except ImportError:
        message = "manifests cannot be read: PyYAML is not installed"
        raise KronError(Code.FILE_UNREADABLE, message, fix="pip install 'krond[kube]'") from None
    return yaml


def read_nodes(text: str, repeated: list[Repeated]) -> Iterator[Node]:
    """The documents of a text. Keys that are there twice go to `repeated`; the last one counts.

    `NodeError` where it cannot go on; the documents before that have been given already.
    """
    for number, piece in enumerate(pieces(text)):
        if number >= MOST_PIECES:
            message = f"more than {MOST_PIECES:,} values of JSON"
            place = Place(piece.start, piece.start + 1)
            raise NodeError(Code.LIMIT, message, place, "split it into several files")
        yield from _documents(piece, repeated)


def _documents(piece: Piece, repeated: list[Repeated]) -> Iterator[Node]:
    yaml = load_yaml()
    text = piece.text
    builder = _Builder(piece, repeated)
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the same events, thirty times as fast
    try:
        for event in yaml.parse(text, Loader=loader):
            document = builder.take(type(event).__name__.removesuffix("Event"), event)
            if document is not None:
                yield document
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        start = min(mark.index, len(text)) if mark else 0
        context = f" {error.context}" if error.context else ""
        message = f"this is not YAML: {error.problem}{context}"
        offset = piece.offset_of(start)
        fix = _fix(text, start, error.problem or "")
        raise NodeError(Code.TEXT, message, Place(offset, offset + 1), fix) from None
    except yaml.YAMLError as error:
        position = getattr(error, "position", 0)
        start = piece.offset_of(position if isinstance(position, int) else 0)
        message = f"this is not YAML: {quoted(' '.join(str(error).split()))}"
        raise NodeError(Code.TEXT, message, Place(start, start + 1)) from None


def _fix(text: str, start: int, problem: str) -> str:
    if text[start : start + 1] == "\t":
        return "indent with spaces"
    return "write the character itself" if "character escape" in problem else ""


class _Builder:
    """Takes the events one by one."""

    def __init__(self, piece: Piece, repeated: list[Repeated]) -> None:
        self._offset_of = piece.offset_of
        self._repeated = repeated
        self._open: list[Node] = []
        self._anchors: dict[str, Node] = {}
        self._nodes = 0

    def take(self, kind: str, event: Any) -> Node | None:
        """The document that this event completes, if it does."""
        start, end = event.start_mark.index, event.end_mark.index
        place = Place(self._offset_of(start), self._offset_of(end))
        if kind == "DocumentStart":
            self._anchors = {}
        elif kind in ("MappingStart", "SequenceStart"):
            self._start(kind, event, place)
        elif kind in ("MappingEnd", "SequenceEnd"):
            return self._complete(self._open.pop())
        elif kind == "Scalar":
            return self._scalar(event, place)
        elif kind == "Alias":
            return self._alias(event.anchor, place)
        return None

    def _start(self, kind: str, event: Any, place: Place) -> None:
        _check_tag(event.tag, place)
        if self._open and self._open[-1].fields is not None and self._open[-1].key is None:
            raise NodeError(Code.TEXT, "a key is no text", place)
        if len(self._open) >= DEEPEST:
            raise NodeError(Code.LIMIT, f"nested deeper than {DEEPEST} levels", place)
        node = Node(place, event.anchor or "")
        if kind == "MappingStart":
            node.fields = {}
        else:
            node.items = []
        self._open.append(node)

    def _scalar(self, event: Any, place: Place) -> Node | None:
        if self._open and self._open[-1].fields is not None and self._open[-1].key is None:
            self._open[-1].key = (event.value, place)
            if event.anchor:
                self._anchors[event.anchor] = _text_node(event.value, place)
            return None
        node = Node(place, event.anchor or "")
        is_plain = event.implicit[0] and not event.style
        node.scalar = resolved(event.value) if is_plain else _tagged(event, place)
        return self._complete(node)

    def _alias(self, anchor: str, place: Place) -> Node | None:
        target = self._anchors.get(anchor)
        if target is None:  # also one that would hold itself
            message = f"the alias {quoted('*' + anchor)} names nothing that is complete before it"
            raise NodeError(Code.TEXT, message, place)
        if self._open and self._open[-1].fields is not None and self._open[-1].key is None:
            self._open[-1].key = (str(target.scalar), place)
            return None
        return self._enclose(target, place)

    def _complete(self, node: Node) -> Node | None:
        if node.anchor:
            self._anchors[node.anchor] = node
        return self._enclose(node, node.place)

    def _enclose(self, node: Node, place: Place) -> Node | None:
        """Put a node where it belongs; it is the document if it belongs nowhere."""
        if not self._open:
            return node
        parent = self._open[-1]
        parent.size += node.size
        parent.depth = max(parent.depth, node.depth + 1)
        if parent.size > MOST_NODES:
            message = f"more than {MOST_NODES:,} values, aliases counted as often as they are used"
            raise NodeError(Code.LIMIT, message, place, "split it into several files")
        if parent.depth + len(self._open) > DEEPEST:
            raise NodeError(Code.LIMIT, f"nested deeper than {DEEPEST} levels", place)
        if parent.items is not None:
            parent.items.append(node)
            return None
        assert parent.fields is not None
        assert parent.key is not None
        (key, key_place), parent.key = parent.key, None
        if key == "<<":
            _merge(parent, node)
        else:
            self._enter(parent, key, key_place, node)
        return None

    def _enter(self, parent: Node, key: str, place: Place, node: Node) -> None:
        assert parent.fields is not None
        if key in parent.keys:
            self._repeated.append(Repeated(key, place))
        parent.fields[key] = node
        parent.keys[key] = place


def _merge(parent: Node, node: Node) -> None:
    """`<<: *defaults`: what the mapping does not say itself."""
    assert parent.fields is not None
    for source in node.items if node.items is not None else [node]:
        if source.fields is None:
            raise NodeError(Code.TEXT, "only a mapping can be merged with <<", node.place)
        for key, value in source.fields.items():
            parent.fields.setdefault(key, value)


def _text_node(value: str, place: Place) -> Node:
    node = Node(place)
    node.scalar = value
    return node


def _check_tag(tag: str | None, place: Place) -> None:
    if (tag or "") not in _PLAIN_TAGS:
        raise NodeError(Code.TEXT, f"the tag {quoted(tag or '')} is none that JSON has", place)


def _tagged(event: Any, place: Place) -> object:
    """The value of a scalar that is in quotes or has a tag."""
    tag = event.tag or ""
    kind = tag.removeprefix(_TAG)
    if tag in _PLAIN_TAGS:
        return event.value
    value = resolved(event.value)
    kinds = {"int": int, "float": int | float, "bool": bool, "null": type(None)}
    if kind in kinds and isinstance(value, kinds[kind]):
        return value
    _check_tag(tag, place)
    return event.value


def resolved(text: str) -> object:
    """What a plain scalar means, as the readers of Kubernetes have it (YAML 1.1 without times)."""
    if text in _NULLS:
        return None
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    if _INTEGER.fullmatch(text):
        return int(text)
    if _OCTAL.fullmatch(text):
        return int(text.replace("o", ""), 8)
    if _HEXADECIMAL.fullmatch(text):
        return int(text, 16)
    if _FLOAT.fullmatch(text):
        return float(text)
    return text
