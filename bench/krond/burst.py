"""A thousand jobs due in the same second: how long until the last of them has begun.

Everybody starts the same small program, which notes the time itself. krond has every intent synced
to a disk before the first one starts. The floor is a loop over posix_spawn in C, and for jobs of
another user one that forks, drops and execs. They take turns with krond. A ratio is that of one
round, and of all rounds the median counts. A peer has one round.
"""

from __future__ import annotations

import os
import pwd
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median

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
    disk,
    program,
    scratch,
    seconds_to_make_a_file,
    settle,
)
from bench.measure import Result, progress

ROUNDS = 5
TIMES_THE_FLOOR = 1.5
TIMES_THE_DROPPING_FLOOR = 2.0
USER = "nobody"
_KROND_LEAD_S = 2 + JOBS / 300
"""Salts are looked for and krond is started meanwhile."""
_LONGEST_S = 60.0


def measure() -> Iterator[Result]:
    """krond and the floor, the peers, and what follows."""
    try:
        krond, floor, with_session = _rounds(
            "krond and C", _burst_of_krond, _burst_of_floor, _burst_of_floor_with_sessions
        )
    except SkippedError as skipped:
        yield Result("burst", None, note=f"skipped: {skipped}")
        return
    settle()
    place = scratch()
    took_us = seconds_to_make_a_file(place) * 1e6
    yield Result("making a file, not synced", took_us, "us", note=f"in {place.parent}, {disk()}")
    yield _told("krond, every intent synced first", _middle(krond))
    yield _told("a C loop over posix_spawn", _middle(floor))
    yield _told("the same, with a session each", _middle(with_session))
    yield _ratio("krond / C loop", krond, floor, TIMES_THE_FLOOR)
    yield from _of_another_user()
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
    for name, lateness in peers.items():
        ratio = lateness.last_s / _middle(krond).last_s
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


def _of_another_user() -> Iterator[Result]:
    """krond and the loop that drops, for jobs of another user."""
    try:
        krond, floor = _rounds(f"as {USER}", _burst_of_krond_as_user, _burst_of_dropping_floor)
    except SkippedError as skipped:
        yield Result(f"burst as {USER}", None, note=f"skipped: {skipped}")
        return
    yield _told(f"krond, jobs with user={USER}", _middle(krond))
    yield _told("a C loop: fork, drop groups, gid, uid, exec", _middle(floor))
    yield _ratio(f"krond / C loop, user={USER}", krond, floor, TIMES_THE_DROPPING_FLOOR)


def _rounds(what: str, *contenders: Callable[[Path], Lateness]) -> list[list[Lateness]]:
    """The rounds of each contender. They take turns."""
    rounds: list[list[Lateness]] = [[] for _ in contenders]
    for number in range(ROUNDS):
        progress(f"burst, {what}, round {number + 1} of {ROUNDS} ...")
        settle()
        for contender, its_rounds in zip(contenders, rounds, strict=True):
            its_rounds.append(contender(scratch()))
    return rounds


def _middle(rounds: Sequence[Lateness]) -> Lateness:
    """The round in the middle: one that lost runs comes after all others."""
    return sorted(rounds, key=lambda each: (-each.count, each.last_s))[len(rounds) // 2]


def _ratio(case: str, krond: Sequence[Lateness], floor: Sequence[Lateness], most: float) -> Result:
    ratios = [ours.last_s / its.last_s for ours, its in zip(krond, floor, strict=True)]
    ratio = median(ratios)
    return Result(
        case,
        ratio,
        f"times as long, the median of {ROUNDS} rounds",
        f"<= {most:g}",
        ratio <= most,
        {"least": min(ratios), "greatest": max(ratios)},
    )


def _burst_of_krond_as_user(place: Path) -> Lateness:
    _for_all(place)
    return _burst_of_krond(place, f"user={USER}")


def _burst_of_krond(place: Path, fields: str = "") -> Lateness:
    due_s = soon(_KROND_LEAD_S)
    out, (command, *_) = place / "marks", _jobs(place, due_s)
    with Krond(place) as krond:
        what = f'command="{" ".join(command.argv)}" {fields}'
        krond.write(
            f"{kron_schedule(f'{krond.file}:job-{n}', due_s)} name=job-{n} {what}"
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


def _burst_of_floor_with_sessions(place: Path) -> Lateness:
    return _burst_of_floor(place, "session")


def _burst_of_dropping_floor(place: Path) -> Lateness:
    due_s = soon(1)
    user = _for_all(place)
    _quiet(due_s)
    ids = (str(user.pw_uid), str(user.pw_gid))
    command = (program("drop"), str(JOBS), str(due_s * SECOND_NS), *ids)
    words = (*command, program("mark"), str(place / "marks"))
    if subprocess.run(words, env=ENVIRONMENT, check=False).returncode:
        raise SkippedError(f"{USER} cannot run {program('mark')}, or write to {place}")
    return marks.wait_for(place / "marks", JOBS, until_s=0)


def _for_all(place: Path) -> pwd.struct_passwd:
    """Let the other user write its marks: `SkippedError` if it cannot be had."""
    if os.geteuid() != 0:
        raise SkippedError("only root can switch to another user")
    (place / "marks").touch()
    (place / "marks").chmod(0o666)
    try:
        return pwd.getpwnam(USER)
    except KeyError:
        raise SkippedError(f"there is no user {USER}") from None


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
