"""All crontabs of a host, as they are: those of the system and those of its users.

cron ignores a crontab that has an error and runs the others, and so does this: what is left out is
a warning. Only what concerns every crontab, such as an unknown time zone, is a failure.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence

from kron.core.errors import Code, KronError, quoted, visible
from kron.core.limits import DEFAULT_LIMITS, Limits
from kron.jobs.configuration import Configuration
from kron.jobs.crontab.account import Accounts
from kron.jobs.crontab.crontab import (
    SYSTEM_DIRECTORY,
    SYSTEM_FILE,
    USER_DIRECTORIES,
    Crontab,
    Kind,
    Place,
    read_crontab,
)
from kron.jobs.crontab.note import NoteCode
from kron.jobs.crontab.zone import system_zone
from kron.jobs.document import Document
from kron.jobs.finding import Finding, Severity
from kron.jobs.identity import Node
from kron.jobs.source import Access, list_directory, read_file

TOLD_OF_A_FILE = 20
"""How many warnings of one crontab are told: a user could write 100,000 lines that need one."""

_LOCALTIME = "/etc/localtime"
_TIMEZONE = "/etc/timezone"
_SYSTEM_NAME = re.compile(r"[A-Za-z0-9_-]++")
_NO_CRONTAB = (".", "#", "tmp.")
"""How the names of files begin with which `crontab -e` prepares a new crontab."""


def watched(root: str = "") -> list[str]:
    """The directories in which a change may mean another configuration, whether they exist or not.

    That of /etc/crontab, /etc/localtime and /etc/timezone is among them.
    """
    system = os.path.dirname(SYSTEM_FILE)  # noqa: PTH120
    return [f"{root}{path}" for path in (system, SYSTEM_DIRECTORY, *USER_DIRECTORIES)]


def load_host(
    access: Access,
    *,
    node: Node = Node(),  # noqa: B008 (frozen)
    limits: Limits = DEFAULT_LIMITS,
    root: str = "",
    progress: Callable[[int], None] | None = None,
) -> Configuration:
    """Read every crontab of the host. `progress` is told of lines read.

    `root` is put before each path, of which identities are made too. Users are those of the host.
    """
    try:
        zone = system_zone(f"{root}{_LOCALTIME}", f"{root}{_TIMEZONE}")
    except KronError as error:
        fix = "make it a link such as /usr/share/zoneinfo/Europe/Paris"
        failure = Finding.of_error(error, f"{root}{_LOCALTIME}").replace(fix=fix)
        return Configuration((), (failure,))
    reader = _HostReader(access, node, limits, zone, progress)
    reader.read_system(f"{root}{SYSTEM_FILE}", f"{root}{SYSTEM_DIRECTORY}")
    reader.read_users([f"{root}{directory}" for directory in USER_DIRECTORIES])
    return Configuration(tuple(reader.documents), (), tuple(reader.ignored), tuple(reader.warnings))


class _HostReader:
    """Reads crontab after crontab, and keeps what all of them come to."""

    def __init__(
        self,
        access: Access,
        node: Node,
        limits: Limits,
        zone: str,
        progress: Callable[[int], None] | None,
    ) -> None:
        self._access = access
        self._node = node
        self._limits = limits
        self._zone = zone
        self._progress = progress
        self._accounts = Accounts()
        self._jobs = 0
        self.documents: list[Document] = []
        self.warnings: list[Finding] = []
        self.ignored: list[str] = []

    def read_system(self, file: str, directory: str) -> None:
        """The crontabs whose lines name a user."""
        paths = [file] if os.path.lexists(file) else []
        for path in [*paths, *self._listed(directory, _is_system_name, is_spool=False)]:
            self._read(path, Place(Kind.SYSTEM))

    def read_users(self, directories: Sequence[str]) -> None:
        """The crontabs that are named after their users, of each user the first."""
        paths: dict[str, str] = {}
        for directory in directories:
            for path in self._listed(directory, _is_user_name, is_spool=True):
                user = os.path.basename(path)  # noqa: PTH119
                if path in directories:
                    continue
                if os.path.isdir(path):  # noqa: PTH112 (read_file looks again)
                    self.ignored.append(path)
                elif user in paths:
                    message = f"{paths[user]} is the crontab of {quoted(user)} that runs"
                    self._warn(NoteCode.TWICE, f"nothing of it runs: {message}", path, "remove one")
                else:
                    paths[user] = path
                    self._read_user(path, user)

    def _read_user(self, path: str, user: str) -> None:
        uid = self._accounts.uid_of(user)
        if uid is None:
            message = f"nothing of it runs: there is no user {quoted(user)} here"
            self._warn(NoteCode.USER_UNKNOWN, message, path, "create the user, or remove the file")
        else:
            self._read(path, Place(Kind.USER, user), uid)

    def _listed(
        self, directory: str, is_read: Callable[[str], bool], *, is_spool: bool
    ) -> tuple[str, ...]:
        try:
            listing = list_directory(directory, self._access, is_read=is_read, is_spool=is_spool)
        except KronError as error:
            if error.code is not Code.FILE_MISSING:  # no host has all of the directories
                self._warn(error.code, f"nothing in it runs: {error.message}", directory, error.fix)
            return ()
        self.ignored.extend(listing.ignored)
        return listing.paths

    def _read(self, path: str, place: Place, user_uid: int | None = None) -> None:
        try:
            data = read_file(path, self._access, self._limits, user_uid=user_uid)
        except KronError as error:
            self._warn(error.code, f"nothing of it runs: {error.message}", path, error.fix)
            return
        crontab = read_crontab(
            data,
            path,
            place,
            zone=self._zone,
            home_of=self._accounts.home_of,
            node=self._node,
            limits=self._limits,
            jobs_before=self._jobs,
            users_must_exist=True,
        )
        if self._progress is not None:
            self._progress(data.count(b"\n"))
        self.warnings.extend(_warnings_of(crontab))
        if not crontab.findings:
            document = Document(path, data.decode(), tuple(crontab.entries), ())
            self.documents.append(document)
            self._jobs += len(document.entries)

    def _warn(self, code: str, message: str, path: str, fix: str) -> None:
        self.warnings.append(Finding(Severity.WARNING, code, message, visible(path), fix=fix))


def _is_system_name(name: str) -> bool:
    return _SYSTEM_NAME.fullmatch(name) is not None


def _is_user_name(name: str) -> bool:
    return not name.startswith(_NO_CRONTAB) and not name.endswith("~")


def _warnings_of(crontab: Crontab) -> Iterator[Finding]:
    """Why nothing of a crontab runs or, if it does, what it says that krond does differently."""
    errors = crontab.findings
    if errors:
        count = "an error" if len(errors) == 1 else f"{len(errors):,} errors"
        message = f"nothing of it runs: it has {count}"
        fix = "mend it: a crontab runs whole or, as with cron, not at all"
        yield Finding(Severity.WARNING, NoteCode.LEFT_OUT, message, crontab.path, fix=fix)
    found = errors or crontab.notes
    for finding in found[:TOLD_OF_A_FILE]:
        # Where a krontab line would say it, a crontab that runs as it is has no place for it.
        fix = "output goes where krond's goes" if finding.code == NoteCode.MAIL else finding.fix
        yield finding.replace(severity=Severity.WARNING, fix=fix)
    if len(found) > TOLD_OF_A_FILE:
        what = "errors" if errors else "notes"
        message = f"there are {len(found) - TOLD_OF_A_FILE:,} more {what}"
        fix = "krontab import tells all of them"
        code = found[TOLD_OF_A_FILE].code
        yield Finding(Severity.WARNING, code, message, crontab.path, fix=fix)
