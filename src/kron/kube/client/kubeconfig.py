"""kubeconfig files: read, checked and merged as kubectl merges them (the first file wins).

This is what the files say; `access` makes an `Access` from it.
"""

from __future__ import annotations

import os
from base64 import b64decode
from collections.abc import Sequence
from typing import TypeVar

from kron.core.errors import Code, KronError, did_you_mean, quoted, visible
from kron.core.frozen import Frozen
from kron.kube.api_object import Object
from kron.kube.client.credentials import read_file

Value = TypeVar("Value")

_KINDS: dict[type, str] = {
    str: "a string",
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "a mapping",
}


class Section(Frozen):
    """A mapping of a kubeconfig, with its place, so that every error names the file and the key."""

    path: str
    """The file. Paths in it are relative to its directory."""
    place: str
    """Where in the file: `user "admin"`."""
    values: Object

    def where(self, key: str) -> str:
        return ": ".join(filter(None, (visible(self.path), self.place, key)))

    def error(self, key: str, message: str, fix: str = "") -> KronError:
        return KronError(Code.CLUSTER, f"{self.where(key)}: {message}", fix)

    def get(self, key: str, kind: type[Value]) -> Value | None:
        """The value of `key`; an error if it has another type."""
        value = self.values.get(key)
        if value is None or isinstance(value, kind):
            return value
        # The value may be a token that YAML reads as a number, so the message leaves it out.
        message = f"{_KINDS[kind]} is expected, not {_KINDS.get(type(value), 'something else')}"
        raise self.error(key, message, 'put it in ""' if kind is str else "")

    def text(self, key: str) -> str:
        """A string; '' if it is missing."""
        return self.get(key, str) or ""

    def is_true(self, key: str) -> bool:
        """A boolean; False if it is missing."""
        return self.get(key, bool) is True

    def file(self, key: str) -> str:
        """The path that `key` names, absolute; '' if it is missing."""
        name = self.text(key)
        if "\0" in name:
            raise self.error(key, "a path holds no NUL character")
        return os.path.join(os.path.dirname(self.path), name) if name else ""  # noqa: PTH118,PTH120

    def data(self, key: str) -> bytes:
        """The bytes that `key` holds in base64; b'' if it is missing."""
        try:
            return b64decode("".join(self.text(key).split()), validate=True)
        except ValueError:
            fix = f"write the file in base64, or name it as {key.removesuffix('-data')}"
            raise self.error(key, "not base64", fix) from None

    def section(self, key: str) -> Section:
        """A mapping within; an empty one if it is missing."""
        place = ": ".join(filter(None, (self.place, key)))
        return Section(self.path, place, self.get(key, dict) or {})

    def sections(self, key: str) -> list[Section]:
        """A list of mappings; an empty one if it is missing."""
        items = {f"{key}[{index}]": item for index, item in enumerate(self.get(key, list) or [])}
        listed = self.replace(values=items)
        return [Section(self.path, key, listed.get(each, dict) or {}) for each in items]


class Kubeconfig(Frozen):
    paths: tuple[str, ...]
    named: dict[str, dict[str, Section]]
    """The clusters, users and contexts: by kind, then by name."""
    current: str
    """The name of the current context, or ''."""

    def find(self, kind: str, name: str, wanted_by: str) -> Section:
        sections = self.named[kind]
        if name in sections:
            return sections[name]
        known = ", ".join(quoted(each) for each in list(sections)[:10]) or "none"
        message = f"{', '.join(map(visible, self.paths))}: {wanted_by}: no {kind} {quoted(name)}"
        fix = did_you_mean(name, sections) or f"its {kind}s are: {known}"
        raise KronError(Code.CLUSTER, message, fix)


def read_kubeconfig(paths: Sequence[str], *, may_be_missing: bool) -> Kubeconfig | None:
    """What the files at `paths` say together; None if `may_be_missing` and all are."""
    files = [file for path in paths if (file := _read(path, may_be_missing)) is not None]
    if not files:
        return None
    named: dict[str, dict[str, Section]] = {"cluster": {}, "user": {}, "context": {}}
    for file in reversed(files):  # the first file overrides the others
        for kind in named:
            named[kind] |= _named(file, kind)
    current = next(filter(None, (file.text("current-context") for file in files)), "")
    return Kubeconfig(tuple(file.path for file in files), named, current)


def _named(file: Section, kind: str) -> dict[str, Section]:
    key, found = f"{kind}s", dict[str, Section]()
    for index, item in enumerate(file.sections(key)):
        name = item.text("name")
        if not name:
            raise file.error(f"{key}[{index}]", "it has no name", "give it a name")
        if name in found:
            message = f"two have the name {quoted(name)}"
            raise file.error(key, message, "rename one, or remove it")
        found[name] = item.section(kind).replace(place=f"{kind} {quoted(name)}")
    return found


def _read(path: str, may_be_missing: bool) -> Section | None:
    path = os.path.abspath(path)  # noqa: PTH100
    try:
        content = read_file(path)
    except FileNotFoundError:
        if may_be_missing:
            return None
        message = f"{visible(path)}: this kubeconfig does not exist"
        raise KronError(Code.CLUSTER, message, fix="name one with --kubeconfig") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        message = f"{visible(path)}: the kubeconfig cannot be read: {why}"
        raise KronError(Code.CLUSTER, message, fix="name one that you can read") from None
    file = Section(path, "", {})
    whole = file.replace(values={"": _parse(file, content)})
    file = file.replace(values=whole.get("", dict) or {})
    kind = file.text("kind")
    if kind not in ("", "Config"):
        raise file.error("kind", f"{quoted(kind)} is not a kubeconfig", "its kind is Config")
    return file


def _parse(file: Section, content: bytes) -> object:
    import yaml

    try:
        # Not the loader in C: a million brackets would overflow its stack.
        return yaml.load(content, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        # The parser's own message may quote the text around it, which may be a secret.
        mark = error.problem_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise file.error(where, "not YAML") from None
    except (yaml.YAMLError, ValueError, RecursionError, KeyError, TypeError):
        raise file.error("", "not YAML") from None
