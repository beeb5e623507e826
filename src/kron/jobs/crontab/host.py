"""All crontabs of a host: those of the system and those of its users, read as they are.

cron ignores a crontab with an error and runs the others, and so does krond: an ignored crontab is
a warning. Only an error that affects every crontab, such as an unknown time zone, is a failure.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence

from kron.core.errors import Code, KronError, quoted, visible
from kron.core.limits import DEFAULT_LIMITS, Limits
from kron.jobs.configuration import Configuration
from kron.jobs.crontab.crontab import (
    SYSTEM_DIRECTORY,
    SYSTEM_FILE,
    USER_DIRECTORIES,
    Crontab,
    read_crontab,
)
from kron.jobs.crontab.local import Accounts, system_zone
from kron.jobs.crontab.note import NoteCode
from kron.jobs.document import Document
from kron.jobs.finding import Finding, Severity
from kron.jobs.source import FileAccess, list_directory, read_file

SHOWN_OF_A_FILE = 20
"""How many warnings of one crontab are reported: a user could write 100,000 lines with one each."""

_LOCALTIME = "/etc/localtime"
_TIMEZONE = "/etc/timezone"
_SYSTEM_NAME = re.compile(r"[A-Za-z0-9_-]++")
_NO_CRONTAB = (".", "#", "tmp.")
"""Prefixes of the files in which `crontab -e` prepares a new crontab."""


def watched(root: str = "") -> list[str]:
    """The directories in which a change may change the configuration, whether they exist or not.

    /etc is one of them, for /etc/crontab, /etc/localtime and /etc/timezone.
    """
    system = os.path.dirname(SYSTEM_FILE)  # noqa: PTH120
    return [f"{root}{path}" for path in (system, SYSTEM_DIRECTORY, *USER_DIRECTORIES)]


def load_host(
    access: FileAccess,
    *,
    node: str = "",
    limits: Limits = DEFAULT_LIMITS,
    root: str = "",
) -> Configuration:
    """Read every crontab of the host.

    `root` is put before each path, and so becomes a part of identities. Users are the host's.
    """
    try:
        zone = system_zone(f"{root}{_LOCALTIME}", f"{root}{_TIMEZONE}")
    except KronError as error:
        fix = "make it a link such as /usr/share/zoneinfo/Europe/Paris"
        failure = Finding.of_error(error, f"{root}{_LOCALTIME}").replace(fix=fix)
        return Configuration((), (failure,))
    reader = _HostReader(access, node, limits, zone)
    reader.read_system(f"{root}{SYSTEM_FILE}", f"{root}{SYSTEM_DIRECTORY}")
    reader.read_users([f"{root}{directory}" for directory in USER_DIRECTORIES])
    return Configuration(tuple(reader.documents), (), tuple(reader.ignored), tuple(reader.warnings))


class _HostReader:
    def __init__(self, access: FileAccess, node: str, limits: Limits, zone: str) -> None:
        self._access = access
        self._node = node
        self._limits = limits
        self._zone = zone
        self._accounts = Accounts()
        self._jobs = 0
        self.documents: list[Document] = []
        self.warnings: list[Finding] = []
        self.ignored: list[str] = []

    def read_system(self, file: str, directory: str) -> None:
        """The crontabs whose lines name a user."""
        paths = [file] if os.path.lexists(file) else []
        for path in [*paths, *self._listed(directory, _SYSTEM_NAME.fullmatch, is_spool=False)]:
            self._read(path, None)

    def read_users(self, directories: Sequence[str]) -> None:
        """The crontabs that are named after their users; the first one of each user."""
        paths: dict[str, str] = {}
        for directory in directories:
            for path in self._listed(directory, _is_user_name, is_spool=True):
                user = os.path.basename(path)  # noqa: PTH119
                if path in directories:
                    continue
                if os.path.isdir(path):  # noqa: PTH112 (read_file looks again)
                    self.ignored.append(path)
                elif user in paths:
                    why = f"{paths[user]} is the crontab of {quoted(user)} that runs"
                    self._skip(path, NoteCode.TWICE, why, "remove one")
                else:
                    paths[user] = path
                    self._read(path, user)

    def _listed(
        self, directory: str, is_read: Callable[[str], object], *, is_spool: bool
    ) -> Sequence[str]:
        try:
            read, others = list_directory(
                directory, self._access, is_read=is_read, is_spool=is_spool
            )
        except KronError as error:
            if error.code is not Code.FILE_MISSING:  # no host has all of the directories
                what = "no job in it runs"
                self._skip(directory, error.code, error.message, error.fix, what=what)
            return ()
        self.ignored += others
        return read

    def _read(self, path: str, owner: str | None) -> None:
        user_uid = None if owner is None else self._accounts.uid_of(owner)
        if owner is not None and user_uid is None:
            why = f"there is no user {quoted(owner)} here"
            self._skip(path, NoteCode.USER_UNKNOWN, why, "create the user, or remove the file")
            return
        try:
            data = read_file(path, self._access, self._limits, user_uid=user_uid)
        except KronError as error:
            self._skip(path, error.code, error.message, error.fix)
            return
        crontab = read_crontab(
            data,
            path,
            owner,
            zone=self._zone,
            home_of=self._accounts.home_of,
            node=self._node,
            limits=self._limits,
            jobs_before=self._jobs,
            users_must_exist=True,
        )
        self.warnings.extend(_warnings_of(crontab))
        if not crontab.findings:
            document = Document(path, data.decode(), tuple(crontab.entries), ())
            self.documents.append(document)
            self._jobs += len(document.entries)

    def _skip(
        self, path: str, code: str, why: str, fix: str, *, what: str = "its jobs do not run"
    ) -> None:
        warning = Finding(Severity.WARNING, code, f"{what}: {why}", visible(path), fix=fix)
        self.warnings.append(warning)


def _is_user_name(name: str) -> bool:
    return not name.startswith(_NO_CRONTAB) and not name.endswith("~")


def _warnings_of(crontab: Crontab) -> Iterator[Finding]:
    """Why the jobs of a crontab do not run; if they do, what krond does differently."""
    errors = crontab.findings
    if errors:
        count = "an error" if len(errors) == 1 else f"{len(errors):,} errors"
        message = f"its jobs do not run: it has {count}"
        fix = "fix it: like cron, krond runs only crontabs without errors"
        yield Finding(Severity.WARNING, NoteCode.LEFT_OUT, message, crontab.path, fix=fix)
    found = errors or crontab.notes
    for finding in found[:SHOWN_OF_A_FILE]:
        yield finding.replace(severity=Severity.WARNING)
    if len(found) > SHOWN_OF_A_FILE:
        what = "errors" if errors else "notes"
        message = f"{len(found) - SHOWN_OF_A_FILE:,} more {what} are not shown"
        fix = "krontab import shows all of them"
        code = found[SHOWN_OF_A_FILE].code
        yield Finding(Severity.WARNING, code, message, crontab.path, fix=fix)
