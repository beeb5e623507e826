"""The whole operator, at moments that a real API server cannot be made to have (see `server`)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

import kron
from kron.core.decision import decide_at
from kron.core.instant import from_text
from kron.engine.actions import REPLACED
from kron.engine.ledger import Ledger
from kron.engine.storage import ledger_to_json
from kron.kube.client.errors import ApiError, no_answer
from kron.kube.operator import status_writer
from kron.kube.resource.kronjob import read_kronjob
from kron.kube.resource.run import manual_manifest, run_manifest
from kron.kube.resource.status import status_from_json
from tests.kube.client.server import until
from tests.kube.intents import intent_of
from tests.kube.operator.server import (
    CONFLICT,
    NOW,
    PAGE,
    Object,
    Replica,
    Server,
    kronjob,
    play,
    seen,
)

THIS_MINUTE = "2026-11-16T12:00:00Z"
OWED = {"deadline": "1h"}
WAITS = {"deadline": "1h", "suspend": True}
DONE = {"conditions": [{"type": "Complete", "status": "True"}]}


def test_a_start_that_is_cancelled_before_it_began_holds_nothing_up() -> None:
    async def test(server: Server) -> None:
        server.put("kronjobs", seen(kronjob("victim", policy=WAITS)))
        server.put("kronjobs", kronjob("other", schedule="0 0 1 1 *"))
        replica = Replica(server)
        await replica.start()
        await until(lambda: "conditions" in server.status("other"))
        server.edit("victim", policy=OWED)  # a run is owed at once,
        server.remove("kronjobs", "victim")  # and the watch tells of both in one breath
        server.edit("other", schedule="0 0 2 1 *")
        await until(lambda: server.status("other")["observedGeneration"] == 2)
        assert server.objects["jobs"] == {}
        await replica.stop()

    play(test)


def finish(server: Server, job: Object) -> None:
    server.put("jobs", deepcopy(job) | {"status": DONE})


def delete(server: Server, job: Object) -> None:
    server.remove("jobs", job["metadata"]["name"])


@pytest.mark.parametrize("meanwhile", [finish, delete])
def test_a_job_that_ends_before_its_creation_was_answered_is_not_active(
    meanwhile: Callable[[Server, Object], None],
) -> None:
    async def test(server: Server) -> None:
        async def made(job: Object) -> None:
            meanwhile(server, job)
            await asyncio.sleep(0.05)  # until the watch has told of it

        server.on_job_made = made
        server.put("kronjobs", seen(kronjob(policy=OWED)))
        replica = Replica(server)
        await replica.start()
        await until(lambda: server.status().get("lastOutcome") == "executed")
        assert replica.member().active_runs() == []
        assert len(replica.member().own_runs()) == len(server.objects["jobs"])
        assert server.status()["active"] == []
        await replica.stop()

    play(test)


def test_a_job_is_not_replaced_while_it_is_all_that_is_known_of_its_run() -> None:
    """Else the next operator would find its period overdue, and run it again."""
    is_away = True

    async def answer() -> None:
        if is_away:
            raise ApiError(500, "the status cannot be stored")

    async def test(server: Server) -> None:
        nonlocal is_away
        server.on_patch = answer
        obj = seen(kronjob(policy=OWED | {"concurrency": "replace"}))
        read = read_kronjob(obj)
        active = run_manifest(read, intent_of(read, from_text(THIS_MINUTE) - 60), spare_s=5)
        active["metadata"]["uid"] = "made by an operator that could not tell of it"
        server.put("jobs", active)
        server.put("kronjobs", obj)
        replica = Replica(server)
        await replica.start()
        await until(lambda: bool(replica.member().pending))
        await asyncio.sleep(0.1)
        assert server.asked("delete", "jobs") == []
        is_away = False
        await until(lambda: server.asked("delete", "jobs") == [active["metadata"]["name"]])
        await until(lambda: len(server.asked("create", "jobs")) == 1)
        await replica.stop()

    play(test)


def test_only_what_was_active_is_replaced() -> None:
    async def test(server: Server) -> None:
        obj = seen(kronjob(policy=OWED | {"concurrency": "replace"}))
        read = read_kronjob(obj)
        old = run_manifest(read, intent_of(read, from_text(THIS_MINUTE) - 60), spare_s=5)
        old["metadata"]["uid"] = "old"
        server.put("jobs", old)
        server.put("kronjobs", obj)
        server.stays = frozenset((old["metadata"]["name"],))
        replica = Replica(server)
        await replica.start()
        await until(lambda: bool(server.asked("delete", "jobs")))
        triggered = manual_manifest(read, "manual-x")
        triggered["metadata"]["uid"] = "triggered meanwhile"
        server.put("jobs", triggered)
        await until(lambda: len(replica.member().active_runs()) == 2)
        server.remove("jobs", old["metadata"]["name"])
        await until(lambda: bool(server.asked("create", "jobs")))
        assert server.asked("delete", "jobs") == [old["metadata"]["name"]]
        await replica.stop()

    play(test)


def test_a_load_balancers_404_does_not_let_two_jobs_run_together() -> None:
    async def test(server: Server) -> None:
        obj = seen(kronjob(policy=OWED | {"concurrency": "replace"}))
        read = read_kronjob(obj)
        old = run_manifest(read, intent_of(read, from_text(THIS_MINUTE) - 60), spare_s=5)
        old["metadata"]["uid"] = "old"
        server.put("jobs", old)
        server.put("kronjobs", obj)
        server.refusals["delete", "jobs"] = [PAGE]
        replica = Replica(server)
        await replica.start()
        await until(lambda: bool(server.asked("create", "jobs")))
        assert server.asked("delete", "jobs") == [old["metadata"]["name"]] * 2
        await until(lambda: list(server.objects["jobs"]) == server.asked("create", "jobs"))
        await replica.stop()

    play(test)


def test_a_load_balancers_404_does_not_end_a_period_whose_job_may_exist() -> None:
    async def test(server: Server) -> None:
        async def lose_the_answer(_: Object) -> None:
            server.refusals["create", "jobs"] = [ApiError(422, "a webhook", reason="Invalid")]
            server.refusals["get", "jobs"] = [PAGE]
            raise no_answer("create jobs", "cut", is_sent=True)

        async def lose_the_watch(_: Object) -> None:
            server.forget_watches()

        server.on_create_job = lose_the_watch
        server.on_job_made = lose_the_answer
        server.put("kronjobs", seen(kronjob(policy=OWED)))
        replica = Replica(server)
        await replica.start()
        await until(lambda: server.status()["ledger"].get("last", {}).get("period") == THIS_MINUTE)
        assert server.status()["lastOutcome"] == "executed"
        assert len(server.asked("get", "jobs")) == 2
        await replica.stop()

    play(test)


def test_a_load_balancers_404_does_not_stop_the_clean_up() -> None:
    async def test(server: Server) -> None:
        server.put("kronjobs", obj := kronjob(successfulJobsHistoryLimit=0))
        job = manual_manifest(read_kronjob(obj), "manual-x")
        job["metadata"]["uid"] = "finished"
        server.refusals["delete", "jobs"] = [PAGE]
        replica = Replica(server)
        await replica.start()
        finish(server, job)
        await until(lambda: server.objects["jobs"] == {})
        assert len(server.asked("delete", "jobs")) == 2
        await replica.stop()

    play(test)


@pytest.mark.parametrize(
    "refusals",
    [
        pytest.param({("patch", "kronjobs"): [PAGE]}, id="to the write"),
        pytest.param(
            {("patch", "kronjobs"): [CONFLICT], ("get", "kronjobs"): [PAGE]},
            id="to the read after a conflict",
        ),
    ],
)
def test_a_status_is_written_after_a_load_balancers_404(
    refusals: dict[tuple[str, str], list[ApiError]],
) -> None:
    async def test(server: Server) -> None:
        server.put("kronjobs", kronjob(schedule="0 0 1 1 *"))
        server.refusals = {what: [*errors] for what, errors in refusals.items()}
        replica = Replica(server)
        await replica.start()
        await until(lambda: "conditions" in server.status())
        await replica.stop()

    play(test)


def test_a_job_made_while_one_of_its_name_is_cleaned_up_is_known() -> None:
    async def test(server: Server) -> None:
        obj = kronjob(schedule="0 0 1 1 *", successfulJobsHistoryLimit=0)
        server.put("kronjobs", obj)
        job = manual_manifest(read_kronjob(obj), "manual-x")
        again = deepcopy(job)
        job["metadata"]["uid"], again["metadata"]["uid"] = "finished", "active"
        delete = server.delete

        async def delete_and_make_again(*what: Any, **how: Any) -> None:
            await delete(*what, **how)
            server.put("jobs", again)
            await asyncio.sleep(0.05)  # until the watch has shown it

        server.delete = delete_and_make_again  # type: ignore[method-assign]
        replica = Replica(server)
        await replica.start()
        finish(server, job)
        await until(lambda: bool(server.asked("delete", "jobs")))
        await asyncio.sleep(1)
        assert [run.uid for run in replica.member().active_runs()] == ["active"]
        await replica.stop()

    play(test)


def test_a_later_run_that_is_active_is_not_replaced_by_an_earlier_one() -> None:
    """The intent of the earlier period was stored when the operator before this one died."""

    async def test(server: Server) -> None:
        replacing = kronjob(policy=OWED | {"concurrency": "replace"}, schedule="*/30 * * * *")
        read = read_kronjob(replacing)
        later = intent_of(read, read.schedule.nominals.at_or_before(from_text(NOW)))
        earlier = intent_of(read, read.schedule.nominals.at_or_before(later.nominal_s - 1))
        ledger = Ledger(read.job.text, earlier.nominal_s - 60, earlier.nominal_s)
        ledger = ledger.replace(starting=(earlier,))
        job = run_manifest(read, later, spare_s=5)
        job["metadata"]["uid"] = "the later one"
        server.put("jobs", job)
        server.put("kronjobs", replacing | {"status": {"ledger": ledger_to_json(ledger)}})
        replica = Replica(server)
        await replica.start()
        await until(lambda: "conditions" in server.status())
        assert server.asked("delete", "jobs") == server.asked("create", "jobs") == []
        assert server.status()["ledger"]["starting"] == []
        stored = status_from_json({"status": server.status()}).ledger
        assert stored is not None
        assert stored.is_handled(earlier.nominal_s)
        assert stored.is_handled(later.nominal_s)
        assert (server.status()["lastOutcome"], server.status()["lastReason"]) == (
            "skipped",
            REPLACED,
        )
        await replica.stop()

    play(test)


def test_a_kronjob_that_goes_while_it_is_read_again_stays_gone() -> None:
    async def test(server: Server) -> None:
        server.put("kronjobs", kronjob(schedule="0 0 1 1 *"))
        replica = Replica(server)
        await replica.start()
        await until(lambda: "conditions" in server.status())

        async def conflict() -> None:
            server.on_patch = None
            raise CONFLICT

        async def get(*arguments: Any, **options: Any) -> Object:
            found = await Server.get(server, *arguments, **options)
            if arguments[0].plural == "kronjobs":
                server.remove("kronjobs", "a")
                await asyncio.sleep(0.05)  # until the watch has told of it
            return found

        server.on_patch = conflict
        server.get = get  # type: ignore[method-assign]
        server.edit("a", schedule="0 0 2 1 *")
        await until(lambda: bool(server.asked("get", "kronjobs")))
        await asyncio.sleep(0.2)
        assert len(replica.operator._roster) == 0
        await replica.stop()

    play(test)


def test_what_was_told_is_written_before_the_next_one_leads() -> None:
    is_slow = False

    async def wait() -> None:
        if is_slow:
            await asyncio.sleep(0.2)

    async def test(server: Server) -> None:
        nonlocal is_slow
        server.on_patch = wait
        server.put("kronjobs", kronjob(schedule="0 0 1 1 *"))
        replica = Replica(server)
        await replica.start()
        await until(lambda: "conditions" in server.status())
        is_slow = True
        server.edit("a", schedule="0 0 2 1 *")
        await until(lambda: replica.operator._statuses.waiting() == 1)
        await replica.stop()
        assert server.status()["observedGeneration"] == 2

    play(test)


def test_one_that_may_not_act_tells_nothing(tmp_path: Path) -> None:
    """As after a sleep: its timer may be read before it learns that it leads no more."""

    async def test(server: Server) -> None:
        server.put("kronjobs", kronjob(policy=WAITS))
        replica = Replica(server, log=str(tmp_path / "log"))
        await replica.start()
        await until(lambda: "conditions" in server.status())
        replica.operator._election._held_until_ns = 0
        replica.operator._scheduler.queue.put(replica.member(), 1)
        replica.operator._timer_fired()
        replica.operator._step_if_leading([replica.member()], replica.clock.now_ns())
        server.edit("a", policy=OWED)
        await until(lambda: replica.member().metadata.generation == 2)
        told = re.findall(r"event=(\w+)", (tmp_path / "log").read_text())
        assert told == ["leader", "ready", "suspended"]
        await replica.stop()

    play(test)


@pytest.mark.parametrize("newer", [{"schema": 4}, {"schema": "?"}], ids=["newer", "unreadable"])
def test_a_ledger_that_becomes_one_that_does_not_read_is_told_of_at_once(newer: Object) -> None:
    async def test(server: Server) -> None:
        server.put("kronjobs", kronjob(policy={"suspend": True}))
        replica = Replica(server)
        await replica.start()
        await until(lambda: "conditions" in server.status())
        for ledger in ({"schema": 4}, newer):
            obj = deepcopy(server.objects["kronjobs"]["a"])
            obj["status"]["ledger"] = ledger
            server.put("kronjobs", obj)
            version = str(server.version)
            await until(lambda v=version: replica.member().metadata.resource_version >= v)  # type: ignore[misc]
        is_frozen = newer["schema"] == 4
        assert bool(replica.member().frozen) is is_frozen
        await until(lambda: server.status()["conditions"][0]["status"] == str(not is_frozen))
        await replica.stop()

    play(test)


@pytest.mark.parametrize("damaged", [None, {"schema": "?"}], ids=["removed", "unreadable"])
def test_a_leader_writes_back_a_ledger_that_was_damaged(damaged: Object | None) -> None:
    async def test(server: Server) -> None:
        server.put("kronjobs", seen(kronjob(policy={"deadline": "0s"}, schedule="0 0 1 * *")))
        replica = Replica(server)
        await replica.start()
        await until(lambda: "lastOutcome" in server.status())
        obj = deepcopy(server.objects["kronjobs"]["a"])
        ledger, obj["status"]["ledger"] = obj["status"]["ledger"], damaged
        server.put("kronjobs", obj)
        await until(lambda: server.status()["ledger"] == ledger)
        await replica.stop()

    play(test)


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param({"name": "x" * 53}, id="a-name-that-a-definition-without-rules-let-pass"),
        pytest.param({"labels": {"n": 1}}, id="labels-of-no-text"),
        pytest.param({"novelty": "of a later Kubernetes"}, id="a-field-of-the-future"),
    ],
)
def test_an_odd_object_ends_nothing(odd: Object) -> None:
    async def test(server: Server) -> None:
        replica = Replica(server)
        await replica.start()
        strange = seen(kronjob("strange", policy=OWED))
        strange["metadata"] |= odd
        server.put("kronjobs", strange)
        name = strange["metadata"]["name"]
        await until(lambda: "conditions" in server.status(name))
        is_named_well = name == "strange"
        conditions = {each["type"]: each["status"] for each in server.status(name)["conditions"]}
        assert conditions["InvalidSpec"] == str(not is_named_well)
        assert bool(server.asked("create", "jobs")) is is_named_well
        await replica.stop()

    play(test)


def test_an_older_storage_is_believed_and_written_to() -> None:
    async def test(server: Server) -> None:
        server.version = 100_000
        server.put("kronjobs", kronjob(schedule="0 0 1 1 *"))
        replica = Replica(server)
        await replica.start()
        await until(lambda: "conditions" in server.status())
        server.version = 500
        restored = kronjob(schedule="0 0 1 1 *", policy={"suspend": True})  # edited since, again
        restored["metadata"] |= {"resourceVersion": "450"}
        server.objects["kronjobs"]["a"] = restored
        server.cut_watches()
        await until(lambda: "conditions" in server.status())
        kronjob_now = replica.member().kronjob
        assert kronjob_now is not None
        assert kronjob_now.schedule.policy.suspend
        await replica.stop()

    play(test)


def test_an_end_is_announced_once_it_is_stored(tmp_path: Path) -> None:
    """Else the next leader might run a period that was announced as missed."""
    is_away = True

    async def answer() -> None:
        if is_away:
            raise ApiError(500, "the status cannot be stored")

    async def test(server: Server) -> None:
        nonlocal is_away
        server.on_patch = answer
        server.put("kronjobs", seen(kronjob(policy={"deadline": "0s"})))
        replica = Replica(server, log=str(tmp_path / "log"))
        await replica.start()
        await until(lambda: "write status" in (tmp_path / "log").read_text())
        assert "event=missed" not in (tmp_path / "log").read_text()
        assert 'outcome="missed"} 0' in replica.metrics.text()
        is_away = False
        await until(lambda: "event=missed" in (tmp_path / "log").read_text())
        assert server.status()["lastOutcome"] == "missed"
        assert 'outcome="missed"} 0' not in replica.metrics.text()
        await replica.stop()

    play(test)


def test_what_was_not_announced_when_a_kronjob_goes_is_announced(tmp_path: Path) -> None:
    async def answer() -> None:
        raise ApiError(500, "the status cannot be stored")

    async def test(server: Server) -> None:
        server.on_patch = answer
        server.put("kronjobs", seen(kronjob(policy={"deadline": "0s"})))
        replica = Replica(server, log=str(tmp_path / "log"))
        await replica.start()
        await until(lambda: "write status" in (tmp_path / "log").read_text())
        server.remove("kronjobs", "a")
        await until(lambda: "event=missed" in (tmp_path / "log").read_text())
        await replica.stop()

    play(test)


def test_what_a_write_under_way_was_to_store_is_announced_when_the_kronjob_goes(
    tmp_path: Path,
) -> None:
    async def test(server: Server) -> None:
        async def go() -> None:
            server.remove("kronjobs", "a")
            await asyncio.sleep(0.05)  # until the watch has shown it
            raise ApiError(404, "it is gone", reason="NotFound")

        server.on_patch = go
        server.put("kronjobs", seen(kronjob(policy={"deadline": "0s"})))
        replica = Replica(server, log=str(tmp_path / "log"))
        await replica.start()
        await until(lambda: "event=missed" in (tmp_path / "log").read_text())
        assert replica.operator._statuses._announcements == {}
        await replica.stop()

    play(test)


@pytest.mark.heavy
def test_a_skipped_period_is_announced_while_the_job_before_it_cannot_be_made(
    tmp_path: Path,
) -> None:
    async def refuse(_: Object) -> None:
        raise ApiError(403, "exceeded quota: jobs", reason="Forbidden")

    async def test(server: Server) -> None:
        server.on_create_job = refuse
        server.put("kronjobs", seen(kronjob(policy=OWED | {"concurrency": "forbid"})))
        replica = Replica(server, log=str(tmp_path / "log"))
        await replica.start()
        await until(lambda: "event=skipped_concurrency" in (tmp_path / "log").read_text())
        assert replica.member().pending
        await replica.stop()

    play(test)


def test_a_write_that_conflicts_again_and_again_is_not_tried_without_a_pause() -> None:
    async def conflict() -> None:
        raise ApiError(409, "it has changed", reason="Conflict")

    async def test(server: Server) -> None:
        server.on_patch = conflict
        server.put("kronjobs", kronjob())
        replica = Replica(server)
        await replica.start()
        await until(lambda: len(server.asked("patch", "kronjobs")) == 2)
        await asyncio.sleep(0.3)
        assert len(server.asked("patch", "kronjobs")) < 6
        await replica.stop()

    play(test)


def test_nothing_is_started_for_a_kronjob_that_is_being_deleted() -> None:
    async def test(server: Server) -> None:
        period = THIS_MINUTE
        intent = {"period": period, "chosen": period, "run_id": "ab" * 10}
        going = seen(kronjob(policy=OWED), starting=[intent], handled=[period])
        going["metadata"]["deletionTimestamp"] = period
        server.put("kronjobs", going)
        replica = Replica(server)
        await replica.start()
        await until(lambda: "conditions" in server.status())
        assert server.asked("create", "jobs") == []
        await replica.stop()

    play(test)


def test_of_a_newer_operators_status_only_the_conditions_are_written_and_only_once() -> None:
    async def test(server: Server) -> None:
        newer = kronjob(policy=OWED)
        told = {"lastOutcome": "executed", "nextChosenTime": "2027-01-01T00:00:00Z"}
        newer["status"] = told | {"ledger": {"schema": 4, "what": "is new"}}
        server.put("kronjobs", newer)
        for _ in range(2):
            replica = Replica(server)
            await replica.start()
            await until(lambda: "conditions" in server.status())
            await asyncio.sleep(0.1)
            await replica.stop()
        kept = {name: server.status()[name] for name in (*told, "ledger")}
        assert kept == newer["status"]
        assert len(server.asked("patch", "kronjobs")) == 1
        assert server.asked("create", "jobs") == []

    play(test)


def test_one_that_has_just_ceased_to_lead_starts_nothing_and_goes_on() -> None:
    async def hang(_: Object) -> None:
        await asyncio.sleep(0.5)

    async def test(server: Server) -> None:
        server.on_create_job = hang
        for name in ("a", "b"):
            server.put("kronjobs", seen(kronjob(name, policy=WAITS)))
        replica = Replica(server)
        await replica.start()
        server.edit("a", policy=OWED)
        await until(lambda: len(server.asked("create", "jobs")) == 1)
        lease = deepcopy(server.objects["leases"]["kron-operator"])
        lease["spec"]["holderIdentity"] = "another"
        server.put("leases", lease)

        async def refuse(*_: object, **__: object) -> Any:
            raise ApiError(409, "it has changed", reason="Conflict")

        server.replace = refuse  # type: ignore[method-assign]
        await until(lambda: not replica.operator._enrolment.takes_up)
        server.edit("b", policy=OWED)  # while it waits for the answer to what it has asked for
        await asyncio.sleep(0.8)
        assert len(server.asked("create", "jobs")) == 1
        await replica.stop()

    play(test)


def test_a_pause_that_the_server_asks_for_is_kept_whatever_other_jobs_do() -> None:
    async def refuse(_: Object) -> None:
        raise ApiError(429, "too many", reason="TooManyRequests", retry_after_s=30)

    async def test(server: Server) -> None:
        server.on_create_job = refuse
        policy = OWED | {"concurrency": "allow"}
        server.put("kronjobs", seen(kronjob(policy=policy)))
        replica = Replica(server)
        await replica.start()
        owner = {"apiVersion": "kron.io/v1alpha1", "kind": "KronJob", "uid": "u-a"}
        other: Object = {
            "metadata": {
                "namespace": "ns",
                "name": "a-manual-x",
                "uid": "m",
                "labels": {"kron.io/name": "a"},
                "annotations": {"kron.io/manual": "true"},
                "ownerReferences": [owner | {"controller": True}],
            }
        }
        for number in range(10):
            server.put("jobs", other | {"status": {"ready": number}})
            await asyncio.sleep(0.05)
        asked = server.asked("create", "jobs")
        assert len(asked) == len(set(asked)), "each once, though a minute may have begun meanwhile"
        assert asked
        await replica.stop()

    play(test)


def test_a_job_tells_what_it_was_decided_by_though_its_kronjob_was_edited_since() -> None:
    is_full = True

    async def refuse(_: Object) -> None:
        if is_full:
            raise ApiError(403, "exceeded quota: q", reason="Forbidden")

    async def test(server: Server) -> None:
        nonlocal is_full
        server.on_create_job = refuse
        window = {"mode": "after", "duration": "30s"}
        server.put("kronjobs", seen(kronjob(policy=OWED, window=window)))
        replica = Replica(server)
        await replica.start()
        await until(lambda: bool(server.asked("create", "jobs")))
        is_full = False
        server.edit("a", window={"mode": "after", "duration": "50s"}, seed={"salt": "new"})
        await until(lambda: bool(server.objects["jobs"]))
        (job,) = server.objects["jobs"].values()
        said = {k.removeprefix("kron.io/"): v for k, v in job["metadata"]["annotations"].items()}
        schedule = kron.parse_schedule(said["schedule"])
        again = decide_at(schedule, said["identity"], from_text(said["period-id"]))
        assert again.chosen_s == from_text(said["chosen-time"])
        assert again.window_end_s == from_text(said["window-end"])
        assert again.seed_hash == said["seed-hash"]
        await replica.stop()

    play(test)


def test_statuses_are_written_although_jobs_never_cease_to_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(status_writer, "MOST_HELD_S", 0.1)

    async def test(server: Server) -> None:
        replica = Replica(server)
        await replica.start()
        held = replica.operator._statuses
        held.hold()
        server.put("kronjobs", kronjob())
        await until(lambda: "conditions" in server.status())
        held.let_go()
        await replica.stop()

    play(test)


def test_nothing_is_kept_of_kronjobs_that_are_gone() -> None:
    async def test(server: Server) -> None:
        replica = Replica(server)
        await replica.start()
        for number in range(300):
            server.put("kronjobs", kronjob(f"a-{number}", schedule="0 0 1 1 *"))
            server.remove("kronjobs", f"a-{number}")
        server.put("kronjobs", kronjob("last"))
        await until(lambda: "conditions" in server.status("last"))
        assert len(replica.operator._scheduler.queue._heap) < 100
        assert list(replica.operator._roster._runs) == [("ns", "last")]
        await replica.stop()

    play(test)
