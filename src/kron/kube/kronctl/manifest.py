"""Manifests: the objects of YAML and JSON files, with the position of every field."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from kron.console.terminal import standard_input
from kron.core.errors import SHOWN_PROBLEMS, Code, KronError, did_you_mean, quoted
from kron.core.frozen import Frozen
from kron.core.limits import DEFAULT_LIMITS
from kron.jobs.finding import Finding
from kron.jobs.source import STANDARD_INPUT
from kron.kube.api_object import Object, member, text
from kron.kube.kronctl.values import find_field, read_values
from kron.yaml_text.file_text import BYTE_ORDER_MARK, FileText, files_below
from kron.yaml_text.tree import NodeType, Repeated, YamlError, YamlNode

TextRange = tuple[int, int]
"""[start, end) in the characters of a text."""
SUFFIXES = (".yaml", ".yml", ".json")
_STEP = re.compile(r'\["([^"]++)"\]|([^.\[\]]++)|\[([0-9]{1,9}+)\]')
_COLUMN = re.compile(r"column ([0-9]{1,6}+): ")
_LIST = "List"
_LISTS = (_LIST, "KronJobList", "CronJobList")


class Manifest(Frozen):
    """One object of a file. Its kind, API version, name and namespace are '' if it has none."""

    file: FileText
    root: YamlNode
    content: Object

    @property
    def kind(self) -> str:
        return text(self.content, "kind")

    @property
    def api_version(self) -> str:
        return text(self.content, "apiVersion")

    @property
    def name(self) -> str:
        return text(member(self.content, "metadata"), "name")

    @property
    def namespace(self) -> str:
        return text(member(self.content, "metadata"), "namespace")

    def is_meant_as(self, kind: str, group: str) -> bool:
        """Whether it is of this kind and group, or one of them is misspelt."""
        said, slash, _ = self.api_version.rpartition("/")
        if said == group and not self.kind.endswith(_LIST):
            return bool(did_you_mean(self.kind, (kind,)))
        is_kind = self.kind.lower() == kind.lower()
        return is_kind and (not slash or bool(did_you_mean(said, (group,))))

    @property
    def line(self) -> int:
        return self.file.line_of(self.root.start)

    def place_of(self, path: str, *, at_key: bool = False) -> TextRange:
        """Where a field stands or, if it is missing, the last field on the way to it.

        The place of a text or number is its own; that of a larger value is its key.
        """
        node = self.root
        place = (node.start, node.start + 1)
        for step in _STEP.finditer(path):
            if step[3] is None:
                found = find_field(node, step[1] or step[2])
                if found is None:
                    break
                key, node = found
                place = (key.start, key.end)
            else:
                items = node.children if node.type is NodeType.SEQUENCE else []
                if int(step[3]) >= len(items):
                    break
                node = items[int(step[3])].resolved
                place = (node.start, node.start + 1)
        is_own = node.is_scalar and node.end > node.start and not at_key
        return (node.start, node.end) if is_own else place

    def column_of(self, path: str, place: TextRange, message: str) -> TextRange:
        """The place within a text that a message names with `column N: `, if it can be found."""
        column = _COLUMN.match(message)
        value: object = self.content
        for step in path.split("."):
            value = value.get(step) if isinstance(value, dict) else None
        if column is None or not isinstance(value, str):
            return place
        start, end = place
        said = self.file.text[start:end]
        quote = 1 if said[:1] in ("'", '"') else 0
        if said[quote : len(said) - quote] != value:  # folded, or with escapes
            return place
        return (min(start + quote + int(column[1]) - 1, end - 1), end - quote)


class Manifests(Frozen):
    """All objects of all files, and the errors in finding and reading them."""

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

    # Only a pipe that is named is read: opening it waits for its writer.
    below = files_below(path, SUFFIXES, findings)
    found = [file for file in below if not Path(file).is_fifo()]
    if not found:
        message = f"{path} has no manifest: no file in it ends in {', '.join(SUFFIXES)}"
        findings.append(Finding.of_error(KronError(Code.FILE_MISSING, message), path))
    yield from found


def _read(path: str) -> bytes:
    most = DEFAULT_LIMITS.file_bytes
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            data = file.read(most + 1)
    except FileNotFoundError:
        raise KronError(Code.FILE_MISSING, f"{path} does not exist") from None
    except (OSError, ValueError) as error:  # a NUL in a path is a ValueError
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise KronError(Code.FILE_UNREADABLE, f"{path} cannot be read: {why}") from None
    if len(data) > most:
        message = f"{path} is longer than {most:,} bytes"
        raise KronError(Code.LIMIT, message, fix="split it into several files")
    return data


def _objects(path: str, data: bytes, findings: list[Finding]) -> Iterator[Manifest]:
    try:
        file = FileText(path, data.decode().removeprefix(BYTE_ORDER_MARK))
    except UnicodeDecodeError as error:
        before = FileText(path, data[: error.start].decode())
        end = len(before.text)
        message = f"the byte 0x{data[error.start]:02x} is not UTF-8"
        findings.append(before.finding(Code.TEXT, message, end, end + 1))
        return
    repeated: Repeated = []
    try:
        for root, value in read_values(file.text, repeated):
            yield from _members(file, root, value, findings)
    except YamlError as error:
        findings.append(file.finding(error.code, error.message, error.start, error.end, error.fix))
    for key, _ in repeated[:SHOWN_PROBLEMS]:
        message = f"the key {quoted(key.resolved.value)} is given twice"
        finding = file.finding(Code.FIELD_REPEATED, message, key.start, key.end, "leave one out")
        findings.append(finding)


def _members(
    file: FileText, node: YamlNode, value: object, findings: list[Finding]
) -> Iterator[Manifest]:
    """The object of a document, or all objects if it is a list."""
    if value is None:
        return  # an empty document
    if not isinstance(value, dict):
        message = "this is not a Kubernetes object: it has no apiVersion and kind"
        findings.append(file.finding(Code.TEXT, message, node.start, node.start + 1))
        return
    items = _items(value)
    listed = find_field(node, "items")
    if items is None or listed is None:
        yield Manifest(file, node, value)
        return
    for below, item in zip(listed[1].children, items, strict=True):
        yield from _members(file, below.resolved, item, findings)


def _items(value: Object) -> list[object] | None:
    """The objects of a list of any kind; None if it is not a list."""
    kind, items = text(value, "kind"), value.get("items")
    if not kind.endswith(_LIST) or not isinstance(items, list):
        return None
    if kind not in _LISTS and not all(isinstance(item, dict) for item in items):
        return None  # a resource whose own name ends in List
    if kind == _LIST:
        return items
    # The API server leaves the kind and the version out of items.
    said = {"apiVersion": value.get("apiVersion"), "kind": kind.removesuffix(_LIST)}
    typed = {name: each for name, each in said.items() if each is not None}
    return [
        {**typed, **item} if isinstance(item, dict) and "kind" not in item else item
        for item in items
    ]
