"""A simulation is worth what it notices: each fault put into an adapter has to break a promise."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from kron.engine import recovery
from kron.engine.ledger import Intent
from kron.engine.recovery import Recovery, Restart
from kron.engine.step import latest_start_s
from kron.krond.evidence import Search
from kron.krond.state.writeback import WriteBack
from kron.kube.operator.status_writer import StatusWriter
from kron.runtime import scheduler, tracked
from kron.runtime.tracked import TrackedJob
from kron.testing.life import Life
from kron.testing.memory import MemoryAdapter, MemoryJob, MemoryWorld
from kron.testing.promises import BrokenPromiseError
from kron.testing.simulation import explore
from kron.testing.world import Effects, World
from tests.runtime.cluster_world import ClusterWorld
from tests.runtime.host_world import HostWorld

Patch = pytest.MonkeyPatch
Adapter = Callable[[Life, Effects], World]


def store_intents_after_starts(patch: Patch) -> None:
    for store in (MemoryAdapter, WriteBack):
        commit = store.commit

        def later(self: Any, jobs: Any, *, starts: bool = False, commit: Any = commit) -> bool:
            for job in jobs if starts else ():
                self.changed(job)
            return starts or commit(self, jobs)

        patch.setattr(store, "commit", later)


def announce_before_storing(patch: Patch) -> None:
    patch.setattr(WriteBack, "then", lambda _, announce: announce())
    patch.setattr(StatusWriter, "then", lambda _, __, announce: announce())


def look_for_no_run(patch: Patch) -> None:
    patch.setattr(MemoryWorld, "_sightings", lambda *_: [])
    patch.setattr(Search, "_evidence", lambda *_: None)


def restart_everything(patch: Patch) -> None:
    patch.setattr(recovery, "_startable", lambda _, intent, *__: Restart(intent, replaces=False))


def forget_intents(patch: Patch) -> None:
    def forgetful(_: object, ledger: Any, *__: object, **___: object) -> Recovery:
        return Recovery(ledger.replace(starting=()), ())

    patch.setattr(tracked, "recover", forgetful)


def give_up_early(patch: Patch) -> None:
    patch.setattr(scheduler, "latest_start_s", lambda *args: latest_start_s(*args) - 30)


def let_go_of_ends(patch: Patch) -> None:
    patch.setattr(TrackedJob, "gave_up", lambda *_: None)


def skip_everything(patch: Patch) -> None:
    patch.setattr(MemoryJob, "active_run", property(lambda _: "a run that does not exist"))


def owe_nothing_after_a_restart(patch: Patch) -> None:
    load = TrackedJob.load

    def forgetful(self: Any, ledger: Any, *planned: Any) -> None:
        load(self, ledger and ledger.replace(since_s=ledger.since_s + 10_000), *planned)

    patch.setattr(TrackedJob, "load", forgetful)


def patch_decisions(patch: Patch) -> None:
    decision = Intent.decision

    def patched(self: Intent, job: Any) -> Any:
        found = decision(self, job)
        return found and found.replace(chosen_s=self.chosen_s + 1)

    patch.setattr(Intent, "decision", patched)


def start_unannounced(patch: Patch) -> None:
    patch.setattr(scheduler.Scheduler, "_announce", lambda *_: None)


FIRST = range(100)
"""Other ranges are those in which a rare fault shows. Where lives have changed, look for others."""

NOTICED = [
    (store_intents_after_starts, MemoryWorld, FIRST, "started twice"),
    (store_intents_after_starts, HostWorld, FIRST, "was started, and is missed"),
    (announce_before_storing, HostWorld, FIRST, "ended twice"),
    (announce_before_storing, ClusterWorld, FIRST, "ended twice"),
    (look_for_no_run, MemoryWorld, FIRST, "was started, and is missed"),
    (look_for_no_run, HostWorld, FIRST, "was started, and is missed"),
    (restart_everything, MemoryWorld, FIRST, "started beside 1 others"),
    (restart_everything, HostWorld, FIRST, "started beside 1 others"),
    (restart_everything, ClusterWorld, range(400, 410), "started beside 1 others"),
    (forget_intents, MemoryWorld, FIRST, "nothing was heard"),
    (forget_intents, HostWorld, FIRST, "nothing was heard"),
    (forget_intents, ClusterWorld, FIRST, "was started, and is missed"),
    (give_up_early, MemoryWorld, FIRST, "is missed 0 s late, with 0 s allowed"),
    (give_up_early, HostWorld, FIRST, "is missed 0 s late, with 0 s allowed"),
    (give_up_early, ClusterWorld, range(860, 870), "is missed 0 s late, with 20 s allowed"),
    (skip_everything, MemoryWorld, FIRST, "is skipped, and no other run was active"),
    (owe_nothing_after_a_restart, MemoryWorld, FIRST, "nothing was heard"),
    (owe_nothing_after_a_restart, HostWorld, FIRST, "nothing was heard"),
    (owe_nothing_after_a_restart, ClusterWorld, FIRST, "nothing was heard"),
    (patch_decisions, MemoryWorld, FIRST, "does not follow"),
    (patch_decisions, HostWorld, FIRST, "does not follow"),
    (patch_decisions, ClusterWorld, FIRST, "does not follow"),
    (start_unannounced, HostWorld, FIRST, "began unannounced"),
    (let_go_of_ends, MemoryWorld, FIRST, "has no end"),
    (let_go_of_ends, HostWorld, FIRST, "has no end"),
    (let_go_of_ends, ClusterWorld, range(230, 240), "has no end"),
]


@pytest.mark.parametrize(("fault", "world", "seeds", "words"), NOTICED)
def test_the_simulation_notices(
    monkeypatch: Patch,
    fault: Callable[[Patch], None],
    world: Adapter,
    seeds: range,
    words: str,
) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)
    fault(monkeypatch)
    with pytest.raises(BrokenPromiseError) as caught:
        explore(seeds, world)
    assert words in str(caught.value)
    [note] = caught.value.__notes__
    assert "crash after effects" in note
