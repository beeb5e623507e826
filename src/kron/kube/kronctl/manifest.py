"""Manifests: the objects of YAML and JSON files, each with the place of every field."""

from __future__ import annotations

import os
import re
import stat
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from kron.console.input import standard_input
from kron.core.errors import SHOWN_PROBLEMS, Code, KronError, did_you_mean, quoted
from kron.core.frozen import Frozen, derived
from kron.core.limits import DEFAULT_LIMITS
from kron.jobs.finding import Finding, Severity
from kron.jobs.source import STANDARD_INPUT
from kron.kube.kronctl.nodes import Node, NodeError, Place, Repeated, read_nodes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SUFFIXES = (".yaml", ".yml", ".json")
_STEP = re.compile(r'\["([^"]++)"\]|([^.\[\]]++)|\[([0-9]{1,9}+)\]')
_COLUMN = re.compile(r"column ([0-9]{1,6}+): ")
_BYTE_ORDER_MARK = "\ufeff"
_LIST = "List"
_LISTS = (_LIST, "KronJobList", "CronJobList")


class Text(Frozen):
    """A file's text and where its lines begin."""

    path: str
    text: str
    starts: tuple[int, ...] = derived()

    def __post_init__(self) -> None:
        starts = [0, *(match.end() for match in re.finditer("\n", self.text))]
        self._derive(starts=tuple(starts))

    def line_of(self, offset: int) -> int:
        """The number of the line that holds the offset, counted from 1."""
        return bisect_right(self.starts, offset)

    def finding(
        self,
        place: Place,
        code: str,
        message: str,
        fix: str = "",
        *,
        severity: Severity = Severity.ERROR,
    ) -> Finding:
        """Something about a place, as far as it lies on its first line."""
        line = self.line_of(place.start)
        first = self.starts[line - 1]
        last = self.starts[line] - 1 if line < len(self.starts) else len(self.text)
        end = max(place.start + 1, min(place.end, last))
        shown = self.text[first:last].rstrip("\r")
        return Finding(
            severity, code, message, self.path, line, place.start - first, end - first, fix, shown
        )


class Manifest(Frozen):
    """One object of a file."""

    text: Text
    node: Node
    content: dict[str, Any]

    @property
    def kind(self) -> str:
        """Its kind, or ''."""
        return _word(self.content.get("kind"))

    @property
    def api_version(self) -> str:
        """Its group and version, or ''."""
        return _word(self.content.get("apiVersion"))

    @property
    def name(self) -> str:
        """Its name, or ''."""
        return _word(_mapping(self.content.get("metadata")).get("name"))

    @property
    def namespace(self) -> str:
        """The namespace that it names, or ''."""
        return _word(_mapping(self.content.get("metadata")).get("namespace"))

    def is_meant_as(self, kind: str, group: str) -> bool:
        """Whether it is of this kind of this group, or was plainly meant to be."""
        said, slash, _ = self.api_version.rpartition("/")
        if said == group and not self.kind.endswith(_LIST):
            return bool(did_you_mean(self.kind, (kind,)))
        is_kind = self.kind.lower() == kind.lower()
        return is_kind and (not slash or bool(did_you_mean(said, (group,))))

    @property
    def line(self) -> int:
        """Where it begins."""
        return self.text.line_of(self.node.place.start)

    def place_of(self, path: str, *, at_key: bool = False) -> Place:
        """Where a field stands or, if it does not, the last on the way to it that does.

        A value that is one word or number is pointed at itself, a larger one at its key.
        """
        node = self.node
        start = node.place.start
        place = Place(start, start + 1)
        for step in _STEP.finditer(path):
            below = None
            name = step[1] or step[2]
            if name is not None and node.fields is not None:
                below, key = node.fields.get(name), node.keys.get(name)
                if below is None:
                    break
                place = key if key is not None else below.place
            elif step[3] is not None and node.items is not None and int(step[3]) < len(node.items):
                below = node.items[int(step[3])]
                place = Place(below.place.start, below.place.start + 1)
            if below is None:
                break
            node = below
        is_shown = node.is_scalar and node.place.end > node.place.start and not at_key
        return node.place if is_shown else place

    def column_of(self, path: str, place: Place, message: str) -> Place:
        """The place within a text that a message says with `column N: `, if that can be told."""
        column = _COLUMN.match(message)
        value: Any = self.content
        for step in path.split("."):
            value = value.get(step) if isinstance(value, dict) else None
        if column is None or not isinstance(value, str):
            return place
        said = self.text.text[place.start : place.end]
        quote = 1 if said[:1] in ("'", '"') else 0
        if said[quote : len(said) - quote] != value:  # folded, or with escapes
            return place
        start = place.start + quote + int(column[1]) - 1
        return Place(min(start, place.end - 1), place.end - quote)


class Manifests(Frozen):
    """All objects of all files, and what is wrong with finding and reading them."""

    objects: tuple[Manifest, ...]
    findings: tuple[Finding, ...]
    paths: tuple[str, ...]
    """The files that were read."""


def read_manifests(paths: Iterable[str]) -> Manifests:
    """The objects of files, of all manifests below directories, and of standard input (`-`)."""
    objects: list[Manifest] = []
    findings: list[Finding] = []
    read: list[str] = []
    for path in paths:
        for file in _files(path, findings):
            try:
                data = standard_input() if file == STANDARD_INPUT else _read(file)
            except KronError as error:
                findings.append(Finding.of_error(error, file))
                continue
            read.append(file)
            objects += _objects(file, data, findings)
    return Manifests(tuple(objects), tuple(findings), tuple(read))


def _files(path: str, findings: list[Finding]) -> Iterator[str]:
    """The file itself, or the manifests below a directory, sorted by path."""
    if path == STANDARD_INPUT or not os.path.isdir(path):  # noqa: PTH112
        yield path
        return

    def fail(error: OSError) -> None:
        name = str(error.filename)
        problem = KronError(Code.FILE_UNREADABLE, f"{name} cannot be read: {error.strerror}")
        findings.append(Finding.of_error(problem, name))

    found: list[str] = []
    for directory, names, files in os.walk(path, onerror=fail):
        names[:] = [name for name in names if not name.startswith(".")]
        found += [
            os.path.join(directory, name)  # noqa: PTH118
            for name in files
            if name.endswith(SUFFIXES) and not name.startswith(".")
        ]
    found = [file for file in found if not _is_pipe(file)]  # one that is meant is named itself
    if not found:
        message = f"{path} has no manifest: no file in it ends in {', '.join(SUFFIXES)}"
        findings.append(Finding.of_error(KronError(Code.FILE_MISSING, message), path))
    yield from sorted(found)


def _is_pipe(path: str) -> bool:
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)  # noqa: PTH116
    except (OSError, ValueError):
        return False


def _read(path: str) -> bytes:
    most = DEFAULT_LIMITS.file_bytes
    try:
        # A pipe is waited for, until its writer has closed it. A device may wait for a line that
        # nobody calls, so it is opened without waiting; what it then has is read to its end, too.
        waiting = 0 if _is_pipe(path) else os.O_NONBLOCK
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC | waiting), "rb") as file:
            os.set_blocking(file.fileno(), True)
            data = file.read(most + 1)
    except FileNotFoundError:
        raise KronError(Code.FILE_MISSING, f"there is no {path}") from None
    except (OSError, ValueError) as error:  # a NUL in a path is a ValueError
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise KronError(Code.FILE_UNREADABLE, f"{path} cannot be read: {why}") from None
    if len(data) > most:
        message = f"{path} is longer than {most:,} bytes"
        raise KronError(Code.LIMIT, message, fix="split it into several files")
    return data


def _objects(path: str, data: bytes, findings: list[Finding]) -> Iterator[Manifest]:
    try:
        text = Text(path, data.decode().removeprefix(_BYTE_ORDER_MARK))
    except UnicodeDecodeError as error:
        before = Text(path, data[: error.start].decode())
        byte = data[error.start]
        message = f"the byte 0x{byte:02x} is not UTF-8"
        end = len(before.text)
        findings.append(before.finding(Place(end, end + 1), Code.TEXT, message))
        return
    repeated: list[Repeated] = []
    try:
        for document in read_nodes(text.text, repeated):
            yield from _members(text, document, findings)
    except NodeError as error:
        findings.append(text.finding(error.place, error.code, error.message, error.fix))
    for each in repeated[:SHOWN_PROBLEMS]:
        message = f"the key {quoted(each.key)} stands twice in one mapping"
        findings.append(text.finding(each.place, Code.FIELD_REPEATED, message, "leave one out"))


def _members(text: Text, node: Node, findings: list[Finding]) -> Iterator[Manifest]:
    """The object that a document is, or those of the list that it is."""
    if node.is_scalar and node.scalar is None:
        return  # nothing between two `---`
    if node.fields is None:
        start = node.place.start
        message = "this is no object of Kubernetes: it has no apiVersion and kind"
        findings.append(text.finding(Place(start, start + 1), Code.TEXT, message))
        return
    if (items := _items(node)) is None:
        yield Manifest(text, node, node.value)
        return
    for item in items:
        yield from _members(text, item, findings)


def _items(node: Node) -> list[Node] | None:
    """The objects of a list, of whatever kind; None if it is none."""
    assert node.fields is not None
    kind, items = node.fields.get("kind"), node.fields.get("items")
    name = kind.scalar if kind is not None else None
    if not isinstance(name, str) or not name.endswith(_LIST):
        return None
    if items is None or items.items is None:
        return None
    if name not in _LISTS and any(item.fields is None for item in items.items):
        return None  # its name ends so by chance
    return items.items if name == _LIST else [_typed(node, item) for item in items.items]


def _typed(listed: Node, item: Node) -> Node:
    """An item with the kind and the version that its list says, as the API server writes lists."""
    if item.fields is None or "kind" in item.fields:
        return item
    assert listed.fields is not None
    node = Node(item.place)
    kind = Node(listed.fields["kind"].place)
    kind.scalar = str(listed.fields["kind"].scalar).removesuffix(_LIST)
    version = listed.fields.get("apiVersion")
    said = {"kind": kind} if version is None else {"apiVersion": version, "kind": kind}
    node.fields, node.keys = {**said, **item.fields}, item.keys
    return node


def _word(value: object) -> str:
    return value if isinstance(value, str) else ""


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
