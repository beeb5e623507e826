"""Single runs, one a second: how long after its chosen second each began.

The floor is a C program that sleeps until its moment, half a second after each of krond's, and
calls posix_spawn: what the machine itself takes.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator

from bench.krond import marks
from bench.krond.daemon import Krond
from bench.krond.moment import SECOND_NS, kron_schedule, soon
from bench.krond.size import SINGLE_RUNS as RUNS
from bench.krond.workshop import ENVIRONMENT, SkippedError, program, scratch
from bench.measure import Result, progress

MOST_MS = 20.0
_LEAD_S = 5


def measure() -> Iterator[Result]:
    """The 99th percentile of start minus chosen."""
    progress(f"single, {RUNS} seconds ...")
    try:
        mark, loop = program("mark"), program("loop")
    except SkippedError as skipped:
        yield Result("single", None, note=f"skipped: {skipped}")
        return
    place = scratch()
    with Krond(place) as krond:
        out, floor_out = place / "marks", place / "floor"
        first_s = soon(_LEAD_S)
        krond.write(
            f"{kron_schedule(f'{krond.file}:job-{n}', first_s + n)} name=job-{n} "
            f'command="{mark} {out} {(first_s + n) * SECOND_NS}"'
            for n in range(RUNS)
        )
        krond.start()
        if time.time() > first_s - 0.5:
            yield Result("single", None, note="skipped: this machine is too busy")
            return
        half_ns = first_s * SECOND_NS + SECOND_NS // 2
        words = [loop, str(RUNS), str(half_ns), str(SECOND_NS), mark, str(floor_out)]
        subprocess.run(words, env=ENVIRONMENT, check=True)
        lateness = marks.wait_for(out, RUNS, until_s=first_s + RUNS + 10)
        floor = marks.wait_for(floor_out, RUNS, until_s=0)
    p99_ms = lateness.percentile_s(99) * 1e3
    yield Result(
        f"{RUNS} single runs: p99 of start - chosen",
        p99_ms,
        "ms",
        f"<= {MOST_MS:g}",
        p99_ms <= MOST_MS and lateness.count == RUNS,
        {
            "ms median": lateness.percentile_s(50) * 1e3,
            "ms worst": lateness.last_s * 1e3,
            "ms p99 of a C program": floor.percentile_s(99) * 1e3,
            "ms median of it": floor.percentile_s(50) * 1e3,
            **({"not started": RUNS - lateness.count} if lateness.count < RUNS else {}),
        },
    )
