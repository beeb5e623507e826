"""Random lives of every adapter in virtual time, crashed after every effect (`kron.testing`).

A failure prints the seed and the crash point; `explore(range(seed, seed + 1), ...)` repeats it.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from kron.krond.state import ballast
from kron.kube.operator import status_writer
from kron.testing.life import Edit, Fault, FaultKind, Jump, Life, LivedJob, Reboot, Trigger, life
from kron.testing.memory import MemoryWorld
from kron.testing.simulation import Explored, explore, explore_life
from kron.testing.world import World
from tests.runtime.cluster_world import ClusterWorld
from tests.runtime.host_world import HostWorld
from tests.soak import SOAK

LIVES = 1_000 if SOAK == 1 else 100_000
"""The same lives each time, so `make test` finds what has changed for the worse, and the soak what
was never right."""
SHARDS = 20
"""So that several workers share the work."""


def explored(shard: int, world: type[World], record: Callable[[str, object], None]) -> Explored:
    lives = LIVES // SHARDS
    found = explore(range(shard * lives, (shard + 1) * lives), world)
    for name in Explored._fields:
        record(name.replace("_", " "), getattr(found, name))  # printed at the end, summed up
    # Lives in which nothing happens would prove nothing.
    assert found.crash_points > 3 * found.lives
    assert found.starts > found.lives
    return found


@pytest.mark.parametrize("shard", range(SHARDS))
def test_the_adapter_in_memory_keeps_every_promise(
    shard: int, record_property: Callable[[str, object], None]
) -> None:
    explored(shard, MemoryWorld, record_property)


@pytest.mark.parametrize("shard", range(SHARDS))
def test_krond_keeps_every_promise(
    shard: int,
    record_property: Callable[[str, object], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spare_the_disk(monkeypatch)
    explored(shard, HostWorld, record_property)


def spare_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its files are in memory, and neither does power fail here nor is anything full:
    tests/krond/state/test_power.py and tests/krond/test_disk.py have that."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    monkeypatch.setattr(ballast, "BYTES", 2**12)


@pytest.mark.parametrize("shard", range(2))
def test_krond_keeps_every_promise_for_jobs_that_run_at_boot(
    shard: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    spare_the_disk(monkeypatch)
    lives = LIVES // SHARDS // 2
    seeds = range(shard * lives, (shard + 1) * lives)
    found = [explore_life(at_boot(life(seed)), HostWorld) for seed in seeds]
    assert sum(each.crash_points for each in found) > 3 * lives
    assert sum(each.starts for each in found) > lives // 2


def at_boot(of: Life) -> Life:
    """The same life of jobs with `@reboot`, as long as nobody edits them."""

    def schedule(text: str) -> str:
        return f"@reboot {text[text.index('@policy') :]}"

    jobs = tuple(job.replace(schedule=schedule(job.schedule)) for job in of.jobs)
    is_reboot_for_ever = of.seed % 2 == 0
    events = tuple(
        event.replace(schedule=schedule(event.schedule))
        if isinstance(event, Edit) and is_reboot_for_ever
        else event
        for event in of.events
    )
    return of.replace(jobs=jobs, events=events)


@pytest.mark.parametrize("shard", range(SHARDS))
def test_the_operator_keeps_every_promise(
    shard: int,
    record_property: Callable[[str, object], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(status_writer, "WRITERS", 2)  # most lives have one or two KronJobs
    explored(shard, ClusterWorld, record_property)


def test_a_seed_gives_the_same_life() -> None:
    assert life(7) == life(7)
    assert len({life(seed) for seed in range(50)}) == 50


def test_a_period_may_be_skipped_for_a_run_that_a_crash_kept_from_starting() -> None:
    """Found by the soak: both are chosen for one second, and after the crash one is too late."""
    schedule = "* * * * * @win(after,4m) @only(between=00:00-00:02) @policy(concurrency=forbid)"
    of = Life(53_858, (LivedJob("job-0", schedule, 1),), (), 90, 8)
    assert explore_life(of, MemoryWorld).crash_points > 3


def test_a_leader_that_stood_still_while_the_clock_was_set_back_wakes_again() -> None:
    """Found by the simulation: it took its timer for one that was still armed."""
    job = LivedJob("job-0", "* * * * * @win(after,4m) @policy(concurrency=allow,deadline=90s)", 20)
    events = (
        Fault(at_s=32, lasts_s=10, kind=FaultKind.ARRIVES_LATE),
        Fault(at_s=65, lasts_s=60, kind=FaultKind.STOPPED),
        Jump(at_s=116, by_s=-5),
    )
    explore_life(Life(1971, (job,), events, 120, 1), ClusterWorld)


def test_a_job_is_not_skipped_for_its_own_run_when_the_clock_was_set_back() -> None:
    """Found by the simulation: the leader that made the Job crashed before it stored a ledger."""
    job = LivedJob("job-0", "*/3 * * * * @policy(concurrency=forbid,deadline=90s)", 200)
    explore_life(Life(257, (job,), (Jump(at_s=52, by_s=-90),), 120, 1), ClusterWorld)


def test_a_manual_run_that_a_loss_of_power_ended_is_on_record() -> None:
    """Found by the simulation: it was said not to have started."""
    job = LivedJob("job-0", "*/3 * * * * @win(after,2m) @policy(concurrency=forbid)", 20)
    explore_life(Life(318, (job,), (Trigger(95, "job-0"), Reboot(99)), 120, 45), HostWorld)


@pytest.mark.parametrize("concurrency", ["allow", "replace"])
@pytest.mark.parametrize("seed", [1, 2])  # how late a request arrives, in a world that keeps no Job
def test_a_request_that_arrives_late_finds_its_name_taken(seed: int, concurrency: str) -> None:
    """The second try has made the Job, which has finished or was replaced long before."""
    late = Fault(at_s=59, lasts_s=3, kind=FaultKind.ARRIVES_LATE)
    for deadline, down_s in (("90s", 0), ("90s", 30), ("3s", 10)):
        schedule = f"* * * * * @policy(concurrency={concurrency},deadline={deadline})"
        job = LivedJob("job-0", schedule, 1 if concurrency == "allow" else 200)
        of = Life(seed, (job,), (late,), 180, down_s)
        assert explore_life(of, ClusterWorld).crash_points > 5
