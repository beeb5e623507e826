"""Collisions: identifiers that scattering does not tell apart (R-SAFE-004 of seed 004).

A collision changes nothing: the times stay what they are. It is told, so that somebody can
rename a schedule or accept that two of them run in the same minute.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from kron.core.errors import Code, quoted
from kron.core.frozen import Frozen
from kron.fuzzy.expression import Expression
from kron.fuzzy.hashing import identifier_hash
from kron.fuzzy.pattern import FIXED
from kron.fuzzy.scatter import pattern_of, scatter_pattern

_SHOWN = 3


class Cause(StrEnum):
    """Why they collide: the worst first."""

    IDENTIFIER = "the same identifier"
    HASH = "the same hash"
    TIME = "the same time"


class Collision(Frozen):
    """Schedules that share their identifier, the hash of it, or only the resulting time."""

    cause: Cause
    cron: str
    identifiers: tuple[str, ...]
    """One for each schedule, in the order in which they were given."""

    @property
    def code(self) -> Code:
        """It is a warning."""
        return Code.COLLISION

    @property
    def message(self) -> str:
        """What is shared, and by whom."""
        names = [quoted(name) for name in dict.fromkeys(self.identifiers)]
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        count = len(self.identifiers)
        shown = ", ".join(names[:_SHOWN])
        return f"{count} schedules have {self.cause} ({self.cron}): {shown}{more}"

    @property
    def fix(self) -> str:
        """What would tell them apart."""
        if self.cause is Cause.IDENTIFIER:
            return "give each its own identifier: owner/repo/path"
        return "rename one of them, or accept that they start together"

    def __str__(self) -> str:
        return f"{self.message} ({self.fix})"


def collisions(schedules: Iterable[tuple[str, str | Expression]]) -> tuple[Collision, ...]:
    """The collisions among (identifier, expression or placeholder) pairs, in their order.

    A fixed interval collides with its like by nature, and has a warning of its own that says so:
    it is left out here.
    """
    by_cron: dict[str, list[tuple[str, int]]] = {}
    for identifier, schedule in schedules:
        pattern = pattern_of(schedule)
        if pattern.kind in FIXED:
            continue
        seed = identifier_hash(identifier)
        cron, _ = scatter_pattern(pattern, seed)
        by_cron.setdefault(cron, []).append((identifier, seed))
    return tuple(
        Collision(_cause(sharing), cron, tuple(identifier for identifier, _ in sharing))
        for cron, sharing in by_cron.items()
        if len(sharing) > 1
    )


def _cause(sharing: list[tuple[str, int]]) -> Cause:
    if len({identifier for identifier, _ in sharing}) < len(sharing):
        return Cause.IDENTIFIER
    return Cause.HASH if len({seed for _, seed in sharing}) < len(sharing) else Cause.TIME
