"""Users, groups and directories that the host does not have."""

from __future__ import annotations

from collections.abc import Iterator

from kron.core.errors import quoted
from kron.jobs.advice.host import Host, Kind
from kron.jobs.advice.remark import Advice, Remark, field
from kron.jobs.task import Destination, Task


class Accounts:
    """Asks the host about each name and directory once."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._users: dict[str, bool] = {}
        self._groups: dict[str, bool] = {}
        self._directories: dict[str, Kind] = {}

    def remarks(self, task: Task) -> Iterator[Remark]:
        """What a task needs and the host does not have. A number needs no name."""
        if task.user and not task.user.isdigit() and not self._has_user(task.user):
            yield Remark(
                Advice.USER_UNKNOWN,
                field("user"),
                f"there is no user {quoted(task.user)} on this host: no run could be started",
                "create it, or name another",
            )
        if task.group and not task.group.isdigit() and not self._has_group(task.group):
            yield Remark(
                Advice.GROUP_UNKNOWN,
                field("group"),
                f"there is no group {quoted(task.group)} on this host: no run could be started",
                "create it, or name another",
            )
        if task.cwd:
            yield from self._directory(task.cwd, "cwd", "to run in")
        for key, output in (("stdout", task.stdout), ("stderr", task.stderr)):
            if output.destination is Destination.FILE:
                yield from self._directory(_fixed_directory(output.path), key, "to write to")

    def _directory(self, path: str, key: str, purpose: str) -> Iterator[Remark]:
        kind = self._directories.get(path)
        if kind is None:
            kind = self._directories[path] = self._host.look(path)
        if kind in (Kind.DIRECTORY, Kind.HIDDEN):
            return
        message = f"there is no directory {quoted(path)} {purpose}"
        fix = f"mkdir -p {quoted(path)}"
        if kind is not Kind.MISSING:
            message, fix = f"{quoted(path)} is not a directory {purpose}", "name a directory"
        yield Remark(Advice.DIRECTORY_MISSING, field(key), message, fix)

    def _has_user(self, name: str) -> bool:
        if name not in self._users:
            self._users[name] = self._host.has_user(name)
        return self._users[name]

    def _has_group(self, name: str) -> bool:
        if name not in self._groups:
            self._groups[name] = self._host.has_group(name)
        return self._groups[name]


def _fixed_directory(path: str) -> str:
    """The directory of a file, up to where its name depends on the run."""
    tokens = [place for token in "%{" if (place := path.find(token)) >= 0]
    fixed = path[: min(tokens, default=len(path))]
    return fixed.rpartition("/")[0] or "/"
