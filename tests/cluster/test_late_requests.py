"""A request that the network holds back arrives when everything is long over, and finds its name
taken: by its Job, or by a fence."""

from __future__ import annotations

import time
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

import pytest

from kron.core.instant import to_text
from kron.kube.resource.run import job_name
from tests.cluster.account import Account
from tests.cluster.api import Object
from tests.cluster.controlplane import ControlPlane
from tests.cluster.kronjobs import NEVER, KronJobs, is_finished, job_template
from tests.cluster.once import make_once, requests_for
from tests.cluster.operator import Operator
from tests.cluster.relay import Relay
from tests.cluster.slots import Slot
from tests.logbook import wait_for
from tests.moment import soon, wait_until

HELD_S = 8
LEASE_S = 15
DELAY_S = 14
PATIENT = ("--network-delay", f"{DELAY_S}s", "--lease-duration", f"{LEASE_S}s")


@pytest.fixture
def relay(cluster: ControlPlane, tmp_path: Path) -> Iterator[Relay]:
    with Relay(cluster, tmp_path) as made:
        yield made


@pytest.fixture
def delayed(
    cluster: ControlPlane, namespace: str, kronjobs: KronJobs, relay: Relay, tmp_path: Path
) -> Iterator[Operator]:
    """An operator whose requests go through the relay; it leads, and has many connections open.

    A request that finds none free opens another, which nothing holds back.
    """
    account = Account(cluster, namespace)
    kubeconfig = relay.kubeconfig({"token": account.token()}, f"{namespace}.relay.kubeconfig")
    with Operator(cluster, namespace, tmp_path, kubeconfig=kubeconfig) as made:
        made.start(*PATIENT)
        made.wait_until_leading()
        made.pause()
        others = [f"other-{number}" for number in range(12)]
        for name in others:
            kronjobs.make(name, "0 0 29 2 *")
        made.resume()  # it hears of all of them at once
        for name in others:
            kronjobs.wait_for_condition(name, "Ready")
        yield made


def hold_at(relay: Relay, at_s: int, seconds: float = HELD_S) -> None:
    """Hold back what the operator sends in that second, on connections that it has open."""
    wait_until(at_s - 1.2)
    relay.hold(seconds + 1.2)


def answers(cluster: ControlPlane, kronjobs: KronJobs, name: str, period: str) -> list[int]:
    return [request.code for request in requests_for(cluster, kronjobs, name, period)]


def test_a_creation_that_arrives_after_its_second_try_makes_no_second_job(
    cluster: ControlPlane, kronjobs: KronJobs, relay: Relay, delayed: Operator
) -> None:
    """With no history, the Job of the second try would be gone when the first one arrives."""
    at_s = soon(4)
    period = make_once(kronjobs, "brief", at_s, deadline="1m", successfulJobsHistoryLimit=0)
    kronjobs.wait_for_status("brief", nextPeriodID=period)
    hold_at(relay, at_s)
    kronjobs.wait_for_status("brief", lastPeriodID=period, lastOutcome="executed")
    assert kronjobs.status("brief")["unanswered"] == [period]
    wait_for(lambda: all(map(is_finished, kronjobs.jobs("brief"))), "its Job ends")

    def both() -> bool:
        return len(answers(cluster, kronjobs, "brief", period)) >= 2

    wait_for(both, "the first try arrives as well")
    codes = answers(cluster, kronjobs, "brief", period)
    assert sorted(codes) == [HTTPStatus.CREATED, HTTPStatus.CONFLICT]
    wait_for(lambda: not kronjobs.jobs("brief"), "the Job goes when nothing can arrive", 60.0)
    assert time.time() > at_s + DELAY_S
    assert not delayed.events("error", "brief")[1:], "but for the try without an answer"


def test_a_period_that_was_given_up_gets_no_job_from_a_late_creation(
    cluster: ControlPlane, kronjobs: KronJobs, relay: Relay, delayed: Operator
) -> None:
    """It is missed: a fence holds its name until the creation cannot arrive any more."""
    at_s = soon(4)
    period = make_once(kronjobs, "strict", at_s, deadline="3s")
    kronjobs.wait_for_status("strict", nextPeriodID=period)
    hold_at(relay, at_s)
    kronjobs.wait_for_status("strict", lastPeriodID=period, lastOutcome="missed")
    [fence] = kronjobs.jobs("strict")
    assert fence["metadata"]["annotations"]["kron.io/fence"] == "true"
    assert fence["spec"]["suspend"] is True
    assert not kronjobs.status("strict").get("active"), "it is no run"

    def arrived() -> bool:
        return HTTPStatus.CONFLICT in answers(cluster, kronjobs, "strict", period)

    wait_for(arrived, "the late creation is refused")
    wait_for(lambda: not kronjobs.jobs("strict"), "the fence goes", 60.0)
    assert kronjobs.status("strict")["lastOutcome"] == "missed"
    assert not kronjobs.api.list("pods", kronjobs.namespace)


def test_a_replaced_job_keeps_its_name_while_a_creation_of_it_may_arrive(
    cluster: ControlPlane, namespace: str, kronjobs: KronJobs, relay: Relay, delayed: Operator
) -> None:
    slot = Slot(namespace, 6, 5, window="8m")
    first_s = soon(10)
    schedule = slot.aim("busy", first_s, range(first_s + HELD_S - 2, first_s + HELD_S + 3))
    kronjobs.make(
        "busy",
        schedule,
        template=job_template(runs_for=NEVER),
        policy={"concurrency": "replace", "deadline": "2m"},
    )
    first, second = (to_text(nominal_s) for nominal_s in slot.nominals_s)
    kronjobs.wait_for_status("busy", nextPeriodID=first)
    hold_at(relay, first_s)
    kronjobs.wait_for_status("busy", lastPeriodID=second, lastOutcome="executed")
    jobs = {job["metadata"]["name"]: job for job in kronjobs.jobs("busy")}
    replaced = jobs[job_name("busy", first)]
    assert replaced["metadata"]["annotations"]["kron.io/fence"] == "true"
    made = jobs[job_name("busy", second)]
    assert made["metadata"]["annotations"].get("kron.io/fence") is None

    def pods(job: Object) -> list[Object]:
        found = kronjobs.api.list("pods", namespace)
        name = job["metadata"]["name"]
        return [pod for pod in found if pod["metadata"]["ownerReferences"][0]["name"] == name]

    wait_for(lambda: pods(made), "the new run has its Pod")
    assert not pods(replaced), "the old one was gone before"

    def arrived() -> bool:
        return len(answers(cluster, kronjobs, "busy", first)) >= 2

    wait_for(arrived, "the first creation of the first period arrives")
    assert answers(cluster, kronjobs, "busy", first).count(HTTPStatus.CREATED) == 1
    gone = replaced["metadata"]["name"]
    wait_for(lambda: not kronjobs.api.find("jobs", namespace, gone), "the fence goes", 60.0)
    assert kronjobs.api.find("jobs", namespace, made["metadata"]["name"])


def test_a_second_job_of_a_period_is_an_error_and_an_event(
    kronjobs: KronJobs, namespace: str, operator: Operator
) -> None:
    operator.start()
    period = make_once(kronjobs, "twice", soon(3))
    kronjobs.wait_for_status("twice", lastPeriodID=period, lastOutcome="executed")
    [job] = kronjobs.jobs("twice")
    kronjobs.api.delete("jobs", namespace, job["metadata"]["name"])
    wait_for(lambda: not kronjobs.jobs("twice"), "it is gone")
    wanted = ("name", "annotations", "labels", "ownerReferences")
    again = {name: job["metadata"][name] for name in wanted}
    second = kronjobs.api.create("jobs", namespace, {"metadata": again, **job_template()})
    found = operator.wait_for_event("error", "twice")
    assert found.get("operation") == "keep one Job a period"
    assert str(second["metadata"]["uid"]) in str(found.get("error"))
    wait_for(lambda: kronjobs.events("twice", "SecondJob"), "and an Event")
