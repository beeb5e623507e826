"""krond under load, killed at random moments from outside and from inside, again and again."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.krond import load
from tests.krond.fault import DUE_S, Fault, FaultyHost, Server, zombies
from tests.logbook import wait_for
from tests.soak import SOAK

JOBS = 1_000
ROUNDS = 12
CROWD = 900
"""More runs at once than krond may watch with `FEW_FILES`, by far."""
FEW_FILES = 128


@pytest.fixture
def host(tmp_path: Path) -> Iterator[FaultyHost]:
    with Server() as server, FaultyHost(tmp_path, server) as host:
        yield host


@pytest.mark.parametrize("seed", range(SOAK))
def test_killed_at_random_under_load_krond_runs_every_period_once(
    host: FaultyHost, seed: int
) -> None:
    chance = random.Random(seed)
    host.write(*load.lines(host, JOBS))
    host.start()
    host.kill()
    for _ in range(ROUNDS):
        live_through_a_round(host, chance)
        host.kill()
        host.states()  # every one of them reads
        assert set(host.ran().values()) <= {1}
    host.start()
    due = load.owed(host, int(time.time()))
    wait_for(lambda: due <= set(host.ran()), "every period that was due has run")
    krond = host.process
    assert krond is not None
    wait_for(lambda: not zombies(krond.pid), "whoever has ended is reaped")
    assert host.stop() == 0
    assert len(due) > JOBS / 120 * ROUNDS / 4
    assert set(host.ran()) <= load.owed(host, int(time.time()))
    assert set(host.ran().values()) == {1}
    assert not any(state.ledger.starting or state.active for state in host.states().values())
    assert not list((host.state / "runs").iterdir())
    host.check_accounts()


def live_through_a_round(host: FaultyHost, chance: random.Random) -> None:
    """A krond that has ended, or is about to be ended, at a moment that nobody has chosen."""
    way = chance.choice(["starting", "running", "faulty"])
    host.launch(fault=Fault(chance.randint(1, 20_000)) if way == "faulty" else None)
    process = host.process
    assert process is not None
    if way == "faulty":
        wait_for(lambda: process.poll() is not None, "krond kills itself")
        return
    if way == "running":
        host.wait_until_ready()
    time.sleep(chance.uniform(0, 0.5))


def test_a_burst_that_krond_may_not_open_enough_files_for_loses_no_run(host: FaultyHost) -> None:
    names = [f"job-{number}" for number in range(CROWD)]
    host.write(*(host.job(name, policy="", then="sleep 0.3") for name in names))
    host.launch("--limit-nofile", str(FEW_FILES), begin_s=DUE_S - 1, due_s=DUE_S, gated=True)
    host.wait_until_ready()
    host.open_gate()
    wait_for(lambda: len(host.ran()) == CROWD, "all of them have run", 120)
    assert host.events("missed_deadline") == []
    assert host.stop() == 0
    assert set(host.ran().values()) == {1}
    host.check_accounts()
