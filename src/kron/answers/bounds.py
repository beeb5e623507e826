"""The bounds of a job's runs: how often a period is tried, and what a run's cgroup allows it."""

from __future__ import annotations

from kron.core.duration import format_duration
from kron.core.frozen import Frozen
from kron.jobs.entry import Entry
from kron.jobs.task import LONGEST_RETRY_DELAY_NS, CgroupLimit

_UNITS = "TGMK"


class Bounds(Frozen):
    retries: int = 0
    retry_delay_ns: int = 0
    retry_within_ns: int | None = None
    """How long after its chosen time a period may be tried again, if that is limited."""
    cgroup: tuple[tuple[CgroupLimit, int], ...] = ()

    @property
    def retries_text(self) -> str:
        """In one cell of a table; '' if nothing is tried again."""
        if not self.retries:
            return ""
        limit = self.retry_within_ns
        within = "" if limit is None else f" within {format_duration(limit)}"
        delay = format_duration(self.retry_delay_ns)
        when = f"after {delay}" if self.retry_delay_ns else "at once"
        return f"{self.retries} {when}{within}"

    @property
    def retries_sentence(self) -> str:
        """Also what comes after further failures, if that is not the same."""
        if self.retries < 2 or not self.retry_delay_ns:
            return self.retries_text
        further = "as long after each further failure"
        if self.retry_delay_ns < LONGEST_RETRY_DELAY_NS:
            further = f"twice {further}, up to {format_duration(LONGEST_RETRY_DELAY_NS)}"
        return f"{self.retries_text}, {further}"

    @property
    def cgroup_text(self) -> str:
        """As a line has the fields, a size in its largest whole unit; '' if nothing is limited."""
        return " ".join(
            f"{limit.field}={_size(value) if limit is CgroupLimit.MEMORY_MAX else value}"
            for limit, value in self.cgroup
        )

    def document(self) -> dict[str, object]:
        """For scripts."""
        limit = self.retry_within_ns
        retries = {
            "count": self.retries,
            "delay": format_duration(self.retry_delay_ns),
            "within": None if limit is None else format_duration(limit),
        }
        return {
            "retries": retries if self.retries else None,
            "cgroup_limits": [
                {"field": limit.field, "value": value} for limit, value in self.cgroup
            ],
        }


def bounds_of(entry: Entry) -> Bounds:
    task = entry.task
    within_ns = task.retry_within_ns or entry.schedule.policy.deadline_ns or None
    return Bounds(task.retries, task.retry_delay_ns, within_ns, task.cgroup_limits)


def _size(number: int) -> str:
    for power, unit in zip(range(len(_UNITS), 0, -1), _UNITS, strict=True):
        if number % 1024**power == 0:
            return f"{number // 1024**power}{unit}"
    return str(number)
