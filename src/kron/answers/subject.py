"""The subject: the job that a question such as "when next, and why then?" is about."""

from __future__ import annotations

from kron.answers.bounds import Bounds
from kron.core.frozen import Frozen
from kron.core.schedule import Schedule
from kron.engine.job import Job
from kron.jobs.defaults import Applied
from kron.jobs.hooks import Hooks


class Subject(Frozen):
    """A job of a file, a resource of a cluster, or a schedule on the command line."""

    name: str
    identity: str
    schedule_text: str
    schedule: Schedule
    path: str = ""
    line: int = 0
    origin: str = ""
    """Where it came from, if not from a file."""
    defaults: Applied | None = None
    """What it has from a defaults line of its file."""
    slots: tuple[tuple[str, int], ...] = ()
    """The slots that its runs take, each with its size."""
    hooks: Hooks | None = None
    """Who hears of its runs."""
    bounds: Bounds = Bounds()

    @property
    def job(self) -> Job:
        return Job(self.identity, self.schedule)

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}" if self.path else self.origin


def hooks_document(hooks: Hooks | None) -> list[dict[str, str]]:
    """Who hears of a job's runs, for scripts."""
    return [{"field": field, "value": value} for field, value in (hooks.items() if hooks else ())]


def defaults_document(path: str, applied: Applied | None) -> dict[str, object] | None:
    """What a job of a file has from a defaults line, for scripts. Variables have no values here."""
    if applied is None:
        return None
    return {"path": path, "line": applied.line, "fields": applied.parts}
