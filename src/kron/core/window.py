"""The window: the whole seconds around a nominal instant in which the work may run."""

from __future__ import annotations

from enum import StrEnum

from kron.core.duration import SECOND_NS, format_duration
from kron.core.frozen import Frozen


class Mode(StrEnum):
    """Where the window lies, seen from the nominal instant."""

    AFTER = "after"
    AROUND = "around"
    BEFORE = "before"


class Window(Frozen):
    """Its bounds are floored to whole seconds. Nominal instants are whole seconds themselves, so
    the floored bounds lie at the same distance from every one of them.
    """

    mode: Mode = Mode.AFTER
    duration_ns: int = 0

    @property
    def start_offset_s(self) -> int:
        """Seconds from the nominal instant to the first second of the window; never positive."""
        return -self._lead_ns // SECOND_NS

    @property
    def end_offset_s(self) -> int:
        """Seconds from the nominal instant to the last second of the window; never negative."""
        return (self.duration_ns - self._lead_ns) // SECOND_NS

    @property
    def width_s(self) -> int:
        return self.end_offset_s - self.start_offset_s

    def __str__(self) -> str:
        return f"@win({self.mode},{format_duration(self.duration_ns)})"

    @property
    def _lead_ns(self) -> int:
        """How far the window begins before the nominal instant."""
        if self.mode is Mode.AFTER:
            return 0
        return self.duration_ns if self.mode is Mode.BEFORE else self.duration_ns // 2
