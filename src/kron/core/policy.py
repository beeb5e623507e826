"""The policy: what to do when a run is still going, when it is late, and when told to pause."""

from __future__ import annotations

from enum import StrEnum

from kron.core.duration import SECOND_NS, format_duration
from kron.core.frozen import Frozen


class Concurrency(StrEnum):
    """What happens when a period is due while an earlier run is still going."""

    ALLOW = "allow"
    FORBID = "forbid"
    REPLACE = "replace"


class Policy(Frozen):
    """Concurrency, the lateness that is still allowed, and whether the job is suspended."""

    concurrency: Concurrency = Concurrency.FORBID
    deadline_ns: int = 0
    suspend: bool = False

    @property
    def deadline_s(self) -> int:
        """The lateness allowed in whole seconds, which is how lateness is measured."""
        return self.deadline_ns // SECOND_NS

    def __str__(self) -> str:
        parts = []
        if self.concurrency is not Concurrency.FORBID:
            parts.append(f"concurrency={self.concurrency}")
        if self.deadline_ns:
            parts.append(f"deadline={format_duration(self.deadline_ns)}")
        if self.suspend:
            parts.append("suspend=true")
        return f"@policy({','.join(parts)})"
