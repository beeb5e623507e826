"""A new leader: what it reads before it decides, and what it leaves alone."""

from __future__ import annotations

import asyncio
import json

from kron.core.instant import from_text
from kron.kube.client.errors import ApiError, no_answer
from kron.kube.operator.settings import OperatorSettings
from kron.kube.resource.kronjob import read_kronjob
from kron.kube.resource.run import fence_manifest, job_name, run_manifest
from tests.kube.client.server import until
from tests.kube.intents import intent_of
from tests.kube.operator.server import Object, Replica, Server, copied, kronjob, play, seen

THIS_MINUTE = "2026-11-16T12:00:00Z"
NEXT_MINUTE = "2026-11-16T12:01:00Z"
UP_TO_NOW = {"handled_through": "2026-11-16T11:59:00Z"}
DEAD_S = OperatorSettings(identity="x", lease_namespace="y").dead_s


def leave_lease(server: Server, holder: str = "") -> None:
    """The lease of another leader, which was last heard of a moment ago."""
    spec = {"holderIdentity": holder, "renewTime": "2026-11-16T12:00:19.000000Z"}
    metadata = {"name": "kron-operator", "namespace": "kron"}
    server.put("leases", {"metadata": metadata, "spec": spec})


async def follow(replica: Replica) -> None:
    """Run until it has read everything. It leads when the lease of the dead one has run out."""
    replica.task = asyncio.create_task(replica.operator.run())
    await until(lambda: bool(replica.server.asked("get", "leases")))


def store_unseen(server: Server, plural: str, obj: Object) -> None:
    """Store an object of which no watch tells."""
    server.version += 1
    obj["metadata"]["resourceVersion"] = str(server.version)
    server.objects[plural][obj["metadata"]["name"]] = obj


def test_after_a_handover_nothing_is_read_again() -> None:
    async def test(server: Server) -> None:
        first = Replica(server)
        server.put("kronjobs", kronjob("a"))
        await first.start()
        await until(lambda: server.status("a").get("nextPeriodID") == NEXT_MINUTE)
        assert first.task is not None
        first.task.cancel()
        await asyncio.wait([first.task])
        [lease] = server.objects["leases"].values()
        mark = json.loads(lease["metadata"]["annotations"]["kron.io/handover"])
        assert int(mark["kronjobs"]["*"]) >= 101
        server.forget_watches()
        server.requests.clear()
        second = Replica(server)
        await second.start()
        await until(lambda: second.member("a").is_ours)
        assert server.asked("list", "kronjobs") == [""], "as every replica does when it starts"
        assert server.asked("get", "kronjobs") == []
        await second.stop()

    play(test)


def test_after_a_death_a_kronjob_is_read_before_it_runs_and_the_rest_is_listed() -> None:
    """Its watch may not have shown that the dead leader has run the period already."""

    async def test(server: Server) -> None:
        obj = seen(kronjob("a", policy={"deadline": "1h"}))
        server.put("kronjobs", obj)
        leave_lease(server, "dead")
        replica = Replica(server)
        await follow(replica)
        ledger = obj["status"]["ledger"] | {"handled_through": THIS_MINUTE}
        known = copied(server.objects["kronjobs"]["a"])
        store_unseen(server, "kronjobs", known | {"status": {"ledger": ledger}})
        await until(lambda: replica.member("a").is_ours)
        assert server.asked("get", "kronjobs") == ["a"]
        assert server.asked("create", "jobs") == [], "it ran"
        await until(lambda: len(server.asked("list", "kronjobs")) == 2)
        await replica.stop()

    play(test)


def test_what_a_dead_leader_may_have_asked_for_gets_a_fence_before_it_is_missed() -> None:
    async def test(server: Server) -> None:
        server.put("kronjobs", seen(kronjob("a")))  # no deadline: 12:00:00 is missed by now
        leave_lease(server)
        replica = Replica(server)
        await replica.start()
        await until(lambda: server.status("a").get("lastOutcome") == "missed")
        name = job_name("a", THIS_MINUTE)
        [fence] = server.objects["jobs"].values()
        assert fence["metadata"]["name"] == name
        assert fence["metadata"]["annotations"]["kron.io/fence"] == "true"
        assert (fence["spec"]["suspend"], fence["spec"]["parallelism"]) == (True, 0)
        assert replica.member("a").active_run == ""
        await asyncio.sleep(DEAD_S + 5)
        assert name not in server.objects["jobs"], "nothing can arrive any more"
        await replica.stop()

    play(test)


def test_a_job_that_a_dead_leader_made_is_found_though_no_watch_showed_it() -> None:
    async def test(server: Server) -> None:
        obj = server.put("kronjobs", seen(kronjob("a"), **UP_TO_NOW))
        leave_lease(server, "dead")
        read = read_kronjob(obj)
        job = run_manifest(read, intent_of(read, from_text(THIS_MINUTE)), spare_s=5)
        replica = Replica(server)
        await follow(replica)
        job["metadata"]["uid"] = "made"
        store_unseen(server, "jobs", job)
        await until(lambda: server.status("a").get("lastOutcome") == "executed")
        await replica.stop()

    play(test)


def test_a_fence_of_an_earlier_leader_ends_its_period() -> None:
    async def test(server: Server) -> None:
        obj = server.put("kronjobs", seen(kronjob("a", policy={"deadline": "1h"})))
        read = read_kronjob(obj)
        fence = fence_manifest(read, intent_of(read, from_text(THIS_MINUTE)))
        fence["metadata"]["uid"] = "fence"
        server.put("jobs", fence)
        replica = Replica(server)
        await replica.start()
        await until(lambda: server.status("a").get("lastOutcome") == "missed")
        assert server.status("a")["lastReason"] == "an earlier leader gave it up"
        await replica.stop()

    play(test)


def test_what_was_chosen_since_the_last_word_is_on_time() -> None:
    """The clock shows 12:00:20. Without the slack of the one before, nothing may be late."""

    async def test(server: Server) -> None:
        schedule = "* * * * * @win(after,1m) @seed(stable,salt=s{})"
        nominal_s = from_text(THIS_MINUTE)
        tried = (kronjob("a", schedule=schedule.format(salt)) for salt in range(10_000))
        obj = next(
            each
            for each in tried
            if intent_of(read_kronjob(each), nominal_s).chosen_s == nominal_s + 17
        )
        server.put("kronjobs", seen(obj))
        leave_lease(server)
        replica = Replica(server)
        await replica.start()
        await until(lambda: server.status("a").get("lastOutcome") == "executed")
        assert server.status("a")["lastPeriodID"] == THIS_MINUTE
        await replica.stop()

    play(test)


def handover(server: Server) -> str:
    """What the last leader has left for the next one, or ''."""
    [lease] = server.objects["leases"].values()
    left: str = lease["metadata"].get("annotations", {}).get("kron.io/handover", "")
    return left


async def end(replica: Replica) -> None:
    """As SIGTERM does."""
    assert replica.task is not None
    replica.task.cancel()
    await asyncio.wait([replica.task])
    replica.server.forget_watches()


def test_a_leader_leaves_no_mark_while_requests_of_a_dead_one_may_arrive() -> None:
    async def test(server: Server) -> None:
        server.put("kronjobs", kronjob("a"))
        leave_lease(server)
        replica = Replica(server)
        await replica.start()
        await asyncio.sleep(5)
        await end(replica)
        assert handover(server) == ""
        again = Replica(server)
        await again.start()
        await asyncio.sleep(DEAD_S + 1)
        await end(again)
        assert handover(server) != ""

    play(test)


def test_a_leader_leaves_no_mark_if_a_status_is_not_stored() -> None:
    async def test(server: Server) -> None:
        server.put("kronjobs", kronjob("a"))
        replica = Replica(server)
        refused = ApiError(503, "not now", reason="ServiceUnavailable")
        server.refusals["patch", "kronjobs"] = [refused] * 50
        await replica.start()
        await asyncio.sleep(3)
        assert replica.operator._statuses.waiting() == 1
        await end(replica)
        assert handover(server) == ""

    play(test)


def test_a_leader_that_ends_by_its_own_fault_leaves_no_mark() -> None:
    async def test(server: Server) -> None:
        server.put("kronjobs", kronjob("a"))
        replica = Replica(server)

        async def fail(*_: object) -> bool:
            raise ValueError("a fault that nobody foresaw")

        await replica.start()
        await asyncio.sleep(3)
        setattr(replica.operator._statuses, "_write", fail)  # noqa: B010
        server.edit("a", schedule="0 0 1 1 *")
        assert replica.task is not None
        await asyncio.wait([replica.task])
        assert handover(server) == ""

    play(test)


def test_after_a_handover_the_periods_that_a_status_names_get_a_fence() -> None:
    async def test(server: Server) -> None:
        async def lose(_: Object) -> None:
            raise no_answer("create jobs", "cut", is_sent=True)

        server.on_create_job = lose
        server.put("kronjobs", seen(kronjob("a", policy={"deadline": "30s"})))
        replica = Replica(server)
        await replica.start()
        await until(lambda: server.status("a").get("unanswered") == [THIS_MINUTE])
        await end(replica)
        server.on_create_job = None
        await asyncio.sleep(30)  # its deadline is over
        second = Replica(server)
        await second.start()
        await until(lambda: bool(server.objects["jobs"]))
        [fence] = server.objects["jobs"].values()
        assert fence["metadata"]["annotations"]["kron.io/fence"] == "true"
        await until(lambda: server.status("a").get("lastOutcome") == "missed")
        await second.stop()

    play(test)


def test_a_period_that_is_refused_for_good_after_a_lost_try_gets_a_fence() -> None:
    async def test(server: Server) -> None:
        async def lose(_: Object) -> None:
            server.on_create_job = None
            denied = ApiError(422, "a webhook says no", reason="Invalid")
            server.refusals["create", "jobs"] = [denied]
            raise no_answer("create jobs", "cut", is_sent=True)

        server.on_create_job = lose
        server.put("kronjobs", seen(kronjob("a", policy={"deadline": "1h"}), **UP_TO_NOW))
        replica = Replica(server)
        await replica.start()
        await until(lambda: server.status("a").get("lastOutcome") == "missed")
        assert "a webhook says no" in server.status("a")["lastReason"]
        assert [*server.objects["jobs"]] == [job_name("a", THIS_MINUTE)]
        await replica.stop()

    play(test)


def test_a_fence_is_kept_while_it_has_pods() -> None:
    """It is a run that was replaced: the next one waits until its Pods are gone."""

    async def test(server: Server) -> None:
        obj = server.put("kronjobs", kronjob("a"))
        read = read_kronjob(obj)
        fence = fence_manifest(read, intent_of(read, from_text(THIS_MINUTE)))
        fence["metadata"]["uid"] = "fence"
        ending = fence | {"status": {"terminating": 1}}
        server.put("jobs", ending)
        replica = Replica(server)
        await replica.start()
        await asyncio.sleep(DEAD_S + 30)
        assert replica.member("a").active_run == fence["metadata"]["name"]
        assert fence["metadata"]["name"] in server.objects["jobs"]
        server.put("jobs", fence | {"status": {}})
        await until(lambda: fence["metadata"]["name"] not in server.objects["jobs"])
        await replica.stop()

    play(test)


def test_a_doubt_is_not_prolonged_by_every_takeover() -> None:
    """Nobody has asked for the Job since its deadline, whoever leads."""

    async def test(server: Server) -> None:
        status = {"unanswered": [THIS_MINUTE, "2026-11-16T11:00:00Z"]}
        server.put("kronjobs", kronjob("a") | {"status": status})
        replica = Replica(server)
        await replica.start()
        await until(lambda: replica.member("a").is_ours)
        assert [*replica.member("a").doubts] == [from_text(THIS_MINUTE)]
        await asyncio.sleep(DEAD_S + 5)
        assert not replica.member("a").doubts
        await until(lambda: "unanswered" not in server.status("a"))
        await replica.stop()

    play(test)
