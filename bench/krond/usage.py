"""What a process uses, as /proc tells: memory, processor time, and how often it was woken."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from bench.krond.workshop import SkippedError


class Usage(NamedTuple):
    """The sums over all threads of a process since it began; memory as it is now."""

    rss_kib: int
    cpu_ticks: int
    cpu_ns: int
    wakeups: int
    """How often it gave up the processor to wait: as often it was woken."""


def usage(pid: int) -> Usage:
    """What the process uses now: `SkippedError` if it has ended."""
    process = Path("/proc") / str(pid)
    # What is in parentheses may hold anything; utime and stime are the 12th and 13th after it.
    fields = (process / "stat").read_text().rpartition(")")[2].split()
    cpu_ns = wakeups = 0
    for thread in (process / "task").iterdir():
        cpu_ns += int((thread / "schedstat").read_text().split()[0])
        wakeups += _number(thread / "status", "voluntary_ctxt_switches")
    return Usage(
        _number(process / "status", "VmRSS"), int(fields[11]) + int(fields[12]), cpu_ns, wakeups
    )


def _number(status: Path, name: str) -> int:
    for line in status.read_text().splitlines():
        key, _, value = line.partition(":")
        if key == name:
            return int(value.split()[0])
    raise SkippedError("it has ended by itself")  # a zombie has no memory
