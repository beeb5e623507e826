"""The subject: the job that a question such as "when next, and why then?" is about."""

from __future__ import annotations

from kron.core.frozen import Frozen
from kron.core.schedule import Schedule
from kron.engine.job import Job


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

    @property
    def job(self) -> Job:
        return Job(self.identity, self.schedule)

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}" if self.path else self.origin
