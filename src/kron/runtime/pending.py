"""A pending run: decided on, and not begun. What else it waits for, its executor knows."""

from __future__ import annotations


class Pending:
    """A run until it has begun or never will: that of an intent, or a manual one."""

    __slots__ = ("replaces", "run_id")

    def __init__(self, run_id: str, *, replaces: bool) -> None:
        self.run_id = run_id
        self.replaces = replaces
        """Whether the runs that are active have to end first."""

    @property
    def nominal_s(self) -> int | None:
        """The nominal instant of its period; None for a manual run, which has none."""
        raise NotImplementedError
