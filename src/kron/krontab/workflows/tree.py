"""YAML as a tree of nodes that know where they stand in the text.

It is built from PyYAML's events, so nothing is constructed, no alias is expanded and nothing
recurses: a hostile file costs one pass, and less if it is nested too deep or has too many nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from kron.core.errors import Code, KronError, quoted
from kron.krontab.workflows.source import Part, Source, WorkflowCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import yaml

Signature = list[tuple[str, ...]]
"""What each event means, whatever it looks like: its kind, value, anchor and tag."""

MOST_NODES = 100_000
DEEPEST = 100
MERGE = "<<"


class Kind(StrEnum):
    """What a node is."""

    SCALAR = "scalar"
    MAPPING = "mapping"
    SEQUENCE = "sequence"
    ALIAS = "alias"


class Node:
    """A node and its place: [start, end) in the source's text, anchor and tag included."""

    __slots__ = (
        "anchor",
        "children",
        "end",
        "in_flow",
        "kind",
        "order",
        "start",
        "style",
        "target",
        "value",
    )

    def __init__(self, kind: Kind, order: int, start: int, end: int) -> None:
        self.kind = kind
        self.order = order
        """Which event of the document it is; the spans and the signature go by this number."""
        self.start = start
        self.end = end
        self.anchor = ""
        self.value = ""
        self.style = ""
        """Of a scalar: a quote, `|`, `>`, or '' for a plain one."""
        self.in_flow = False
        self.children: list[Node] = []
        """Of a mapping: keys and values in turn."""
        self.target: Node | None = None

    @property
    def resolved(self) -> Node:
        """What an alias stands for; any other node itself."""
        return self.target or self

    def items(self) -> Iterator[tuple[Node, Node]]:
        """The keys and values of a mapping."""
        return zip(self.children[::2], self.children[1::2], strict=True)

    def get(self, key: str) -> tuple[Node, Node] | None:
        """The pair with this key. The key is compared as it is spelled: `on` is no boolean."""
        for name, value in self.items():
            if name.kind is Kind.SCALAR and name.value == key:
                return name, value
        return None


class Tree:
    """The one document of a text: its root, and each event's span and meaning in order."""

    def __init__(self) -> None:
        self.root: Node | None = None
        self.spans: list[tuple[int, int]] = []
        self.signature: Signature = []


def load_yaml() -> Any:
    """PyYAML, which is an extra; without it no workflow file can be read."""
    try:
        import yaml
    except ImportError:
        message = "workflow files cannot be read: PyYAML is not installed"
        raise KronError(Code.FILE_UNREADABLE, message, fix="pip install 'krond[yaml]'") from None
    return yaml


def read_tree(source: Source, part: Part) -> Tree | None:
    """The tree of the YAML, or None when it is not to be had: the source's findings say why."""
    yaml = load_yaml()
    builder = _Builder(source, part.start)
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the same events, thirty times as fast
    try:
        for event in yaml.parse(source.text[part.start : part.end], Loader=loader):
            if not builder.take(event):
                return None
    except yaml.MarkedYAMLError as error:
        _report_syntax(source, part, error)
        return None
    except yaml.YAMLError as error:
        message = f"this is not YAML: {quoted(' '.join(str(error).split()))}"
        source.report(WorkflowCode.YAML, message, part.start, part.start + 1)
        return None
    return None if builder.is_broken else builder.tree


def _report_syntax(source: Source, part: Part, error: yaml.MarkedYAMLError) -> None:
    mark = error.problem_mark or error.context_mark
    start = min(part.start + (mark.index if mark else 0), part.end)
    context = f" {error.context}" if error.context else ""
    message = f"this is not YAML: {error.problem}{context}"
    fix = "indent with spaces" if source.text[start : start + 1] == "\t" else ""
    source.report(WorkflowCode.YAML, message, start, start + 1, fix)


class _Builder:
    """Takes the events one by one."""

    def __init__(self, source: Source, base: int) -> None:
        self.tree = Tree()
        self.is_broken = False
        self._source = source
        self._base = base
        self._open: list[Node] = []
        self._anchors: dict[str, Node] = {}
        self._documents = 0
        self._nodes = 0

    def take(self, event: Any) -> bool:
        """Whether to go on after this event."""
        kind = type(event).__name__.removesuffix("Event")
        start, end = self._base + event.start_mark.index, self._base + event.end_mark.index
        if kind == "DocumentStart":
            self._documents += 1
            if self._documents > 1:
                return self._refuse(
                    WorkflowCode.YAML,
                    "a second document begins here: a workflow is one",
                    start,
                    "delete it, or move it to a file of its own",
                )
        elif kind in ("MappingEnd", "SequenceEnd"):
            self._record(start, end, "end")
            self._check_keys(self._open.pop())
        elif kind in ("MappingStart", "SequenceStart", "Scalar", "Alias"):
            return self._add(_node(event, len(self.tree.spans), start, end), event)
        return True

    def _add(self, node: Node, event: Any) -> bool:
        parent = self._open[-1] if self._open else None
        node.in_flow = bool(getattr(event, "flow_style", False)) or bool(parent and parent.in_flow)
        if node.kind is Kind.ALIAS:
            node.target = self._anchors.get(node.value)
            if node.target is None:
                message = f"no anchor {quoted('&' + node.value)} stands before this alias"
                return self._refuse(WorkflowCode.YAML, message, node.start)
        elif node.anchor:
            self._anchors[node.anchor] = node
        tag = getattr(event, "tag", None) or ""
        self._record(node.start, node.end, node.kind, node.value, node.anchor, tag)
        if parent is None:
            self.tree.root = node
        else:
            parent.children.append(node)
        if node.kind in (Kind.MAPPING, Kind.SEQUENCE):
            self._open.append(node)
        if len(self._open) > DEEPEST:
            message = f"the file is nested deeper than {DEEPEST} levels"
            return self._refuse(Code.LIMIT, message, node.start)
        self._nodes += 1
        if self._nodes > MOST_NODES:
            message = f"the file has more than {MOST_NODES:,} nodes"
            return self._refuse(Code.LIMIT, message, node.start)
        return True

    def _record(self, start: int, end: int, *meaning: str) -> None:
        self.tree.spans.append((start, end))
        self.tree.signature.append(meaning)

    def _refuse(self, code: str, message: str, start: int, fix: str = "") -> bool:
        self.is_broken = True
        self._source.report(code, message, start, start + 1, fix)
        return False

    def _check_keys(self, node: Node) -> None:
        """Every key once: the specification asks for it, and readers disagree on what else wins."""
        if node.kind is not Kind.MAPPING:
            return
        seen: dict[str, Node] = {}
        for key, _ in node.items():
            if key.kind is not Kind.SCALAR or key.value == MERGE:
                continue
            first = seen.setdefault(key.value, key)
            if first is not key:
                self.is_broken = True
                line = self._source.line_of(first.start)
                message = f"the key {quoted(key.value)} is given twice, first on line {line}"
                self._source.report(
                    Code.KEY_REPEATED, message, key.start, key.end, "delete one of them"
                )


def _node(event: Any, order: int, start: int, end: int) -> Node:
    name = type(event).__name__
    if name == "AliasEvent":
        node = Node(Kind.ALIAS, order, start, end)
        node.value = event.anchor
        return node
    kinds = {"ScalarEvent": Kind.SCALAR, "MappingStartEvent": Kind.MAPPING}
    node = Node(kinds.get(name, Kind.SEQUENCE), order, start, end)
    node.anchor = event.anchor or ""
    if node.kind is Kind.SCALAR:
        node.value = event.value
        node.style = event.style or ""
    return node
