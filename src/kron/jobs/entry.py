"""An entry: one job as a file has it, with its identity, its schedule and its task."""

from __future__ import annotations

from kron.core.frozen import Frozen
from kron.core.schedule import Schedule
from kron.engine.job import Job
from kron.jobs.task import Task


class Entry(Frozen):
    """A job and the place that it was read from."""

    name: str
    identity: str
    schedule_text: str
    """As written, modifiers included; what logs show."""
    schedule: Schedule
    task: Task
    path: str
    line: int
    description: str = ""

    @property
    def job(self) -> Job:
        """What the engine needs to know of it."""
        return Job(self.identity, self.schedule)
