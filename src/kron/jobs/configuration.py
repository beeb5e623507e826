"""A configuration: all krontab files that krond would read, and all of their errors."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from kron.core.errors import Code, KronError
from kron.core.frozen import Frozen
from kron.core.limits import DEFAULT_LIMITS, Limits
from kron.jobs.document import KEPT_FINDINGS, Document, read_document
from kron.jobs.entry import Entry, find_entry
from kron.jobs.finding import Finding
from kron.jobs.line import LineReader
from kron.jobs.slots import disagreements, is_slots, sizes, unknown
from kron.jobs.source import FileAccess, list_directory, read_file

SYSTEM_DIRECTORY = "/etc/krond.d"
USER_DIRECTORY = "~/.config/krond"


class ConfigurationError(KronError):
    def __init__(self, findings: Sequence[Finding], unshown: int) -> None:
        first = findings[0]
        count = len(findings) + unshown
        message = f"the configuration has {count} error{'s' if count > 1 else ''}"
        super().__init__(Code(first.code), message, fix=first.fix)
        self.args = (findings, unshown)
        self.findings = tuple(findings)
        self.unshown = unshown

    def __str__(self) -> str:
        return "\n".join([*map(str, self.findings), *self._rest])

    @property
    def for_logs(self) -> str:
        """The errors without the lines, which may contain passwords."""
        return "; ".join([*(finding.head for finding in self.findings), *self._rest])

    @property
    def _rest(self) -> list[str]:
        return [f"and {self.unshown:,} more errors"] if self.unshown else []


class Configuration(Frozen):
    documents: tuple[Document, ...]
    failures: tuple[Finding, ...] = ()
    """Files and directories that could not be read at all."""
    ignored: tuple[str, ...] = ()
    """Entries of directories that are not read, because of their name or kind."""
    warnings: tuple[Finding, ...] = ()
    """What krond ignores or does differently; only for crontabs."""
    is_whole: bool = True
    """Whether these are all files that krond reads together, so that no slot is elsewhere."""

    @property
    def entries(self) -> Iterator[Entry]:
        return (entry for document in self.documents for entry in document.entries)

    @property
    def findings(self) -> list[Finding]:
        found = [*self.failures, *(f for document in self.documents for f in document.findings)]
        found += islice(disagreements(self.documents), KEPT_FINDINGS)
        # Else a name may have its size in what does not read, or in another file.
        if self.is_whole and not self.failures and not any(is_slots(each.text) for each in found):
            found += islice(unknown(self.documents), KEPT_FINDINGS)
        return found

    @property
    def slots(self) -> dict[str, int]:
        """The size of each slot."""
        return sizes(self.documents)

    @property
    def unshown(self) -> int:
        """The number of errors beyond the findings."""
        return sum(document.unshown for document in self.documents)

    def checked(self) -> Configuration:
        """This configuration; a `ConfigurationError` if it has errors."""
        if findings := self.findings:
            raise ConfigurationError(findings, self.unshown)
        return self

    def entry(self, name: str) -> Entry:
        return find_entry(self.entries, name, hint="krontab list shows all jobs")


def default_paths() -> list[str]:
    """The default directories that exist."""
    directories = (SYSTEM_DIRECTORY, os.path.expanduser(USER_DIRECTORY))  # noqa: PTH111
    return [path for path in directories if os.path.isdir(path)]  # noqa: PTH112


def load(
    paths: Iterable[str],
    access: FileAccess,
    *,
    node: str = "",
    limits: Limits = DEFAULT_LIMITS,
    progress: Callable[[int], None] | None = None,
) -> Configuration:
    """Read files and the krontab files of directories; `progress` gets the number of lines read."""
    failures: list[Finding] = []
    ignored: list[str] = []
    files: dict[str, None] = {}  # named twice is read once: its names are unique
    for path in map(os.path.abspath, paths):
        try:
            read = [path]
            if os.path.isdir(path):  # noqa: PTH112 (read_file reports anything else)
                read, others = list_directory(path, access)
                ignored += others
            files |= dict.fromkeys(read)
        except KronError as error:
            failures.append(Finding.of_error(error, path))
    documents: list[Document] = []
    reader = LineReader(limits)
    jobs = 0
    for path in files:
        try:
            data = read_file(path, access, limits)
        except KronError as error:
            failures.append(Finding.of_error(error, path))
            continue
        document = read_document(
            data, path, node=node, reader=reader, jobs_before=jobs, progress=progress
        )
        documents.append(document)
        jobs += len(document.entries)
    return Configuration(tuple(documents), tuple(failures), tuple(ignored))
