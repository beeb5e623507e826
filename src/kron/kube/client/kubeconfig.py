"""kubeconfig files: read, checked and merged as kubectl merges them (the first to say it wins).

Here is what the files say; `access` makes an `Access` of it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from kron.core.errors import Code, KronError, did_you_mean, quoted, visible
from kron.core.frozen import Frozen
from kron.kube.client.files import read_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Section(Frozen):
    """A mapping of a kubeconfig, with its place, so that every error names the file and the key."""

    path: str
    """The file. Paths in it are relative to its directory."""
    place: str
    """Where in the file: `user "admin"`."""
    values: dict[str, Any]

    def where(self, key: str) -> str:
        """The place of `key`, for messages."""
        return ": ".join(filter(None, (visible(self.path), self.place, key)))

    def error(self, key: str, message: str, fix: str = "") -> KronError:
        """What is wrong with `key`."""
        return KronError(Code.CLUSTER, f"{self.where(key)}: {message}", fix)

    def text(self, key: str) -> str:
        """A string; '' if it is not there."""
        value = self.values.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            # The value may be a token that YAML takes for a number: it is not quoted.
            raise self.error(key, f"a string is expected, not {_kind(value)}", 'put it in ""')
        return value

    def is_true(self, key: str) -> bool:
        """A boolean; False if it is not there."""
        value = self.values.get(key)
        if value is None or isinstance(value, bool):
            return value is True
        raise self.error(key, f"true or false is expected, not {_kind(value)}")

    def file(self, key: str) -> str:
        """The path that `key` names, absolute; '' if it is not there."""
        name = self.text(key)
        if "\0" in name:
            raise self.error(key, "a path holds no NUL character")
        return os.path.join(os.path.dirname(self.path), name) if name else ""  # noqa: PTH118,PTH120

    def data(self, key: str) -> bytes:
        """The bytes that `key` holds in base64; b'' if it is not there."""
        text = self.text(key)
        import base64

        try:
            return base64.b64decode("".join(text.split()), validate=True)
        except ValueError:
            fix = f"write the file in base64, or name it as {key.removesuffix('-data')}"
            raise self.error(key, "not base64", fix) from None

    def section(self, key: str) -> Section:
        """A mapping within; an empty one if it is not there."""
        place = ": ".join(filter(None, (self.place, key)))
        value = self.values.get(key)
        if value is None:
            return Section(self.path, place, {})
        if not isinstance(value, dict):
            raise self.error(key, f"a mapping is expected, not {_kind(value)}")
        return Section(self.path, place, value)

    def sections(self, key: str) -> list[Section]:
        """A list of mappings; an empty one if it is not there."""
        value = self.values.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.error(key, f"a list is expected, not {_kind(value)}")
        for index, item in enumerate(value):
            if not isinstance(item, dict):
                raise self.error(f"{key}[{index}]", f"a mapping is expected, not {_kind(item)}")
        return [Section(self.path, key, item) for item in value]


class Kubeconfig(Frozen):
    """What one or more files say together."""

    paths: tuple[str, ...]
    clusters: dict[str, Section]
    users: dict[str, Section]
    contexts: dict[str, Section]
    current: str
    """The name of the current context, or ''."""

    def find(self, kind: str, name: str, wanted_by: str) -> Section:
        """The cluster, user or context of this name."""
        sections: dict[str, Section] = getattr(self, f"{kind}s")
        if name in sections:
            return sections[name]
        known = ", ".join(quoted(each) for each in list(sections)[:10]) or "none"
        message = f"{', '.join(map(visible, self.paths))}: {wanted_by}: no {kind} {quoted(name)}"
        fix = did_you_mean(name, sections) or f"{kind}s there are: {known}"
        raise KronError(Code.CLUSTER, message, fix)


def read_kubeconfig(paths: Sequence[str], *, may_be_missing: bool) -> Kubeconfig | None:
    """What the files at `paths` say together; None if `may_be_missing` and all are."""
    files = [file for path in paths if (file := _read(path, may_be_missing)) is not None]
    if not files:
        return None
    clusters: dict[str, Section] = {}
    users: dict[str, Section] = {}
    contexts: dict[str, Section] = {}
    for file in reversed(files):  # the first file has the last word
        clusters |= _named(file, "clusters", "cluster")
        users |= _named(file, "users", "user")
        contexts |= _named(file, "contexts", "context")
    current = next(filter(None, (file.text("current-context") for file in files)), "")
    return Kubeconfig(tuple(file.path for file in files), clusters, users, contexts, current)


def _named(file: Section, key: str, kind: str) -> dict[str, Section]:
    found: dict[str, Section] = {}
    for index, item in enumerate(file.sections(key)):
        name = item.text("name")
        if not name:
            raise file.error(f"{key}[{index}]", "it has no name", "give it a name")
        if name in found:
            message = f"two have the name {quoted(name)}"
            raise file.error(key, message, "rename one, or remove it")
        within = item.section(kind)
        found[name] = within.replace(place=f"{kind} {quoted(name)}")
    return found


def _read(path: str, may_be_missing: bool) -> Section | None:
    path = os.path.abspath(path)  # noqa: PTH100
    try:
        content = read_file(path)
    except FileNotFoundError:
        if may_be_missing:
            return None
        message = f"{visible(path)}: there is no such kubeconfig"
        raise KronError(Code.CLUSTER, message, fix="name one with --kubeconfig") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        message = f"{visible(path)}: the kubeconfig cannot be read: {why}"
        raise KronError(Code.CLUSTER, message, fix="name one that you can read") from None
    file = Section(path, "", {})
    value = _parse(file, content)
    if value is None:
        return file
    if not isinstance(value, dict):
        raise file.error("", f"a kubeconfig is a mapping, not {_kind(value)}")
    file = file.replace(values=value)
    kind = file.text("kind")
    if kind not in ("", "Config"):
        raise file.error("kind", f"{quoted(kind)} is not a kubeconfig", "its kind is Config")
    return file


def _parse(file: Section, content: bytes) -> object:
    try:
        import yaml
    except ImportError:
        message = "reading it needs PyYAML, which is not installed"
        raise file.error("", message, 'install "krond[kube]"') from None
    try:
        # Not the loader in C: a million brackets would overflow its stack.
        return yaml.load(content, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        # The parser's own message may quote the text around, and that may be a secret.
        mark = error.problem_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise file.error(where, "not YAML") from None
    except (yaml.YAMLError, ValueError, RecursionError, KeyError, TypeError):
        raise file.error("", "not YAML") from None


def _kind(value: object) -> str:
    kinds = {str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    kinds |= {list: "a list", dict: "a mapping", type(None): "nothing"}
    return kinds.get(type(value), "something else")
