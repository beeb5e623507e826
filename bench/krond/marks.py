"""What the jobs noted: how long after it was due each of them began."""

from __future__ import annotations

import struct
import time
from collections.abc import Sequence
from pathlib import Path

_RECORD = struct.Struct("=qq")


class Lateness:
    """Start minus due of many runs, in nanoseconds, from the least to the greatest."""

    def __init__(self, values_ns: Sequence[int]) -> None:
        self._values_ns = sorted(values_ns)

    @property
    def count(self) -> int:
        """How many runs there were."""
        return len(self._values_ns)

    @property
    def first_s(self) -> float:
        """Of the run that was first."""
        return self._values_ns[0] / 1e9

    @property
    def last_s(self) -> float:
        """Of the run that was last."""
        return self._values_ns[-1] / 1e9

    def percentile_s(self, percent: int) -> float:
        """The lateness that this percentage did not exceed (nearest rank)."""
        rank = -(-len(self._values_ns) * percent // 100)
        return self._values_ns[rank - 1] / 1e9


def wait_for(file: Path, count: int, *, until_s: float) -> Lateness:
    """What this number of runs noted. Fewer if the others had not begun by then."""
    while time.time() < until_s and not _has(file, count):
        time.sleep(0.05)
    data = file.read_bytes() if file.exists() else b""
    return Lateness([started_ns - due_ns for started_ns, due_ns in _RECORD.iter_unpack(data)])


def _has(file: Path, count: int) -> bool:
    return file.exists() and file.stat().st_size >= count * _RECORD.size
