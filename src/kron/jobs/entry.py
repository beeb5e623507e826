"""An entry: one job of a file, with its identity, its schedule and its task."""

from __future__ import annotations

from collections.abc import Iterable

from kron.core.errors import Code, KronError, did_you_mean, quoted
from kron.core.frozen import Frozen
from kron.core.limits import DEFAULT_LIMITS, Limits
from kron.core.parser import parse_schedule
from kron.core.schedule import Schedule
from kron.core.tokens import is_fuzzy
from kron.engine.job import Job
from kron.jobs.defaults import Applied
from kron.jobs.task import Task


class Entry(Frozen):
    name: str
    identity: str
    schedule_text: str
    """As written, modifiers included, with the policy of the defaults; what logs show."""
    schedule: Schedule
    task: Task
    path: str
    line: int
    description: str = ""
    defaults: Applied | None = None

    @property
    def namespace(self) -> str:
        """The path of its file, which logs show as the namespace."""
        return self.path

    @property
    def uid(self) -> str:
        """Empty: only Kubernetes objects have one."""
        return ""

    @property
    def job(self) -> Job:
        return Job(self.identity, self.schedule)


def find_entry(entries: Iterable[Entry], name: str, *, hint: str) -> Entry:
    """The job called `name` or `<path>:<name>`. `hint` is the fix if there is no such job."""
    known = list(entries)
    found = [entry for entry in known if entry.name == name]
    found = found or [entry for entry in known if f"{entry.path}:{entry.name}" == name]
    if len(found) == 1:
        return found[0]
    if found:
        places = ", ".join(f"{entry.path}:{entry.name}" for entry in found[:5])
        message = f"{len(found)} jobs are called {quoted(name)}"
        raise KronError(Code.JOB_UNKNOWN, message, fix=f"name one of {places}")
    near = did_you_mean(name, (entry.name for entry in known))
    raise KronError(Code.JOB_UNKNOWN, f"there is no job {quoted(name)}", fix=near or hint)


def read_schedule(text: str, identity: str, limits: Limits = DEFAULT_LIMITS) -> Schedule:
    """The schedule of a text, cron or fuzzy. Only a fuzzy one needs the identity."""
    if is_fuzzy(text):
        from kron.fuzzy.baseline import parse_schedule as parse_fuzzy_schedule

        return parse_fuzzy_schedule(text, identity=identity, limits=limits)
    return parse_schedule(text, limits)
