"""Lines of a krontab file and the warnings about them, as these tests ask for them."""

from __future__ import annotations

from datetime import UTC, datetime

from kron.core.schedule import Schedule
from kron.jobs.document import Document, read_document
from kron.jobs.finding import Finding
from kron.lint import Advice, Host, PathKind, advise

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
PATH = "/etc/krond.d/jobs.kron"


class FakeHost(Host):
    """A host that has what a test says, and counts how often it is asked."""

    def __init__(
        self,
        paths: dict[str, PathKind] | None = None,
        heads: dict[str, bytes] | None = None,
        users: tuple[str, ...] = (),
        groups: tuple[str, ...] = (),
    ) -> None:
        self._paths = paths or {}
        self._heads = heads or {}
        self._users = users
        self._groups = groups
        self.asked: list[str] = []

    def look(self, path: str) -> PathKind:
        self.asked.append(path)
        return self._paths.get(path, PathKind.MISSING)

    def head(self, path: str) -> bytes | None:
        self.asked.append(f"head of {path}")
        return self._heads.get(path, b"\x7fELF\x02\0")

    def has_account(self, kind: str, name: str) -> bool:
        self.asked.append(f"{kind} {name}")
        return name in (self._users if kind == "user" else self._groups)


def document(*lines: str, path: str = PATH) -> Document:
    """A document of these lines, each valid; name and command are added where they are missing."""
    written = []
    for number, line in enumerate(lines, start=1):
        name = "" if " name=" in line else f" name=job-{number}"
        command = "" if " command=" in line else " command=/bin/true"
        written.append(f"{line}{name}{command}")
    read = read_document("\n".join(written).encode(), path)
    assert read.findings == ()
    return read


def warnings(*lines: str, host: Host | None = None, now: datetime = NOW) -> list[Finding]:
    """The warnings about these lines."""
    return list(advise([document(*lines)], now=now, host=host))


def codes(*lines: str, host: Host | None = None) -> list[Advice]:
    """Their codes, sorted."""
    return sorted(Advice(finding.code) for finding in warnings(*lines, host=host))


def only(line: str, advice: Advice, *, host: Host | None = None, now: datetime = NOW) -> Finding:
    """The one warning of this kind about a line."""
    (finding,) = (f for f in warnings(line, host=host, now=now) if f.code == advice)
    return finding


def marked(finding: Finding) -> str:
    """The characters that a warning points at."""
    return finding.text[finding.start : finding.end]


def schedule_of(line: str) -> Schedule:
    """The schedule of a line."""
    return document(line).entries[0].schedule
