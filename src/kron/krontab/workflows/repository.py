"""The repository that a workflow is in: its root, its slug, and with them the identifier.

`owner/name/path/of/the/file` is what a schedule is scattered by. The slug comes from `--repo` or
from the remote `origin`; where neither says it, that is an error and no default takes its place.
"""

from __future__ import annotations

import re
from pathlib import Path

from kron.core.errors import Code, KronError, quoted
from kron.core.frozen import Frozen
from kron.jobs.source import own_access, read_file
from kron.krontab.workflows.git_config import origin_url

_NAME = r"[A-Za-z0-9._-]{1,100}"
_SLUG = re.compile(rf"{_NAME}/{_NAME}")
_URL = re.compile(r"(?:https?|ssh|git|git\+ssh|ssh\+git)://[^/]++/+(.*+)", re.IGNORECASE)
_SCP = re.compile(r"(?:[^@/:]++@)?[^/:]++:(?!//)/?(.*+)")
_CREDENTIALS = re.compile(r"//[^/@]*+@")
_ASK = "name it: --repo OWNER/NAME"


class Repository(Frozen):
    """Where the root is, and what is known of the slug."""

    root: Path | None
    slug: str = ""
    trouble: str = ""
    """Why there is no slug."""


class UnknownRepositoryError(KronError):
    """A file whose identifier cannot be told."""

    def __init__(self, message: str, fix: str = _ASK) -> None:
        super().__init__(Code.IDENTITY, message, fix=fix)
        self.args = (message, fix)


def is_slug(text: str) -> bool:
    """Whether it is OWNER/NAME."""
    return _SLUG.fullmatch(text) is not None and not {".", ".."} & set(text.split("/"))


def slug_of_url(url: str) -> str | None:
    """OWNER/NAME from the URL of a remote; None if it says none, as a path does."""
    match = _URL.fullmatch(url) or _SCP.fullmatch(url)
    if match is None:
        return None
    path = match[1].rstrip("/").removesuffix(".git")
    return path if is_slug(path) else None


class Repositories:
    """Finds the repository of each file; every `.git` is looked at once."""

    def __init__(self, slug: str | None = None) -> None:
        self._slug = slug
        self._by_directory: dict[Path, Repository] = {}
        self._by_root: dict[Path, Repository] = {}

    def identifier(self, path: str) -> str:
        """`owner/name/path` of a file; an `UnknownRepositoryError` if it is not to be had."""
        file = Path(path)
        directory = file.parent.resolve()
        repository = self._of_directory(directory)
        root = repository.root or Path.cwd()
        slug = self._slug or repository.slug
        if not slug:
            raise UnknownRepositoryError(f"the repository is not known: {repository.trouble}")
        try:
            relative = (directory / file.name).relative_to(root)
        except ValueError:
            message = f"the file is in no repository, and not below {root} either"
            raise UnknownRepositoryError(message, "run krontab in the root of it") from None
        return f"{slug}/{relative.as_posix()}"

    def _of_directory(self, directory: Path) -> Repository:
        known = self._by_directory.get(directory)
        if known is None:
            root = next(
                (each for each in (directory, *directory.parents) if (each / ".git").exists()), None
            )
            known = self._of_root(root) if root else Repository(None, trouble="there is no .git")
            self._by_directory[directory] = known
        return known

    def _of_root(self, root: Path) -> Repository:
        if root not in self._by_root:
            self._by_root[root] = self._read(root)
        return self._by_root[root]

    def _read(self, root: Path) -> Repository:
        if self._slug:
            return Repository(root)  # nothing more is asked of it
        try:
            config = _common_directory(root / ".git") / "config"
            url = origin_url(_text(config))
        except KronError as error:
            return Repository(root, trouble=error.message)
        if url is None:
            return Repository(root, trouble=f"{config} has no remote origin")
        slug = slug_of_url(url)
        if slug is None:
            shown = quoted(_CREDENTIALS.sub("//***@", url))
            trouble = f"the remote origin, {shown}, does not end in OWNER/NAME"
            return Repository(root, trouble=trouble)
        return Repository(root, slug)


def _common_directory(git: Path) -> Path:
    """The directory with the configuration: elsewhere for a worktree and for a submodule."""
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
        raise KronError(Code.TEXT, f"{path} is not a text")
    return data.decode(errors="surrogateescape")
