"""The machine that a bench ran on, in one sentence."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from pathlib import Path


def machine(disk: str) -> str:
    """Processor, memory, disk, kernel, Python, how busy it is, and the day."""
    load = os.getloadavg()[0]
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = len(os.sched_getaffinity(0))
    return (
        f"{datetime.now(UTC):%Y-%m-%d}: {cores} cores of {_processor()}, {memory_gib:.0f} GiB, "
        f"{disk}, Linux {platform.release()}, Python {platform.python_version()}; "
        f"load before: {load:.1f}."
    )


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
