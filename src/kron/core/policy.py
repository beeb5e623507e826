"""The policy: what to do when a run is still active, when it is late, and when suspended."""

from __future__ import annotations

from enum import StrEnum

from kron.core.duration import SECOND_NS
from kron.core.frozen import Frozen
from kron.core.tokens import written_keys


class Concurrency(StrEnum):
    """What happens when a period is due while an earlier run is still active."""

    ALLOW = "allow"
    FORBID = "forbid"
    REPLACE = "replace"


class Policy(Frozen):
    concurrency: Concurrency = Concurrency.FORBID
    deadline_ns: int = 0
    suspend: bool = False
    keys = (("concurrency", "concurrency"), ("deadline", "deadline_ns"), ("suspend", "suspend"))

    @property
    def deadline_s(self) -> int:
        """The lateness allowed in whole seconds, which is how lateness is measured."""
        return self.deadline_ns // SECOND_NS

    def softened_s(self, slack_s: int) -> int:
        """The same for a host that was busy: the slack takes the place of deadline 0, but a
        deadline that is set is kept to the second."""
        return self.deadline_s if self.deadline_ns else slack_s

    def __str__(self) -> str:
        return f"@policy({written_keys(self, self.keys)})"
