"""A thousand jobs due in the same second: how long until the last of them has begun.

Everybody starts the same small program, which notes the time itself. krond has every intent synced
to a disk before the first one starts. The floor is a loop over posix_spawn in C; it takes turns
with krond, and of each the best round counts. A peer has one round.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from bench.krond import marks
from bench.krond.daemon import Krond
from bench.krond.marks import Lateness
from bench.krond.moment import SECOND_NS, kron_schedule, soon
from bench.krond.peer import Job, Peer
from bench.krond.peers import PEERS
from bench.krond.size import BURST_JOBS as JOBS
from bench.krond.workshop import (
    ENVIRONMENT,
    SkippedError,
    program,
    scratch,
    seconds_to_make_a_file,
)
from bench.measure import Result, progress

ROUNDS = 3
TIMES_THE_FLOOR = 1.5
_KROND_LEAD_S = 2 + JOBS / 300
"""Salts are looked for and krond is started meanwhile."""
_LONGEST_S = 60.0


def measure() -> Iterator[Result]:
    """krond and the floor, the peers, and what follows."""
    try:
        krond, floor, with_session = _rounds()
    except SkippedError as skipped:
        yield Result("burst", None, note=f"skipped: {skipped}")
        return
    yield Result("making a file here, not synced", seconds_to_make_a_file(scratch()) * 1e6, "us")
    yield _told("krond, every intent synced first", krond)
    yield _told("a C loop over posix_spawn", floor)
    yield _told("the same, with a session each", with_session)
    peers: dict[str, Lateness] = {}
    for peer in PEERS:
        progress(f"burst, {peer.name} ...")
        try:
            version = peer.obtain()
            peers[peer.name] = _burst_of(peer, scratch())
        except SkippedError as skipped:
            yield Result(peer.name, None, note=f"skipped: {skipped}")
        else:
            yield _told(f"{peer.name} {version}".strip(), peers[peer.name])
    ratio = krond.last_s / floor.last_s
    yield Result(
        "krond / C loop",
        ratio,
        "times as long",
        f"<= {TIMES_THE_FLOOR:g}",
        ratio <= TIMES_THE_FLOOR,
    )
    for name, lateness in peers.items():
        ratio = lateness.last_s / krond.last_s
        yield Result(f"{name} / krond", ratio, "times as long", "> 1", ratio > 1)


def _told(name: str, lateness: Lateness) -> Result:
    lost = JOBS - lateness.count
    return Result(
        f"{JOBS:,} at once: {name}",
        lateness.last_s,
        "s to the last start",
        "" if not lost else "all of them",
        None if not lost else False,
        {
            "s first": lateness.first_s,
            "s median": lateness.percentile_s(50),
            "s p99": lateness.percentile_s(99),
            **({"not started": lost} if lost else {}),
        },
    )


def _rounds() -> list[Lateness]:
    """The best of krond, of the loop, and of the loop with sessions, which take turns."""
    rounds = []
    for number in range(ROUNDS):
        progress(f"burst, krond and C, round {number + 1} of {ROUNDS} ...")
        rounds.append(
            (
                _burst_of_krond(scratch()),
                _burst_of_floor(scratch()),
                _burst_of_floor(scratch(), "session"),
            )
        )
    return [min(each, key=_time) for each in zip(*rounds, strict=True)]


def _time(lateness: Lateness) -> tuple[int, float]:
    return -lateness.count, lateness.last_s


def _burst_of_krond(place: Path) -> Lateness:
    due_s = soon(_KROND_LEAD_S)
    out, (command, *_) = place / "marks", _jobs(place, due_s)
    with Krond(place) as krond:
        words = " ".join(command.argv)
        krond.write(
            f'{kron_schedule(f"{krond.file}:job-{n}", due_s)} name=job-{n} command="{words}"'
            for n in range(JOBS)
        )
        krond.start()
        _quiet(due_s)
        return marks.wait_for(out, JOBS, until_s=due_s + _LONGEST_S)


def _burst_of_floor(place: Path, *more: str) -> Lateness:
    due_s = soon(1)
    out = place / "marks"
    times = (str(JOBS), str(due_s * SECOND_NS), "0")
    _quiet(due_s)
    command = (program("loop"), *times, program("mark"), str(out), *more)
    subprocess.run(command, env=ENVIRONMENT, check=True)
    return marks.wait_for(out, JOBS, until_s=0)


def _burst_of(peer: Peer, place: Path) -> Lateness:
    due_s = soon(peer.lead_s, whole_minute=peer.needs_whole_minute)
    with peer.running(place, _jobs(place, due_s)):
        _quiet(due_s)
        lateness = marks.wait_for(place / "marks", JOBS, until_s=due_s + _LONGEST_S)
    if not lateness.count:
        said = (place / "output.txt").read_text()[-200:].strip()
        raise SkippedError(f"it started nothing within {_LONGEST_S:g} s: {said}")
    return lateness


def _jobs(place: Path, due_s: int) -> list[Job]:
    argv = (program("mark"), str(place / "marks"), str(due_s * SECOND_NS))
    return [Job(due_s, argv)] * JOBS


def _quiet(due_s: int) -> None:
    """Have nothing of ours left to write when the moment comes, and check that it is to come."""
    os.sync()
    if time.time() > due_s - 0.5:
        raise SkippedError("this machine is too busy: it was not ready in time")
