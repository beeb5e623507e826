"""krond is killed at every step between reading the clock and recording an exit.

The steps are krond's own lines of code (tests/krond/faulty.py). Between two lines without a call
that reaches outside, nothing has changed that the next krond could see, so `make test` takes one
of them each; `make soak` takes every line.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from kron.core.instant import to_text
from kron.engine.recovery import UNKNOWN_RESULT
from kron.krond.state.file_replacer import FEW
from tests.krond.fault import DUE_S, NEXT_S, Fault, FaultyHost, Ran, Server, told
from tests.krond.tampering import needs_strace, tampered
from tests.logbook import wait_for
from tests.soak import SOAK

DUE = to_text(DUE_S)
NEXT = to_text(NEXT_S)
JOBS = ("spawned", "launched")
AT_DUE = {"begin_s": DUE_S - 1, "due_s": DUE_S}


@pytest.fixture
def host(tmp_path: Path, server: Server) -> Iterator[FaultyHost]:
    with FaultyHost(tmp_path, server) as host:
        yield host


def test_killed_at_any_step_of_a_run_krond_neither_loses_it_nor_repeats_it(
    host: FaultyHost,
) -> None:
    due: list[Ran] = [(job, DUE) for job in JOBS]

    def is_over() -> bool:
        return host.is_over(due)

    def check() -> None:
        host.check(due)
        # No end is logged twice. Only that whose line was about to be written can be lost.
        host.wait_for_events("exited", count=len(due) - 1)

    host.write(host.job("spawned"), host.job("launched", "nice=1"))
    host.be_seen()
    host.kill_at_each_step(is_over, check)


def test_killed_at_any_step_of_many_runs_krond_neither_loses_nor_repeats_one(
    host: FaultyHost,
) -> None:
    """So many that their intents are made safe in one file, and go to their places later."""
    names = [f"job-{number}" for number in range(FEW)]
    due: list[Ran] = [(name, DUE) for name in names]

    def is_over() -> bool:
        return host.is_over(due)

    def check() -> None:
        host.wait_until_ready()  # what was left of replaced files is gone then
        host.check(due)

    host.write(*(host.job(name) for name in names))
    host.be_seen()
    host.kill_at_each_step(is_over, check, every=10)


@pytest.mark.parametrize("victim", ["parent", "both", "self"])
def test_killed_between_fork_and_exec_a_run_is_neither_lost_nor_repeated(
    host: FaultyHost, victim: str
) -> None:
    """By its child the parent, both, or the child alone, at any step of the child.

    A child that has left its proof and is killed with krond looks like one that ran, and is not
    run again. One that is killed alone is a run that SIGKILL has ended.
    """
    due: list[Ran] = [("launched", DUE)]

    def is_over() -> bool:
        return host.is_over(due)

    host.write(host.job("launched", "nice=1"))
    host.be_seen()
    host.crash(Fault(0, side="child"), is_over, **AT_DUE)
    points = host.steps()
    assert {"setsid", "open", "dup2"} <= {effect for point in points for effect in point.effects}
    runs = Counter[int]()
    for point in points:
        host.restore()
        fault = Fault(point.number, side="child", victim=victim)
        where = host.crash(fault, is_over, **AT_DUE)
        assert where is not None
        with told(where):
            has_begun = any((host.state / "runs").iterdir())
            host.recover(is_over, begin_s=DUE_S + 1)
            (ended,) = host.ends()[due[0]]
            assert ended.outcome == "executed"
            host.check_accounts()
            runs[host.ran()[due[0]]] += 1
            if victim == "parent":
                assert host.ran()[due[0]] == 1
            elif victim == "both":
                assert host.ran()[due[0]] == (0 if has_begun else 1)
                assert ended.reason == (UNKNOWN_RESULT if has_begun else "")
            else:
                assert host.ran()[due[0]] == 0
                assert ended.signal == 9
    assert len(runs) == (2 if victim == "both" else 1)


@pytest.mark.parametrize(("policy", "every"), [("forbid", 1), ("replace", 6)])
def test_killed_at_any_step_krond_still_has_one_run_at_a_time(
    host: FaultyHost, policy: str, every: int
) -> None:
    """A run outlives two kronds, of which the second is killed while the next period is due."""
    overlaps = host.directory / "overlaps.txt"
    then = f"exec 9>>$KRON_JOB.lock; flock -n 9 || echo overlap >> {overlaps}; exec sleep 600"
    rule = f"@policy(concurrency={policy},deadline=10m)"
    place = f"cwd={host.directory}"
    host.write(
        host.job("spawned", place, policy=rule, then=then),
        host.job("launched", place, "nice=1", policy=rule, then=then),
    )
    host.be_seen()

    def has_begun() -> bool:
        return set(host.ran()) == {(job, DUE) for job in JOBS}

    def is_skipped() -> bool:
        return all((job, NEXT) in host.ends() for job in JOBS)

    def is_replaced() -> bool:
        ran = {(job, NEXT) for job in JOBS}
        return ran <= set(host.ran()) and all((job, DUE) in host.ends() for job in JOBS)

    is_done = is_skipped if policy == "forbid" else is_replaced

    def begin() -> None:
        """Have the first period run, and krond killed."""
        host.launch(**AT_DUE)
        wait_for(has_begun, "the runs of the first period")
        host.kill()

    def check() -> None:
        host.check_accounts()
        assert not overlaps.exists()
        last = {job: int(pid) for job, _, _, pid in host.runs()}
        assert all(Path(f"/proc/{pid}").exists() for pid in last.values())
        if policy == "forbid":
            assert host.ran() == Counter((job, DUE) for job in JOBS)
            for job in JOBS:
                (ended,) = host.ends()[job, NEXT]
                assert ended.outcome == "skipped"
        else:
            assert host.ran() == Counter((job, at) for job in JOBS for at in (DUE, NEXT))
            for job in JOBS:
                (ended,) = host.ends()[job, DUE]
                assert ended.outcome == "executed"

    host.kill_at_each_step(is_done, check, at_s=NEXT_S, every=every, prepare=begin)


def test_killed_again_and_again_while_it_recovers_krond_loses_and_repeats_nothing(
    host: FaultyHost,
) -> None:
    due: list[Ran] = [(job, DUE) for job in JOBS]
    random.seed(5)

    def is_over() -> bool:
        return host.is_over(due)

    host.write(host.job("spawned"), host.job("launched", "nice=1"))
    host.be_seen()
    host.crash(Fault(0), is_over, **AT_DUE)
    lines = len(list(host.points()))
    for _ in range(10 * SOAK):
        host.restore()
        places = [host.crash(Fault(random.randint(1, lines)), is_over, **AT_DUE)]
        for restart in range(1, random.randint(2, 4)):
            fault = Fault(random.randint(1, 2 * lines), since="beginning")
            places.append(host.crash(fault, is_over, begin_s=DUE_S + restart))
        with told(*places):
            host.recover(is_over, begin_s=DUE_S + 5)
            host.check(due)


@needs_strace
@pytest.mark.parametrize(
    ("way", "held"),
    [*product(JOBS, ["setsid", "execve"]), ("launched", "setpriority")],
)
def test_a_child_that_outlives_krond_before_its_program_begins_is_waited_for(
    host: FaultyHost, way: str, held: str
) -> None:
    """The child is held for half a second: at its first step, with no proof yet, at its last, or
    when the launcher is at work.

    A krond that did not wait would find neither a proof nor a run, and start it a second time.
    """
    due: list[Ran] = [(way, DUE)]
    host.write(host.job(way, "nice=1" if way == "launched" else ""))
    host.be_seen()
    host.launch(begin_s=DUE_S - 1)
    host.wait_until_ready()
    krond = host.process
    assert krond is not None
    with tampered(krond.pid, held, "delay_enter=500000", "-f"):
        wait_for(lambda: children(krond.pid), "the child of krond")
        (child,) = children(krond.pid)
        if held != "setsid":
            wait_for(lambda: any((host.state / "runs").iterdir()), "the proof of the run")
        host.kill()
        assert Path(f"/proc/{child}").exists()
        assert not host.runs()
        host.recover(lambda: host.is_over(due), begin_s=DUE_S + 1)
        host.check(due)
    assert host.runs()[0][3] == str(child)


def children(pid: int) -> list[int]:
    """The children of a process."""
    return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))
