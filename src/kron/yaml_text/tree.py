"""YAML as nodes that know where they stand in the text.

The nodes are made from PyYAML's events: no tag constructs anything, no alias is expanded and
nothing recurses. So a hostile file costs one pass, and less if it is nested too deep or has too
many nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from kron.core.errors import Code, KronError, quoted
from kron.yaml_text.json_values import Stretch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DEEPEST = 100
MERGE = "<<"
SPLIT = "split it into several files"
NULLS = ("", "~", "null", "Null", "NULL")


class NodeType(StrEnum):
    SCALAR = "scalar"
    MAPPING = "mapping"
    SEQUENCE = "sequence"
    ALIAS = "alias"


_LEAVES = (NodeType.SCALAR, NodeType.ALIAS)
_NO_CHILDREN: list[YamlNode] = []
"""Of every node that can have none. A file may have a million of these nodes."""


class YamlNode:
    """A node and its place: [start, end) in the whole text, anchor and tag included.

    The place of a mapping or a sequence is that of its beginning; `close` is that of its end.
    """

    __slots__ = (
        "anchor",
        "children",
        "close",
        "end",
        "in_flow",
        "order",
        "start",
        "style",
        "tag",
        "target",
        "type",
        "value",
    )

    def __init__(self, type_: NodeType, order: int, start: int, end: int) -> None:
        self.type = type_
        self.order = order
        """The number of its event in the document; the end of a mapping is an event, too."""
        self.start = start
        self.end = end
        self.close = (0, 0)
        self.anchor = ""
        """Its own or, of an alias, the one that it names."""
        self.tag = ""
        self.value = ""
        """The text of a scalar, without quotes and escapes."""
        self.style = ""
        """Of a scalar: a quote, `|`, `>`, or '' for a plain one."""
        self.in_flow = False
        self.children: list[YamlNode] = _NO_CHILDREN if type_ in _LEAVES else []
        """Of a mapping: keys and values in turn."""
        self.target: YamlNode | None = None
        """Of an alias: the node it names, which may be one that holds the alias."""

    @property
    def resolved(self) -> YamlNode:
        """What an alias stands for; any other node itself."""
        return self.target or self

    @property
    def is_scalar(self) -> bool:
        return self.type is NodeType.SCALAR

    @property
    def has_end(self) -> bool:
        """Whether it is a mapping or a sequence, whose end is an event of its own."""
        return self.type not in _LEAVES

    @property
    def is_null(self) -> bool:
        """Whether it is a plain scalar that means nothing."""
        return self.is_scalar and not self.style and self.value in NULLS

    def pairs(self) -> Iterator[tuple[YamlNode, YamlNode]]:
        return zip(self.children[::2], self.children[1::2], strict=True)

    def get(self, key: str) -> tuple[YamlNode, YamlNode] | None:
        """The pair with this key as spelled: `on` is no boolean. None also if it is no mapping."""
        for name, value in self.pairs() if self.type is NodeType.MAPPING else ():
            if name.is_scalar and name.value == key:
                return name, value
        return None


Repeated = list[tuple[YamlNode, YamlNode]]
"""Keys that their mapping has had before, each with the first one."""


class YamlError(KronError):
    """A text that is not YAML (`Code.TEXT`), or is more than is read (`Code.LIMIT`)."""

    def __init__(self, code: Code, message: str, start: int, end: int = 0, fix: str = "") -> None:
        super().__init__(code, message, fix)
        self.args = (code, message, start, end, fix)
        self.start = start
        self.end = end or start + 1
        self.unfinished: YamlNode | None = None
        """The root of the document in which reading stopped: it may have an earlier error."""


def load_yaml(files: str, extra: str) -> Any:
    """PyYAML; a `KronError` that names the files and the extra if it is not installed."""
    try:
        import yaml
    except ImportError:
        message = f"{files} cannot be read: PyYAML is not installed"
        fix = f"pip install 'krond[{extra}]'"
        raise KronError(Code.FILE_UNREADABLE, message, fix) from None
    return yaml


def read_documents(
    stretch: Stretch, repeated: Repeated, *, most_nodes: int, only_one: bool = False
) -> Iterator[YamlNode]:
    """The root of each document. Keys that a mapping has twice go to `repeated`.

    `YamlError` where reading stops; the documents before that have been given already.
    """
    import yaml

    builder = _Builder(stretch, repeated, most_nodes, only_one=only_one)
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the same events, thirty times as fast
    try:
        for event in yaml.parse(stretch.text, Loader=loader):
            root = builder.take(event)
            if root is not None:
                yield root
    except (YamlError, yaml.YAMLError) as error:
        stop = error if isinstance(error, YamlError) else _not_yaml(stretch, error)
        stop.unfinished = builder.stop()
        raise stop from None


def _not_yaml(stretch: Stretch, error: Any) -> YamlError:
    """What PyYAML says, at the place that it names."""
    if not hasattr(error, "problem_mark"):
        position = getattr(error, "position", 0)
        start = stretch.offset_of(position if isinstance(position, int) else 0)
        message = f"this is not YAML: {quoted(' '.join(str(error).split()))}"
        return YamlError(Code.TEXT, message, start)
    mark = error.problem_mark or error.context_mark
    index = min(mark.index, len(stretch.text)) if mark else 0
    context = f" {error.context}" if error.context else ""
    fix = "write the character itself" if "character escape" in (error.problem or "") else ""
    if stretch.text[index : index + 1] == "\t":
        fix = "indent with spaces"
    message = f"this is not YAML: {error.problem}{context}"
    return YamlError(Code.TEXT, message, stretch.offset_of(index), fix=fix)


class _Builder:
    def __init__(
        self, stretch: Stretch, repeated: Repeated, most_nodes: int, *, only_one: bool
    ) -> None:
        self._offset_of = stretch.offset_of
        self._repeated = repeated
        self._most_nodes = most_nodes
        self._only_one = only_one
        self._documents = 0
        self._start_document()

    def _start_document(self) -> None:
        self._open: list[YamlNode] = []
        self._anchors: dict[str, YamlNode] = {}
        self._events = 0
        self._nodes = 0

    def take(self, event: Any) -> YamlNode | None:
        """The root of the document that this event completes, if it does."""
        name = type(event).__name__.removesuffix("Event")
        start = self._offset_of(event.start_mark.index)
        end = self._offset_of(event.end_mark.index)
        if name == "DocumentStart":
            self._start_document()
            self._documents += 1
            if self._only_one and self._documents > 1:
                message = "a second document begins here, and only one is read"
                fix = "delete it, or move it to a file of its own"
                raise YamlError(Code.TEXT, message, start, end, fix)
            return None
        if name in ("MappingEnd", "SequenceEnd"):
            node = self._open.pop()
            node.close = (start, end)
            self._events += 1
            if node.type is NodeType.MAPPING:
                self._find_repeated(node)
            return None if self._open else node
        if name not in _TYPES:
            return None
        node = YamlNode(_TYPES[name], self._events, start, end)
        self._events += 1
        node.anchor = event.anchor or ""
        if node.type is NodeType.ALIAS:
            node.target = self._anchors.get(node.anchor)
            if node.target is None:
                message = f"no anchor {quoted('&' + node.anchor)} stands before this alias"
                raise YamlError(Code.TEXT, message, start, end)
        else:
            node.tag = event.tag or ""
            if node.anchor:
                self._anchors[node.anchor] = node
        if node.is_scalar:
            node.value = event.value
            node.style = event.style or ""
        elif node.has_end:
            node.in_flow = bool(event.flow_style)
        return self._add(node)

    def stop(self) -> YamlNode | None:
        """The unfinished document, without keys whose values were not read; None if it is empty."""
        for node in self._open:
            if node.type is NodeType.MAPPING:
                self._find_repeated(node)
                if len(node.children) % 2:
                    node.children.pop()
        return self._open[0] if self._open else None

    def _add(self, node: YamlNode) -> YamlNode | None:
        """Put a node where it belongs; it is the document if it is a scalar without a parent."""
        parent = self._open[-1] if self._open else None
        if parent is not None:
            node.in_flow = node.in_flow or parent.in_flow
            parent.children.append(node)
        if node.has_end:
            self._open.append(node)
            if len(self._open) > DEEPEST:
                message = f"nested deeper than {DEEPEST} levels"
                raise YamlError(Code.LIMIT, message, node.start, node.end)
        self._nodes += 1
        if self._nodes > self._most_nodes:
            message = f"more than {self._most_nodes:,} nodes"
            raise YamlError(Code.LIMIT, message, node.start, node.end, SPLIT)
        return node if parent is None and not node.has_end else None

    def _find_repeated(self, node: YamlNode) -> None:
        """Every key once: YAML requires it, and readers disagree on which of two counts."""
        seen: dict[str, YamlNode] = {}
        for key in node.children[::2]:
            text = key.resolved.value
            if key.resolved.is_scalar and text != MERGE:
                first = seen.setdefault(text, key)
                if first is not key:
                    self._repeated.append((key, first))


_TYPES = {
    "Scalar": NodeType.SCALAR,
    "MappingStart": NodeType.MAPPING,
    "SequenceStart": NodeType.SEQUENCE,
    "Alias": NodeType.ALIAS,
}
