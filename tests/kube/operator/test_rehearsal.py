"""Rehearsals: what they say of a template, when they are made, and what they keep from waiting."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kron.kube.client.errors import ApiError, no_answer
from kron.kube.operator import rehearsal
from tests.kube.client.server import until
from tests.kube.operator.server import Object, Replica, Server, kronjob, play, seen

YEARLY = "0 0 1 1 *"
INVALID = 'Job.batch "a-x" is invalid: spec.backoffLimit: must be at least 0'


def template(**spec: Any) -> Object:
    pod = {"restartPolicy": "Never", "containers": [{"name": "run", "image": "none"}]}
    return {"spec": {"template": {"spec": pod}} | spec}


BAD = template(backoffLimit=-5)


async def check(job: Object) -> None:
    """As the API server does."""
    if job["spec"].get("backoffLimit", 0) < 0:
        raise ApiError(422, INVALID, reason="Invalid")


def ready(server: Server, name: str = "a") -> tuple[str, str, int]:
    """What its condition says, and about which generation."""
    for each in server.status(name).get("conditions", ()):
        if each["type"] == "Ready":
            return each["status"], each["reason"], each["observedGeneration"]
    return "", "", 0


def error_reason(server: Server, name: str = "a") -> str:
    conditions = server.status(name).get("conditions", ())
    found: list[str] = [each["reason"] for each in conditions if each["type"] == "SchedulingError"]
    return found[0] if found else ""


def statuses(server: Server) -> int:
    return len(server.asked("patch", "kronjobs"))


def test_a_template_that_would_be_refused_is_not_ready_in_its_first_status_and_then_is() -> None:
    async def test(server: Server) -> None:
        server.on_dry_run = check
        replica = Replica(server)
        await replica.start()
        server.put("kronjobs", kronjob(schedule=YEARLY, jobTemplate=BAD))
        await until(lambda: bool(server.status()))
        assert ready(server) == ("False", "InvalidTemplate", 1)
        assert INVALID in str(server.status()["conditions"])
        await until(lambda: bool(server.objects["events"]))
        [event] = server.objects["events"].values()
        assert (event["type"], event["reason"]) == ("Warning", "InvalidTemplate")
        assert event["message"] == f"The Job would be refused: {INVALID}"
        server.edit("a", jobTemplate=template())
        await until(lambda: server.status()["observedGeneration"] == 2)
        assert ready(server) == ("True", "Scheduled", 2)
        assert INVALID not in str(server.status())
        assert server.objects["jobs"] == {}
        assert statuses(server) == 2
        await replica.stop()

    play(test)


def test_what_was_refused_in_a_real_try_is_over_with_the_next_generation() -> None:
    async def test(server: Server) -> None:
        server.on_create_job = check
        owed = {"deadline": "1h"}
        server.put("kronjobs", seen(kronjob(policy=owed, schedule="0 * * * *", jobTemplate=BAD)))
        replica = Replica(server)
        await replica.start()
        await until(lambda: server.status().get("lastOutcome") == "missed")
        assert ready(server) == ("False", "InvalidTemplate", 1)
        await replica.stop()
        server.edit("a", jobTemplate=template())  # while no replica leads
        again = Replica(server)
        await again.start()
        await until(lambda: server.status()["observedGeneration"] == 2)
        assert ready(server) == ("True", "Scheduled", 2)
        await again.stop()

    play(test)


def test_an_edit_is_observed_while_a_job_is_tried_again_whatever_was_answered_before() -> None:
    async def test(server: Server) -> None:
        quota = ApiError(403, "exceeded quota: jobs", reason="Forbidden")
        answers = asyncio.Event()

        async def refuse(_: Object) -> None:
            await answers.wait()
            raise quota

        server.on_create_job = refuse
        server.put("kronjobs", seen(kronjob(policy={"deadline": "1h"}, schedule="0 * * * *")))
        replica = Replica(server)
        await replica.start()
        await until(lambda: bool(server.asked("create", "jobs")))
        server.edit("a", jobTemplate=template(backoffLimit=1))
        await until(lambda: server.status().get("observedGeneration") == 2)
        answers.set()  # the answer to the first generation
        await asyncio.sleep(0.2)
        assert ready(server) == ("True", "Scheduled", 2)
        await until(lambda: ready(server) == ("False", "QuotaExceeded", 2))
        await replica.stop()

    play(test)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(ApiError(403, "jobs is forbidden", reason="Forbidden"), id="no right"),
        pytest.param(ApiError(403, "exceeded quota: jobs", reason="Forbidden"), id="no quota"),
        pytest.param(
            ApiError(400, 'admission webhook "w" does not support dry run', reason="BadRequest"),
            id="a webhook that cannot do dry runs",
        ),
        pytest.param(ApiError(404, "no such namespace", reason="NotFound"), id="no namespace"),
        pytest.param(ApiError(400, "<h1>bad gateway</h1>"), id="not the API server"),
    ],
)
def test_an_answer_that_is_not_about_the_template_says_nothing(answer: ApiError) -> None:
    async def test(server: Server) -> None:
        replica = Replica(server)
        await replica.start()
        server.refusals["dry-run", "jobs"] = [answer]
        server.put("kronjobs", kronjob(schedule=YEARLY))
        await until(lambda: bool(server.status()))
        assert (ready(server), error_reason(server)) == (("True", "Scheduled", 1), "NoError")
        await asyncio.sleep(60)
        assert len(server.asked("dry-run", "jobs")) == 1
        assert server.objects["events"] == {}
        await replica.stop()

    play(test)


def test_a_webhook_that_denies_is_named() -> None:
    async def test(server: Server) -> None:
        replica = Replica(server)
        await replica.start()
        message = 'admission webhook "w" denied the request: no'
        server.refusals["dry-run", "jobs"] = [ApiError(403, message, reason="Forbidden")]
        server.put("kronjobs", kronjob(schedule=YEARLY))
        await until(lambda: ready(server) == ("False", "Denied", 1))
        await replica.stop()

    play(test)


def test_an_api_server_that_does_not_answer_is_asked_again_and_a_status_does_not_wait_for_it() -> (
    None
):
    async def test(server: Server) -> None:
        replica = Replica(server)
        await replica.start()

        async def be_silent(_: Object) -> None:
            await asyncio.sleep(rehearsal.LONGEST_S)
            raise no_answer("dry-run jobs", "cut", is_sent=True)

        server.on_dry_run = be_silent
        server.put("kronjobs", kronjob(schedule=YEARLY, jobTemplate=BAD))
        began = replica.clock.monotonic_ns()
        await until(lambda: bool(server.status()))
        assert replica.clock.monotonic_ns() - began < 2 * 10**9
        assert ready(server) == ("True", "Scheduled", 1)
        server.on_dry_run = check
        await until(lambda: ready(server) == ("False", "InvalidTemplate", 1))
        assert len(server.asked("dry-run", "jobs")) == 2
        await replica.stop()

    play(test)


def test_what_was_answered_is_not_asked_again_by_the_next_leader() -> None:
    async def test(server: Server) -> None:
        server.on_dry_run = check
        server.put("kronjobs", kronjob("good", schedule=YEARLY))
        server.put("kronjobs", kronjob("bad", schedule=YEARLY, jobTemplate=BAD))
        first = Replica(server)
        await first.start()
        await until(lambda: error_reason(server, "good") == "Accepted")
        await until(lambda: error_reason(server, "bad") == "InvalidTemplate")
        assert len(server.asked("dry-run", "jobs")) == 2
        await first.stop()
        writes = statuses(server)
        second = Replica(server)
        await second.start()
        await asyncio.sleep(60)
        assert len(server.asked("dry-run", "jobs")) == 2
        assert statuses(server) == writes
        await second.stop()

    play(test)


def test_a_job_that_was_made_needs_no_rehearsal_and_ends_what_one_said() -> None:
    async def test(server: Server) -> None:
        server.on_dry_run = check
        replica = Replica(server)
        await replica.start()
        server.put("kronjobs", kronjob(jobTemplate=BAD))  # due each minute
        await until(lambda: ready(server) == ("False", "InvalidTemplate", 1))
        await until(lambda: server.status().get("lastOutcome") == "executed")
        assert ready(server) == ("True", "Scheduled", 1)
        assert error_reason(server) == "Accepted"
        assert len(server.asked("dry-run", "jobs")) == 1
        await replica.stop()

    play(test)


def test_many_new_kronjobs_have_their_statuses_first_and_are_rehearsed_at_a_limited_rate() -> None:
    many = 200

    async def test(server: Server) -> None:
        asked_at: list[float] = []
        loop = asyncio.get_running_loop()

        async def note(_: Object) -> None:
            asked_at.append(loop.time())

        server.on_dry_run = note
        for number in range(many):
            server.put("kronjobs", kronjob(f"k{number}", schedule=YEARLY))
        replica = Replica(server)
        began = loop.time()
        await replica.start()
        await until(lambda: all(server.status(f"k{number}") for number in range(many)))
        assert len(asked_at) <= rehearsal.BURST + rehearsal.MOST_AWAITED
        assert loop.time() - began < 1
        await until(lambda: all(error_reason(server, f"k{n}") == "Accepted" for n in range(many)))
        assert len(asked_at) == many
        least_s = (many - rehearsal.BURST) / rehearsal.A_SECOND
        assert least_s - 0.1 < asked_at[-1] - asked_at[0] < 2 * least_s + 5
        await replica.stop()

    play(test)


def test_an_edit_does_not_wait_until_all_others_are_rehearsed() -> None:
    async def test(server: Server) -> None:
        for number in range(500):
            server.put("kronjobs", kronjob(f"k{number}", schedule=YEARLY))
        server.on_dry_run = check
        replica = Replica(server)
        await replica.start()
        await until(lambda: bool(server.asked("dry-run", "jobs")))
        server.put("kronjobs", kronjob(schedule=YEARLY, jobTemplate=BAD))
        await until(lambda: bool(server.status()))
        assert ready(server) == ("False", "InvalidTemplate", 1)
        assert len(server.asked("dry-run", "jobs")) < 100
        await replica.stop()

    play(test)


def test_only_a_leader_rehearses() -> None:
    async def test(server: Server) -> None:
        server.put("kronjobs", kronjob(schedule=YEARLY))
        leader = Replica(server)
        await leader.start()
        await until(lambda: error_reason(server) == "Accepted")
        standby = Replica(server, identity="another")
        task = asyncio.create_task(standby.operator.run())
        await asyncio.sleep(30)
        server.edit("a", jobTemplate=template(backoffLimit=1))
        await until(lambda: server.status()["observedGeneration"] == 2)
        await asyncio.sleep(30)
        assert len(server.asked("dry-run", "jobs")) == 2
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await leader.stop()

    play(test)
