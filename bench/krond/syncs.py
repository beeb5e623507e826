"""How often krond waits for the disk: for one run, and for a thousand that are due at once.

A run before them has made the file of the history, which is only made once.

A synced write is a file written and synced, renamed, and its directory synced: so it is counted by
the syncs of the directory. strace slows krond down, so nothing is timed here.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from bench.krond.daemon import Krond
from bench.krond.moment import kron_schedule, soon
from bench.krond.size import BURST_JOBS as JOBS
from bench.krond.trace import Call, Trace
from bench.krond.workshop import SkippedError, scratch
from bench.measure import Result, progress

OF_ONE_RUN = 2
A_HANDFUL = 5
_SYNCS = ("fsync", "fdatasync", "syncfs", "sync", "sync_file_range", "msync")
_OF_FILES = ("fsync", "fdatasync")
_LONGEST_S = 60.0


def measure() -> Iterator[Result]:
    """One run, then many."""
    for jobs, most in ((1, OF_ONE_RUN), (JOBS, A_HANDFUL)):
        progress(f"syncs, {jobs:,} ...")
        case = f"synced writes of {jobs:,} run{'s' * (jobs > 1)}, start to end"
        try:
            calls, state = _calls(scratch(), jobs)
        except SkippedError as skipped:
            yield Result(case, None, note=f"skipped: {skipped}")
            continue
        writes = sum(call.name in _OF_FILES and f"<{state}>" in call.rest for call in calls)
        every = Counter(call.name for call in calls)
        yield Result(case, writes, "", f"<= {most}", 0 < writes <= most, dict(every))


def _calls(place: Path, jobs: int) -> tuple[list[Call], str]:
    with Krond(place) as krond:
        due_s = soon(4 + jobs / 300)
        lines = [
            f"{kron_schedule(f'{krond.file}:job-{n}', due_s)} name=job-{n} command=/bin/true"
            for n in range(jobs)
        ]
        krond.write([*lines, "0 0 29 2 * name=first command=/bin/true"])
        krond.start()
        krond.run("first")
        with Trace(krond.pid, place / "strace", *_SYNCS) as trace:
            if time.time() > due_s - 0.5:
                raise SkippedError("this machine is too busy: krond was not ready in time")
            _wait_for_ends(krond.log, 1 + jobs, due_s + _LONGEST_S)
        return trace.calls(), str(krond.state)


def _wait_for_ends(log: Path, jobs: int, until_s: float) -> None:
    while log.read_text().count(" event=exited ") < jobs:
        if time.time() > until_s:
            raise SkippedError(f"{jobs:,} runs had not ended after {_LONGEST_S:g} s")
        time.sleep(0.2)
    time.sleep(1)  # krond may have something to write back after the last line
