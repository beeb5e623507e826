"""A minute in which nothing is due: what it costs to wait for ten thousand jobs.

Two kronds run: one is observed through /proc alone. The jobs of the other have hooks, mail,
retries, slots and kept output, and strace is attached to it, which would show each of its system
calls. The peers wait through the same minute.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from bench.krond.daemon import Krond
from bench.krond.fleet import fleet
from bench.krond.peer import Job, Peer
from bench.krond.peers import PEERS
from bench.krond.size import IDLE_JOBS as JOBS
from bench.krond.size import IDLE_S as WATCHED_S
from bench.krond.trace import Trace
from bench.krond.usage import Usage, usage
from bench.krond.workshop import SkippedError, scratch
from bench.measure import Result, progress

ALL = (
    "slots=disk retries=2 retry_delay=1m on_start=/bin/true on_success=/bin/true "
    "on_failure=/bin/true on_missed=/bin/true mail=root mail_on=failure stdout=keep"
)
IN_USE = "hooks, mail, retries, slots and kept output"
MOST_KIB_A_JOB = 4.0
MOST_EMPTY_MIB = 40.0
_SETTLING_S = 12
"""yacron was started before, and has read its thousand jobs by then."""
_HALF_A_YEAR_S = 183 * 86_400


def measure() -> Iterator[Result]:
    """krond's wake-ups, processor time and memory, then the same of the peers."""
    with ExitStack() as stack:
        progress(f"idle, starting with {JOBS:,} jobs ...")
        pids: dict[str, int] = {}
        for peer in PEERS:
            try:
                name, pid = _started_peer(stack, peer, scratch())
            except SkippedError as skipped:
                yield Result(peer.name, None, note=f"skipped: {skipped}")
            else:
                pids[name] = pid
        peers = list(pids)
        pids["krond"] = _started(stack, JOBS).pid
        pids["empty"] = _started(stack, 0).pid
        calls = _Calls(_started_with_all(stack), scratch() / "strace")
        with calls:
            time.sleep(_SETTLING_S)
            for name in peers:
                try:
                    usage(pids[name])
                except SkippedError as skipped:
                    yield Result(name, None, note=f"skipped: {skipped}")
                    del pids[name]
            before = {name: usage(pid) for name, pid in pids.items()}
            began_s = time.time()
            progress(f"idle, watching for {WATCHED_S:g} s ...")
            time.sleep(WATCHED_S)
            after = {name: usage(pid) for name, pid in pids.items()}
        seen = calls.between(began_s, began_s + WATCHED_S)
    yield _wakeups(before["krond"], after["krond"], seen, calls.note)
    yield from _of_krond(before["krond"], after["krond"], after["empty"])
    for name in filter(before.__contains__, peers):
        yield _of_peer(name, before[name], after[name])


class _Calls:
    """A context manager: the system calls of a krond inside of it, if strace can be had."""

    def __init__(self, krond: Krond, file: Path) -> None:
        self.note = ""
        self._trace: Trace | None = Trace(krond.pid, file)

    def __enter__(self) -> None:
        assert self._trace is not None
        try:
            self._trace.__enter__()
        except SkippedError as skipped:
            self._trace, self.note = None, f"not seen by strace: {skipped}"

    def __exit__(self, *_: object) -> None:
        if self._trace is not None:
            self._trace.__exit__()

    def between(self, from_s: float, to_s: float) -> int | None:
        """How many there were; those that come of strace's own attaching lie outside."""
        if self._trace is None:
            return None
        return sum(from_s <= call.at_s <= to_s for call in self._trace.calls())


def _started(stack: ExitStack, jobs: int) -> Krond:
    krond = stack.enter_context(Krond(scratch()))
    krond.write(fleet(jobs))
    krond.start()
    return krond


def _started_with_all(stack: ExitStack) -> Krond:
    """A krond whose jobs have all that might wake it up, one of which has run before."""
    krond = stack.enter_context(Krond(scratch()))
    krond.write(["slots: disk=4", *fleet(JOBS - 1, fields=ALL)])
    krond.start()
    krond.run("job-0")
    return krond


def _started_peer(stack: ExitStack, peer: Peer, place: Path) -> tuple[str, int]:
    peer.obtain()
    due_s = int(time.time()) + _HALF_A_YEAR_S
    jobs = [Job(due_s, ("/bin/true",))] * min(peer.idle_jobs, JOBS)
    pid = stack.enter_context(peer.running(place, jobs))
    return f"{peer.name}, {len(jobs):,} jobs", pid


def _wakeups(before: Usage, after: Usage, calls: int | None, note: str) -> Result:
    woken = after.wakeups - before.wakeups
    return Result(
        f"wake-ups of krond in {WATCHED_S:g} s, {JOBS:,} jobs",
        woken,
        "",
        "0",
        woken == 0 and not calls,
        {} if calls is None else {f"system calls of one with {IN_USE}": calls},
        note,
    )


def _of_krond(before: Usage, after: Usage, empty: Usage) -> Iterator[Result]:
    ticks = after.cpu_ticks - before.cpu_ticks
    yield Result(
        f"processor time of krond in {WATCHED_S:g} s",
        ticks,
        "ticks",
        "0",
        ticks == 0,
        {"us by the scheduler's count": (after.cpu_ns - before.cpu_ns) / 1e3},
    )
    each_kib = (after.rss_kib - empty.rss_kib) / JOBS
    yield Result(
        "memory of a job in krond",
        each_kib,
        "KiB",
        f"<= {MOST_KIB_A_JOB:g}",
        each_kib <= MOST_KIB_A_JOB,
        {"MiB in all": after.rss_kib / 1024},
    )
    empty_mib = empty.rss_kib / 1024
    yield Result(
        "memory of krond without jobs",
        empty_mib,
        "MiB",
        f"<= {MOST_EMPTY_MIB:g}",
        empty_mib <= MOST_EMPTY_MIB,
    )


def _of_peer(name: str, before: Usage, after: Usage) -> Result:
    return Result(
        f"memory of {name}",
        after.rss_kib / 1024,
        "MiB",
        details={
            "wake-ups": after.wakeups - before.wakeups,
            "ms of processor time": (after.cpu_ns - before.cpu_ns) / 1e6,
        },
    )
