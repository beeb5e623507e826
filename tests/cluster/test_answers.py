"""What the API server may answer to the creation of a Job, and what becomes of the period then.

Wherever the real server can be brought to give an answer, it gives it. The others come from a
proxy in front of it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from tests.cluster.account import Account
from tests.cluster.api import Api, Object, RefusedError
from tests.cluster.controlplane import ControlPlane
from tests.cluster.kronjobs import KronJobs, job_template
from tests.cluster.once import (
    all_executed_once,
    drop_half_line,
    executed_once,
    make_once,
    requests_for,
)
from tests.cluster.operator import Operator
from tests.cluster.ports import free_ports
from tests.cluster.proxy import ANSWER, CUT, LOSE, SILENCE, Proxy
from tests.cluster.webhook import REASON, configured, denier
from tests.logbook import wait_for
from tests.moment import soon
from tests.soak import SOAK

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
LONG = "5m"
AWAY_S = 6 * SOAK
"""How much longer an API server stays away than it takes to notice that: minutes in a soak."""
SLACK = ("--trigger-slack", "2s")


def missed(kronjobs: KronJobs, name: str, period: str, why: str) -> None:
    """Wait until status says that the period was missed, and why; so does an Event."""
    status = kronjobs.wait_for_status(name, lastPeriodID=period, lastOutcome="missed")
    assert why in status["lastReason"]
    wait_for(lambda: kronjobs.events(name, "Missed"), f"an Event says that {name} is missed")
    assert why in kronjobs.events(name, "Missed")[0]["message"]
    assert kronjobs.jobs(name) == []


def in_trouble(kronjobs: KronJobs, name: str, reason: str) -> None:
    """Wait until the condition SchedulingError gives this reason; so does an Event."""
    condition = kronjobs.wait_for_condition(name, "SchedulingError")
    assert condition["reason"] == reason, condition
    ready = kronjobs.wait_for_condition(name, "Ready", status=False)
    assert ready["reason"] == reason
    wait_for(lambda: kronjobs.events(name, reason), f"an Event says {reason} of {name}")


@contextmanager
def exhausted_quota(api: Api, namespace: str) -> Iterator[None]:
    """No Job may be made in the namespace. (The controller that counts does not run here.)"""
    hard = {"count/jobs.batch": "0"}
    made = {"metadata": {"name": "none"}, "spec": {"hard": hard}}
    api.create("resourcequotas", namespace, made)
    status = {"status": {"hard": hard, "used": hard}}
    api.patch("resourcequotas", namespace, "none", status, "status")
    try:
        yield
    finally:
        api.delete("resourcequotas", namespace, "none")


@contextmanager
def forbidding_policy(api: Api, namespace: str, kronjob: str) -> Iterator[None]:
    """A policy that forbids the Jobs of that KronJob, as 403."""
    rule = {
        "apiGroups": ["batch"],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["jobs"],
    }
    which = {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "objectSelector": {"matchLabels": {"kron.io/name": kronjob}},
    }
    policy = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule], **which},
        "validations": [{"expression": "false", "message": REASON, "reason": "Forbidden"}],
    }
    binding = {"policyName": namespace, "validationActions": ["Deny"]}
    made = {"policies": policy, "policybindings": binding}
    for kind, spec in made.items():
        body = {"metadata": {"name": namespace}, "spec": spec}
        api.request("POST", f"{ADMISSION}/validatingadmission{kind}", body)
    try:
        yield
    finally:
        for kind in made:
            api.request("DELETE", f"{ADMISSION}/validatingadmission{kind}/{namespace}")


def wait_until_refused(api: Api, namespace: str, kronjob: str, status: int) -> None:
    """Wait until the API server has heard that such Jobs are to be refused."""
    labels = {"kron.io/name": kronjob}
    job = {"metadata": {"generateName": "probe-", "labels": labels}} | job_template()

    def is_refused() -> bool:
        try:
            api.request("POST", f"/apis/batch/v1/namespaces/{namespace}/jobs?dryRun=All", job)
        except RefusedError as refusal:
            return refusal.status == status
        return False

    wait_for(is_refused, f"{kronjob} is answered {status}")


def without_image() -> Object:
    template = job_template()
    del template["spec"]["template"]["spec"]["containers"][0]["image"]
    return template


def mislabelled() -> Object:
    return job_template() | {"metadata": {"labels": {"team": "not a label!"}}}


@pytest.fixture
def full(cluster: ControlPlane, namespace: str) -> Iterator[KronJobs]:
    """The KronJobs of another namespace."""
    name = f"{namespace}-full"
    cluster.api().create("namespaces", None, {"metadata": {"name": name}})
    yield KronJobs(cluster.api(), name)
    cluster.api().delete("namespaces", None, name)


def test_refusals_of_the_real_server_are_retried_if_they_may_pass_and_final_if_not(
    cluster: ControlPlane,
    namespace: str,
    kronjobs: KronJobs,
    full: KronJobs,
    tmp_path: Path,
) -> None:
    api = cluster.api()
    names = (namespace, full.namespace)
    account = Account(cluster, namespace, names[1:])
    with (
        ExitStack() as stack,
        Operator(
            cluster, namespace, tmp_path, kubeconfig=account.kubeconfig(), namespaces=names
        ) as operator,
    ):
        port, certificate = stack.enter_context(denier(tmp_path))
        stack.enter_context(configured(api, namespace, "denied", port, certificate))
        nobody_there = stack.enter_context(ExitStack())
        nobody_there.enter_context(configured(api, namespace, "unanswered", free_ports(1)[0]))
        no_quota = stack.enter_context(ExitStack())
        no_quota.enter_context(exhausted_quota(api, full.namespace))
        stack.enter_context(forbidding_policy(api, namespace, "forbidden"))
        wait_until_refused(api, namespace, "denied", 403)
        wait_until_refused(api, namespace, "forbidden", 403)
        wait_until_refused(api, namespace, "unanswered", 500)
        wait_until_refused(api, full.namespace, "any", 403)
        operator.start(*SLACK)
        operator.wait_until_leading()

        at_s = soon(3)
        make_once(kronjobs, "denied", at_s, deadline=LONG)
        make_once(kronjobs, "forbidden", at_s, deadline=LONG)
        make_once(kronjobs, "unanswered", at_s, deadline=LONG)
        make_once(kronjobs, "imageless", at_s, deadline=LONG, template=without_image())
        make_once(kronjobs, "mislabelled", at_s, deadline=LONG, template=mislabelled())
        make_once(full, "patient", at_s, deadline=LONG)
        period = make_once(full, "hasty", at_s)

        # Refused for good: asked once, missed, and said so everywhere.
        for name, word, why in (
            ("denied", "Denied", REASON),
            ("forbidden", "Denied", REASON),
            (
                "imageless",
                "InvalidTemplate",
                "spec.template.spec.containers[0].image: Required value",
            ),
            ("mislabelled", "InvalidTemplate", "metadata.labels: Invalid value"),
        ):
            in_trouble(kronjobs, name, word)
            missed(kronjobs, name, period, why)
            assert len(requests_for(cluster, kronjobs, name, period)) == 1, name
            early, late = operator.events("error", name)
            assert (early["operation"], late["operation"]) == ("rehearse job", "create job")
            assert why in str(early["error"])
            assert why in str(late["error"])
        assert kronjobs.events("imageless", "InvalidTemplate")[0]["type"] == "Warning"

        # Refused for now: tried again, until it goes well or it is too late.
        in_trouble(full, "patient", "QuotaExceeded")
        in_trouble(kronjobs, "unanswered", "InternalError")
        missed(full, "hasty", period, "exceeded quota")
        assert len(requests_for(cluster, full, "hasty", period)) > 1
        no_quota.close()
        nobody_there.close()
        for where, name, code in ((full, "patient", 403), (kronjobs, "unanswered", 500)):
            asked = executed_once(cluster, where, name, period)
            assert {request.code for request in asked[:-1]} == {code}, (name, asked)
            where.wait_for_condition(name, "SchedulingError", status=False)
            where.wait_for_condition(name, "Ready")
        operator.check_log()


def test_an_answer_that_is_lost_late_or_wrong_costs_no_run_and_makes_no_second_one(
    cluster: ControlPlane, namespace: str, kronjobs: KronJobs, tmp_path: Path
) -> None:
    account = Account(cluster, namespace)
    with (
        Proxy(cluster, tmp_path) as proxy,
        Operator(cluster, namespace, tmp_path, kubeconfig=account.kubeconfig(proxy)) as operator,
    ):
        operator.start(*SLACK, "--network-delay", "5s")
        operator.wait_until_leading()

        def rule(name: str, action: str, status: int = 0, times: int = 1, after: str = "") -> None:
            proxy.rule(
                action,
                verb="create",
                resource="jobs",
                about=name,
                status=status or 503,
                times=times,
                retry_after=after,
            )

        rule("asked-to-wait", ANSWER, 429, times=2, after="2")
        for status in (500, 502, 503, 504):
            rule("faulty", ANSWER, status)
        rule("cut", CUT, times=2)
        rule("lost", LOSE)
        rule("lost-and-late", LOSE)
        rule("lost-and-late", ANSWER, 503, times=100)
        rule("lost-and-refused", LOSE)
        rule("lost-and-refused", ANSWER, 422)
        rule("never-heard", CUT, times=100)
        rule("asked-for-too-much", ANSWER, 429, times=100, after="600")
        rule("signed-out", ANSWER, 401)
        rule("hanging", SILENCE)
        rule("garbled", ANSWER, 200)

        at_s = soon(3)
        in_time = ("asked-to-wait", "faulty", "cut", "lost", "lost-and-refused", "signed-out")
        for name in (*in_time, "hanging", "garbled"):
            make_once(kronjobs, name, at_s, deadline=LONG)
        for name in ("lost-and-late", "never-heard"):
            make_once(kronjobs, name, at_s)
        period = make_once(kronjobs, "asked-for-too-much", at_s)

        executed = (*in_time, "lost-and-late", "hanging", "garbled")
        all_executed_once(cluster, kronjobs, dict.fromkeys(executed, period))
        missed(kronjobs, "never-heard", period, "create jobs: ")
        missed(kronjobs, "asked-for-too-much", period, "the proxy says so (HTTP 429)")

        def tries(name: str) -> list[Object]:
            return proxy.seen("create", "jobs", name)

        gaps_s = [late["at"] - early["at"] for early, late in pairwise(tries("asked-to-wait"))]
        assert len(gaps_s) == 2
        assert min(gaps_s) >= 2.0, "Retry-After is honoured"
        assert [each["status"] for each in tries("faulty")] == [500, 502, 503, 504, 201]
        assert [each["status"] for each in tries("cut")] == [0, 0, 201]
        # Unless the watch has shown by then that the Job exists.
        assert [each["passed"] for each in tries("lost")] in ([201], [201, 409])
        assert [each["status"] for each in tries("signed-out")] == [401, 201]
        assert [each["status"] for each in tries("hanging")] == [0, 201]
        assert [each["status"] for each in tries("garbled")] == [200, 201]
        assert len(tries("asked-for-too-much")) == 1, "600 s are not over"
        assert len(tries("never-heard")) < 20, "it backs off, and so does its fence"
        for name in ("lost", "lost-and-late", "lost-and-refused"):
            assert len(operator.events("job_exists", name)) == 1
            assert operator.events("missed_deadline", name) == []
        operator.check_log()


def test_rights_taken_away_and_a_token_that_expires_only_delay_a_run(
    cluster: ControlPlane, namespace: str, kronjobs: KronJobs, tmp_path: Path
) -> None:
    account = Account(cluster, namespace)
    token = tmp_path / "token"
    token.write_text(account.token(lifetime_s=8))
    kubeconfig = cluster.kubeconfig_with({"tokenFile": str(token)}, f"{namespace}.kubeconfig")
    with Operator(cluster, namespace, tmp_path, kubeconfig=kubeconfig) as operator:
        operator.start()
        operator.wait_until_leading()
        account.revoke(namespace)
        period = make_once(kronjobs, "forbidden", soon(2), deadline=LONG)
        in_trouble(kronjobs, "forbidden", "Forbidden")
        account.grant(namespace)
        executed_once(cluster, kronjobs, "forbidden", period)
        kronjobs.wait_for_condition("forbidden", "SchedulingError", status=False)

        refused = 'kron_api_requests_total{verb="update",resource="leases",code="401"}'
        wait_for(lambda: operator.metrics().get(refused), "the token has expired")
        period = make_once(kronjobs, "signed-out", soon(1), deadline=LONG)
        token.write_text(account.token())
        executed_once(cluster, kronjobs, "signed-out", period)
        assert [record.get("leads") for record in operator.events("leader")] == ["true"]
        operator.check_log()


def test_an_api_server_that_is_gone_for_a_while_costs_no_run_and_makes_no_second_one(
    own_cluster: ControlPlane, tmp_path: Path
) -> None:
    api = own_cluster.api()
    for name in ("stays", "goes"):
        api.create("namespaces", None, {"metadata": {"name": name}})
    stays, goes = KronJobs(api, "stays"), KronJobs(api, "goes")
    kubeconfig = Account(own_cluster, "stays", ["goes"]).kubeconfig()
    with Operator(
        own_cluster, "stays", tmp_path, kubeconfig=kubeconfig, namespaces=("stays", "goes")
    ) as operator:
        operator.start()
        operator.wait_until_leading()
        # Some are being made when it is killed, some come due while it is gone.
        at_s = soon(3)
        periods = {
            f"run-{number}": make_once(stays, f"run-{number}", at_s + number // 8, deadline=LONG)
            for number in range(24)
        }
        stays.wait_for_jobs("run-1")
        own_cluster.stop_api()
        drop_half_line(own_cluster)
        operator.wait_for_event("error", "run-23")
        time.sleep(AWAY_S)
        own_cluster.start_api()
        all_executed_once(own_cluster, stays, periods, was_killed=True)

        # In a namespace that is being deleted nothing is created; nothing here deletes the rest.
        own_cluster.stop_controllers()
        operator.wait_until_leading()
        at_s = soon(7)  # the watches are back by then: what is first seen later owes nothing
        period = make_once(goes, "doomed", at_s, deadline=LONG)
        api.delete("namespaces", None, "goes")
        status = goes.wait_for_status("doomed", lastPeriodID=period, lastOutcome="missed")
        assert "because it is being terminated" in status["lastReason"]
        condition = goes.condition("doomed", "SchedulingError")
        assert condition is not None
        assert condition["reason"] == "NamespaceTerminating"
        later = make_once(stays, "later", soon(3), deadline=LONG)
        executed_once(own_cluster, stays, "later", later)
        assert len(requests_for(own_cluster, goes, "doomed", period)) == 1
        operator.check_log()
