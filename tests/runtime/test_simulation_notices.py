"""A simulation is worth what it notices: each fault put into an adapter has to break a promise."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from kron.engine import recovery
from kron.engine.ledger import Intent, Ledger
from kron.engine.recovery import Recovery, Restart
from kron.engine.step import latest_start_s
from kron.krond.configuration.settings import UNLIMITED_RUNS
from kron.krond.enrolment import enrolment
from kron.krond.roster.member import HostMember
from kron.krond.roster.run import PendingRun
from kron.krond.runs.evidence import Search
from kron.krond.runs.starter import ProcessStarter
from kron.krond.runs.supervisor import Supervisor
from kron.krond.state.record import RunRecord
from kron.krond.state.writeback import WriteBack
from kron.kube.operator.status_writer import StatusWriter
from kron.runtime import scheduler, tracked
from kron.runtime.tracked import TrackedJob
from kron.testing.life import Edit, Fault, FaultKind, Forget, Life, LivedJob, Remove
from kron.testing.memory import MemoryAdapter, MemoryJob, MemoryWorld
from kron.testing.processes import FakeProcesses
from kron.testing.promises import BrokenPromiseError
from kron.testing.simulation import explore, explore_life
from kron.testing.world import World
from tests.runtime.cluster_world import ClusterWorld
from tests.runtime.host_world import HostWorld

Patch = pytest.MonkeyPatch


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


def ignore_the_boot_id(patch: Patch) -> None:
    patch.setattr(FakeProcesses, "boot_id", lambda _: "the same after every boot")


def adopt_no_run(patch: Patch) -> None:
    patch.setattr(Supervisor, "adopt", lambda *_: None)


def keep_what_is_pending_at_removal(patch: Patch) -> None:
    patch.setattr(scheduler.Scheduler, "give_up", lambda *_: None)


def drop_what_is_handled_at_removal(patch: Patch) -> None:
    def retired(self: Ledger) -> Ledger:
        return Ledger(schedule="", since_s=self.since_s)

    patch.setattr(Ledger, "retired", retired)


def owe_what_was_due_while_removed(patch: Patch) -> None:
    patch.setattr(Ledger, "retired", lambda self: self)


def owe_what_was_due_before_forgetting(patch: Patch) -> None:
    forget = TrackedJob.forget
    patch.setattr(TrackedJob, "forget", lambda self, now_s: forget(self, now_s - 100))


def store_no_manual_run(patch: Patch) -> None:
    state = HostMember.state

    def without_manual(self: HostMember, boot_id: str) -> Any:
        found = state(self, boot_id)
        active = tuple(run for run in found.active if run.nominal_s is not None)
        return found.replace(active=active)

    patch.setattr(HostMember, "state", without_manual)


def start_manual_runs_again(patch: Patch) -> None:
    init = ProcessStarter.__init__

    def forgetful(self: Any, *arguments: Any, **how: Any) -> None:
        init(self, *arguments, **how)
        conclude = self.conclusions.of_run

        def again(job: Any, record: RunRecord, reason: str) -> None:
            if record.nominal_s is not None:
                conclude(job, record, reason)
                return
            self._host.store.remove_proof(record.run_id)
            pending = PendingRun(job, record, replaces=False)
            job.pending.append(pending)
            self.request(job, pending)

        self.conclusions.of_run = again

    patch.setattr(ProcessStarter, "__init__", forgetful)


def call_manual_runs_unstarted(patch: Patch) -> None:
    patch.setattr(enrolment, "UNSEEN", enrolment.NOT_STARTED)


def remember_no_end(patch: Patch) -> None:
    patch.setattr(HostMember, "remember_end", lambda self, _: self._store.changed(self))


def limit_nothing(patch: Patch) -> None:
    init = ProcessStarter.__init__

    def unlimited(self: Any, *arguments: Any, most_running: int) -> None:
        init(self, *arguments, most_running=UNLIMITED_RUNS)

    patch.setattr(ProcessStarter, "__init__", unlimited)


def time_nothing_out(patch: Patch) -> None:
    stop = Supervisor.stop

    def patient(self: Any, run: Any, reason: str, *, is_timeout: bool = False) -> None:
        if not is_timeout:
            stop(self, run, reason)

    patch.setattr(Supervisor, "stop", patient)


def drop_what_is_refused(patch: Patch) -> None:
    failed = ProcessStarter._failed

    def silent(self: Any, pending: Any, error: Any) -> None:
        if error.for_good:
            self._forget(pending)
        else:
            failed(self, pending, error)

    patch.setattr(ProcessStarter, "_failed", silent)


_CATCHING_UP = "* * * * * @win(after,30s) @policy(concurrency=allow,deadline=10m)"
_JOB = (LivedJob("job-0", _CATCHING_UP, 0),)
CHOSEN = {
    "back": Life(1, _JOB, (Remove(40, "job-0"), Edit(115, "job-0", _CATCHING_UP)), 120, 1),
    "waiting": Life(2, _JOB, (Fault(50, 60, FaultKind.START_FAILS), Remove(95, "job-0")), 120, 1),
    "failing": Life(
        4,
        (
            LivedJob(
                "job-0", "* * * * * @win(after,4m) @policy(concurrency=replace,deadline=20s)", 70
            ),
        ),
        (Fault(7, 60, FaultKind.START_FAILS),),
        90,
        0,
    ),
    "forgotten": Life(3, _JOB, (Forget(35, "job-0"), Forget(95, "job-0")), 120, 1),
}

FIRST = range(100)
"""Other ranges are those in which a rare fault shows. Where lives have changed, look for others."""

NOTICED = [
    (store_intents_after_starts, MemoryWorld, FIRST, "was started, and is missed"),
    (store_intents_after_starts, HostWorld, FIRST, "was started, and is missed"),
    (announce_before_storing, HostWorld, FIRST, "ended twice"),
    (announce_before_storing, ClusterWorld, FIRST, "ended twice"),
    (look_for_no_run, MemoryWorld, FIRST, "was started, and is missed"),
    (look_for_no_run, HostWorld, FIRST, "was started, and is missed"),
    (restart_everything, MemoryWorld, FIRST, "started beside 1 others"),
    (restart_everything, HostWorld, FIRST, "started beside 1 others"),
    (forget_intents, MemoryWorld, FIRST, "nothing was heard"),
    (forget_intents, HostWorld, FIRST, "nothing was heard"),
    (forget_intents, ClusterWorld, FIRST, "was started, and is missed"),
    (give_up_early, MemoryWorld, FIRST, "is missed 0 s late, with 0 s allowed"),
    (give_up_early, HostWorld, range(139, 140), "is missed 0 s late, with 0 s allowed"),
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
    (ignore_the_boot_id, HostWorld, FIRST, "was started, and is missed"),
    (adopt_no_run, HostWorld, FIRST, "nothing was heard of the end of the run"),
    (drop_what_is_handled_at_removal, HostWorld, range(316, 317), "started twice"),
    (owe_what_was_due_before_forgetting, HostWorld, FIRST, "ended twice"),
    (store_no_manual_run, HostWorld, FIRST, "is not on record"),
    (start_manual_runs_again, HostWorld, FIRST, "started twice"),
    (call_manual_runs_unstarted, HostWorld, FIRST, "started, but krond says that it did not"),
    (remember_no_end, HostWorld, FIRST, "is executed, which is not on record"),
    (limit_nothing, HostWorld, range(254, 255), "2 runs went on at once, more than 1"),
    (time_nothing_out, HostWorld, range(158, 159), "with a timeout of 10"),
    (drop_what_is_refused, HostWorld, range(51, 52), "has no end"),
]


@pytest.mark.parametrize(("fault", "world", "seeds", "words"), NOTICED)
def test_the_simulation_notices(
    monkeypatch: Patch,
    fault: Callable[[Patch], None],
    world: type[World],
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


NOTICED_BY_CHOSEN = [
    (owe_what_was_due_while_removed, MemoryWorld, "back", "not configured when it was due"),
    (owe_what_was_due_while_removed, HostWorld, "back", "not configured when it was due"),
    (keep_what_is_pending_at_removal, MemoryWorld, "waiting", "no longer configured"),
    (keep_what_is_pending_at_removal, HostWorld, "waiting", "no longer configured"),
    (owe_what_was_due_before_forgetting, MemoryWorld, "forgotten", "started twice"),
    (owe_what_was_due_before_forgetting, HostWorld, "forgotten", "started twice"),
    (give_up_early, ClusterWorld, "failing", "is missed 0 s late, with 20 s allowed"),
    (let_go_of_ends, ClusterWorld, "failing", "has no end"),
]


@pytest.mark.parametrize(("fault", "world", "name", "words"), NOTICED_BY_CHOSEN)
def test_chosen_lives_notice(
    monkeypatch: Patch, fault: Callable[[Patch], None], world: type[World], name: str, words: str
) -> None:
    """What these do is rare in random lives."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    explore_life(CHOSEN[name], world)
    fault(monkeypatch)
    with pytest.raises(BrokenPromiseError) as caught:
        explore_life(CHOSEN[name], world)
    assert words in str(caught.value)
