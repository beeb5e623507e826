"""What people and programs see of the operator, and what that costs the API server."""

from __future__ import annotations

import time
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from kron.core.instant import from_text, to_text
from tests.cluster.api import Object
from tests.cluster.audit import Request
from tests.cluster.controlplane import ControlPlane
from tests.cluster.kronjobs import NEVER, KronJobs, job_template
from tests.cluster.operator import Operator, replicas
from tests.cluster.outcomes import wait_for_events, wait_for_outcome, wait_until_seen
from tests.cluster.ports import free_ports
from tests.cluster.slots import Slot, make_manual
from tests.logbook import wait_for
from tests.moment import soon, wait_until

NEVER_MATCHES = "0 0 30 2 *"


def asked(cluster: ControlPlane, namespace: str, after: str = "") -> list[Request]:
    """What operators asked of the API server, watches and leases aside."""
    return [
        request
        for request in cluster.audit(namespace)
        if request.agent.startswith("kron-operator/")
        and request.verb != "watch"
        and request.resource != "leases"
        and request.at > after
    ]


def writes(requests: list[Request]) -> list[tuple[str, str, str]]:
    return [
        (request.verb, request.resource, request.name)
        for request in requests
        if request.is_write and request.resource != "events"
    ]


def test_conditions_say_what_is_so_and_since_when(
    namespace: str, kronjobs: KronJobs, operator: Operator
) -> None:
    operator.start()
    kronjobs.make("nightly", NEVER_MATCHES)
    first = kronjobs.wait_for_condition("nightly", "InvalidSpec")
    assert operator.metrics()['kron_kronjobs_not_ready{reason="InvalidSpec"}'] == 1
    began_s = from_text(first["lastTransitionTime"])
    wait_until(began_s + 2)

    # Another mistake is another message, and not another beginning.
    kronjobs.change("nightly", schedule="0 0 * * *", timeZone="Mars/Olympus")
    wait_until_seen(kronjobs, "nightly")
    second = kronjobs.wait_for_condition("nightly", "InvalidSpec")
    assert second["message"] != first["message"]
    assert second["lastTransitionTime"] == first["lastTransitionTime"]
    assert (first["observedGeneration"], second["observedGeneration"]) == (1, 2)

    kronjobs.change("nightly", timeZone=None)
    wait_until_seen(kronjobs, "nightly")
    conditions = {each["type"]: each for each in kronjobs.status("nightly")["conditions"]}
    assert {kind: each["status"] for kind, each in conditions.items()} == {
        "Ready": "True",
        "InvalidSpec": "False",
        "SchedulingError": "False",
        "Unschedulable": "False",
    }
    for kind in ("Ready", "InvalidSpec"):
        assert from_text(conditions[kind]["lastTransitionTime"]) > began_s
    for kind in ("SchedulingError", "Unschedulable"):
        assert from_text(conditions[kind]["lastTransitionTime"]) == began_s
    status = kronjobs.status("nightly")
    assert from_text(status["nextChosenTime"]) > time.time()
    assert status["nextNominalTime"].endswith("T00:00:00Z")


def test_kubectl_shows_what_matters_in_a_line(
    cluster: ControlPlane, namespace: str, kronjobs: KronJobs, operator: Operator
) -> None:
    slot = Slot(namespace)
    operator.start()
    text = slot.aim("report", soon())
    kronjobs.make("report", text, policy={"suspend": False})
    status = kronjobs.wait_for_status("report", lastOutcome="executed", activeCount=0)

    shown = cluster.kubectl("get", "kj", "-n", namespace)
    assert shown.returncode == 0, shown.stderr
    head, row = shown.stdout.splitlines()
    assert head.split() == [
        *("NAME", "SCHEDULE", "READY", "SUSPENDED", "ACTIVE", "NEXT", "LAST", "LAST", "RESULT"),
        "AGE",
    ]
    cells = (text, "True", "false", "0", status["nextChosenTime"], "executed", "Succeeded")
    assert row.split()[:-1] == " ".join(("report", *cells)).split()
    described = cluster.kubectl("describe", "kj", "report", "-n", namespace).stdout
    assert "JobCreated" in described
    assert f"for {slot.period}" in described


def test_a_start_takes_two_requests_and_a_restart_no_write(
    cluster: ControlPlane, namespace: str, kronjobs: KronJobs, operator: Operator
) -> None:
    slot = Slot(namespace)
    operator.start()
    at_s = soon(7)
    runs = [f"run-{number}" for number in range(3)]
    for name in runs:
        template = job_template(runs_for=NEVER)
        kronjobs.make(name, slot.aim(name, at_s), template=template)
    busy = kronjobs.make("busy", slot.aim("busy", at_s), template=job_template(runs_for=NEVER))
    make_manual(kronjobs, busy, "by-hand")
    kronjobs.make("brief", slot.aim("brief", at_s))
    kronjobs.make("suspended", slot.aim("suspended", at_s), policy={"suspend": True})
    kronjobs.make("invalid", NEVER_MATCHES)
    others = ("brief", "busy", "suspended", "invalid")
    wait_until_seen(kronjobs, *runs, *others)
    kronjobs.wait_for_status("busy", active=[_active(kronjobs, "busy-by-hand")])
    before = to_text(at_s).removesuffix("Z")
    assert time.time() < at_s, "the machine is too slow for this test"

    for name in runs:
        wait_for_outcome(kronjobs, name, "executed")
    wait_for_outcome(kronjobs, "busy", "skipped")
    wait_for_events(kronjobs, "busy", "Skipped")
    kronjobs.wait_for_status("brief", lastOutcome="executed", active=[])
    wait_until(time.time() + 2)  # longer than anything is put off
    made = asked(cluster, namespace, before)
    for name in runs:
        job, status = [each for each in writes(made) if each[2].startswith(name)]
        assert job[:2] == ("create", "jobs")
        assert status == ("patch", "kronjobs", name)
    # One more when a Job has finished, since it is active no longer.
    brief = [each[:2] for each in writes(made) if each[2].startswith("brief")]
    assert brief == [("create", "jobs"), ("patch", "kronjobs"), ("patch", "kronjobs")]
    assert [each for each in writes(made) if each[2] == "busy"] == [("patch", "kronjobs", "busy")]
    assert [request for request in made if not request.is_write] == []

    versions = {name: _version(kronjobs, name) for name in (*runs, *others)}
    operator.stop()
    stopped_at = cluster.audit(namespace)[-1].at
    operator.start()
    operator.wait_for_event("ready", count=2)
    wait_until(time.time() + 2)
    assert writes(asked(cluster, namespace, stopped_at)) == []
    assert {name: _version(kronjobs, name) for name in versions} == versions
    # Once everything is read, nothing is asked for until something is due.
    seen_at = cluster.audit(namespace)[-1].at
    wait_until(time.time() + 2)
    assert asked(cluster, namespace, seen_at) == []
    operator.check_log()


def _version(kronjobs: KronJobs, name: str) -> str:
    version: str = kronjobs.read(name)["metadata"]["resourceVersion"]
    return version


def _active(kronjobs: KronJobs, name: str) -> Object:
    job = kronjobs.api.get("jobs", kronjobs.namespace, name)
    return {"name": name, "uid": job["metadata"]["uid"]}


def samples(operator: Operator) -> dict[tuple[str, tuple[str, ...]], float]:
    """The metrics as Prometheus understands them: by name and the values of the labels."""
    status, text = operator.http("/metrics")
    assert status == 200
    return {
        (sample.name, tuple(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_metrics_count_what_was_done_and_say_who_leads(
    cluster: ControlPlane, namespace: str, kronjobs: KronJobs, tmp_path: Path
) -> None:
    slot = Slot(namespace)
    with replicas(cluster, namespace, tmp_path) as (leader, standby):
        leader.start().wait_until_leading()
        standby.start()
        at_s = soon(3)
        for name in ("one", "two"):
            kronjobs.make(name, slot.aim(name, at_s))
        kronjobs.make("three", "0 0 29 2 *")
        for name in ("one", "two"):
            wait_for_outcome(kronjobs, name, "executed")

        for operator in (leader, standby):
            assert operator.http("/healthz") == (200, "ok\n")
            assert operator.http("/readyz") == (200, "ok\n")
            assert operator.http("/else")[0] == 404
        found, other = samples(leader), samples(standby)
        assert found["kron_leader", ()] == 1
        assert other["kron_leader", ()] == 0
        assert found["kron_runs_total", ("executed",)] == 2
        assert found["kron_runs_total", ("missed",)] == 0
        assert other["kron_runs_total", ("executed",)] == 0
        assert found["kron_lateness_seconds_count", ()] == 2
        assert found["kron_lateness_seconds_bucket", ("+Inf",)] == 2
        assert 0 <= found["kron_lateness_seconds_sum", ()] < 60
        assert found["kron_kronjobs", ()] == 3
        assert found["kron_queue_length", ()] == 3
        assert found["kron_api_requests_total", ("create", "jobs", "201")] == 2
        assert ("kron_api_requests_total", ("create", "jobs", "201")) not in other
        wait_for(lambda: samples(standby)["kron_kronjobs", ()] == 3, "the standby knows them")
        leader.check_log()


def test_an_operator_that_cannot_read_is_alive_and_not_ready(
    cluster: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    nobody = Path(cluster.kubeconfig()).read_text()
    nobody = nobody.replace(cluster.url, f"https://127.0.0.1:{free_ports(1)[0]}")
    kubeconfig = tmp_path / "nobody-answers.kubeconfig"
    kubeconfig.write_text(nobody)
    with Operator(cluster, namespace, tmp_path, kubeconfig=str(kubeconfig)) as operator:
        operator.launch()
        wait_for(lambda: operator.http("/healthz")[0] == 200, "it is alive")
        status, why = operator.http("/readyz")
        assert status == 503
        assert "not read yet" in why or "cannot connect" in why
        assert samples(operator)["kron_leader", ()] == 0
        wait_for(
            lambda: any(
                name == "kron_api_requests_total" and labels[-1] == "0"
                for name, labels in samples(operator)
            ),
            "requests without an answer are counted",
        )
        assert operator.stop() == 0
