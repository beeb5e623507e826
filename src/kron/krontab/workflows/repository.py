"""The repository of a workflow: its root, its slug, and the identifier made from them.

A schedule is scattered by its identifier, `owner/name/path/of/the/file`. The slug comes from
`--repo` or from the remote `origin`. If neither has it, that is an error: there is no default.

The git configuration is read here instead of by `git config`: so krontab needs no git, starts no
process, and gives the same answer inside a hook, where git's own variables point elsewhere.
Included files are ignored.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from kron.core.errors import Code, KronError, visible
from kron.jobs.source import own_access, read_file

_NAME = r"[A-Za-z0-9._-]{1,100}"
_SLUG = re.compile(rf"{_NAME}/{_NAME}")
_URL = re.compile(r"(?:https?|ssh|git|git\+ssh|ssh\+git)://[^/]++/+(.*+)", re.IGNORECASE)
_SCP = re.compile(r"(?:[^@/:]++@)?[^/:]++:(?!//)/?(.*+)")
_CREDENTIALS = re.compile(r"//[^/@]*+@")
_LINE = re.compile(
    r'[ \t]*+(?:\[[ \t]*+(?P<section>[\w.-]++)(?:[ \t]++"(?P<name>(?:[^"\\\n]|\\.)*+)")?+[ \t]*+\]'
    r"[ \t]*+)?+(?P<key>[A-Za-z][\w-]*+)?+[ \t]*+(?:=[ \t]*+"
    r'(?P<value>(?:"(?:[^"\\\n]|\\(?:\r\n|(?s:.)))*+"|\\(?:\r\n|(?s:.))|[^"\\\n#;])*+))?+'
)
"""A line of a git configuration: a header, a setting, both or (a comment, an error) neither."""
_QUOTE_OR_ESCAPE = re.compile(r'"|\\(\r\n|(?s:.))')
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", '"': '"', "\\": "\\"}


def is_slug(text: str) -> bool:
    return _SLUG.fullmatch(text) is not None and not {".", ".."} & set(text.split("/"))


def slug_of_url(url: str) -> str | None:
    """OWNER/NAME from the URL of a remote; None if it has none, like a path."""
    match = _URL.fullmatch(url) or _SCP.fullmatch(url)
    if match is None:
        return None
    path = match[1].rstrip("/").removesuffix(".git")
    return path if is_slug(path) else None


def origin_url(config: str) -> str | None:
    """The URL of `origin` in a git configuration, the first one if it has several."""
    section = ("", "")
    position = 0
    while position < len(config):
        line = _LINE.match(config, position)
        assert line is not None  # the pattern also matches nothing
        if line["section"]:
            section = (line["section"].lower(), re.sub(r"\\(.)", r"\1", line["name"] or ""))
        if section == ("remote", "origin") and (line["key"] or "").lower() == "url":
            value = (line["value"] or "").rstrip(" \t\r")
            return _QUOTE_OR_ESCAPE.sub(lambda found: _ESCAPES.get(found[1], ""), value)
        position = (config.find("\n", line.end()) + 1) or len(config)
    return None


class Repositories:
    """Finds the repository of each file; every `.git` is read once."""

    def __init__(self, slug: str | None = None) -> None:
        self._slug = slug
        self._root_of = cache(_root_of)
        self._slug_of = cache(_slug_of)

    def identifier(self, path: str) -> str:
        """`owner/name/path` of a file; a `KronError` if it is not known."""
        file = Path(path)
        directory = file.parent.resolve()
        root = self._root_of(directory)
        slug, trouble = (self._slug, "") if self._slug else self._slug_of(root)
        if not slug:
            message = f"the repository is not known: {trouble}"
            raise KronError(Code.IDENTITY, message, fix="name it: --repo OWNER/NAME")
        base = root or Path.cwd()
        try:
            relative = (directory / file.name).relative_to(base)
        except ValueError:
            message = f"the file is in no repository, and not below {base}"
            fix = "run krontab in the root of the repository"
            raise KronError(Code.IDENTITY, message, fix) from None
        return f"{slug}/{relative.as_posix()}"


def _root_of(directory: Path) -> Path | None:
    above = (directory, *directory.parents)
    return next((each for each in above if (each / ".git").exists()), None)


def _slug_of(root: Path | None) -> tuple[str, str]:
    """The slug of the remote `origin`; without one '', and why it is not known."""
    if root is None:
        return "", "no directory above the file has a .git"
    try:
        config = _common_directory(root / ".git") / "config"
        url = origin_url(_text(config))
    except KronError as error:
        return "", error.message
    if url is None:
        return "", f"{config} has no remote origin"
    slug = slug_of_url(url)
    if slug is None:
        shown = visible(_CREDENTIALS.sub("//***@", url))
        return "", f'the remote origin, "{shown}", does not end in OWNER/NAME'
    return slug, ""


def _common_directory(git: Path) -> Path:
    """The directory with the configuration, which a worktree or a submodule has elsewhere."""
    directory = git
    if not git.is_dir():
        where = _text(git).strip()
        if not where.startswith("gitdir:"):
            raise KronError(Code.FILE_KIND, f"{git} is neither a directory nor a link to one")
        directory = git.parent / where.removeprefix("gitdir:").strip()
    common = directory / "commondir"
    return directory / _text(common).strip() if common.exists() else directory


def _text(path: Path) -> str:
    data = read_file(str(path), own_access(insecure=True))
    if b"\0" in data:
        raise KronError(Code.TEXT, f"{path} is not a text file")
    return data.decode(errors="surrogateescape")
