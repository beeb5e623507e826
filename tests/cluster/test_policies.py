"""Concurrency in a real cluster: allow, forbid and replace, with Jobs that really go on."""

from __future__ import annotations

import json
from functools import partial

from kron.core.instant import to_text
from kron.kube.resource.run import job_name
from tests.cluster.api import Object
from tests.cluster.controlplane import ControlPlane
from tests.cluster.kronjobs import NEVER, KronJobs, is_finished, job_template
from tests.cluster.operator import Operator
from tests.cluster.outcomes import creations, ended, wait_for_events, wait_for_outcome
from tests.cluster.slots import Slot, make_manual
from tests.logbook import wait_for
from tests.moment import soon

ACTIVE = "an earlier run is still active and concurrency is forbid"
ALLOW: Object = {"concurrency": "allow"}
FORBID: Object = {"concurrency": "forbid"}
REPLACE: Object = {"concurrency": "replace"}


def pods_of(kronjobs: KronJobs, job: str) -> list[Object]:
    return kronjobs.api.list("pods", kronjobs.namespace, f"batch.kubernetes.io/job-name={job}")


def wait_until_running(kronjobs: KronJobs, job: str) -> None:
    def look() -> bool:
        return any(pod["status"].get("phase") == "Running" for pod in pods_of(kronjobs, job))

    wait_for(look, f"{job} runs")


def test_a_run_that_someone_triggered_counts_as_active(
    cluster: ControlPlane, namespace: str, kronjobs: KronJobs, operator: Operator
) -> None:
    slot = Slot(namespace)
    operator.start()
    at_s = soon(8)
    goes_on = {
        "allowed": (ALLOW, job_template(runs_for=NEVER)),
        "forbidden": (FORBID, job_template(runs_for=NEVER)),
        "by-default": ({}, job_template(runs_for=NEVER)),
        "replaced": (REPLACE, job_template(runs_for=NEVER, stops_after="1.5")),
    }
    manual: dict[str, Object] = {}
    for name, (policy, template) in goes_on.items():
        made = kronjobs.make(name, slot.aim(name, at_s), policy=policy, template=template)
        manual[name] = make_manual(kronjobs, made, "by-hand")["metadata"]
    made = kronjobs.make("finished", slot.aim("finished", at_s), policy=FORBID)
    make_manual(kronjobs, made, "by-hand")
    for name in goes_on:
        wait_until_running(kronjobs, f"{name}-by-hand")
        active = [{"name": f"{name}-by-hand", "uid": manual[name]["uid"]}]
        kronjobs.wait_for_status(name, active=active)
    triggered = partial(kronjobs.api.get, "jobs", namespace, "finished-by-hand")
    wait_for(lambda: is_finished(triggered()), "it ends")

    job = {name: job_name(name, slot.period) for name in (*goes_on, "finished")}
    status = wait_for_outcome(kronjobs, "allowed", "executed")
    assert {run["name"] for run in status["active"]} == {"allowed-by-hand", job["allowed"]}
    wait_for_outcome(kronjobs, "finished", "executed")

    for name in ("forbidden", "by-default"):
        status = wait_for_outcome(kronjobs, name, "skipped")
        assert ended(status) == (slot.period, "skipped", ACTIVE)
        assert status["lastChosenTime"] == to_text(at_s)
        [event] = wait_for_events(kronjobs, name, "Skipped")
        assert event["type"] == "Warning"
        assert slot.period in event["message"]
        assert f"{name}-by-hand" in event["message"]
        [record] = operator.events("skipped_concurrency", name)
        assert (record["policy"], record["active_job"]) == ("forbid", f"{name}-by-hand")
        assert [each["metadata"]["name"] for each in kronjobs.jobs(name)] == [f"{name}-by-hand"]

    wait_for_outcome(kronjobs, "replaced", "executed")
    [left] = kronjobs.jobs("replaced")
    assert left["metadata"]["name"] == job["replaced"]
    [record] = operator.events("replaced_job", "replaced")
    assert (record["old_job"], record["new_job"]) == ("replaced-by-hand", job["replaced"])
    assert wait_for_events(kronjobs, "replaced", "JobReplaced")

    log = cluster.audit(namespace)
    [deletion] = [
        request
        for request in log
        if (request.verb, request.name) == ("delete", "replaced-by-hand")
        and request.agent.startswith("kron-operator/")
    ]
    options = json.loads(deletion.body)
    assert options["propagationPolicy"] == "Foreground"
    assert options["preconditions"]["uid"] == manual["replaced"]["uid"]
    # It waited until the Pod was gone, which its kubelet says by the last deletion.
    [created] = [request for request in log if request.name == job["replaced"] and request.owners]
    gone_at = max(
        request.answered_at
        for request in log
        if (request.verb, request.resource, request.agent) == ("delete", "pods", "kubelet-stand-in")
        and request.name.startswith("replaced-by-hand-")
    )
    assert created.at > gone_at
    made_jobs = sorted(request.name for request in creations(cluster, namespace))
    assert made_jobs == sorted(job[name] for name in ("allowed", "finished", "replaced"))
    runs = operator.metrics()
    outcomes = {"executed": 3, "skipped": 2, "missed": 0, "unschedulable": 0}
    assert {o: runs[f'kron_runs_total{{outcome="{o}"}}'] for o in outcomes} == outcomes
    operator.check_log()


def test_a_job_that_does_not_go_is_not_replaced_and_its_period_is_missed(
    cluster: ControlPlane, namespace: str, kronjobs: KronJobs, operator: Operator
) -> None:
    slot = Slot(namespace)
    template = job_template(runs_for=NEVER, stops_after=NEVER)
    operator.start("--replace-timeout", "2s")
    text = slot.aim("stubborn", soon(5))
    made = kronjobs.make("stubborn", text, policy=REPLACE, template=template)
    make_manual(kronjobs, made, "by-hand")
    wait_until_running(kronjobs, "stubborn-by-hand")

    status = wait_for_outcome(kronjobs, "stubborn", "missed")
    assert status["lastPeriodID"] == slot.period
    assert "stubborn-by-hand" in status["lastReason"]
    assert "2s" in status["lastReason"]
    trouble = kronjobs.wait_for_condition("stubborn", "SchedulingError")
    assert (trouble["reason"], trouble["message"]) == ("NotReplaced", status["lastReason"])
    assert wait_for_events(kronjobs, "stubborn", "Missed")
    assert wait_for_events(kronjobs, "stubborn", "NotReplaced")
    assert creations(cluster, namespace) == []
    operator.check_log()
    for pod in pods_of(kronjobs, "stubborn-by-hand"):
        kronjobs.api.delete("pods", namespace, pod["metadata"]["name"], grace_s=0)


HOLD = "test.kron.io/hold"


def test_a_job_that_is_being_deleted_is_active_while_it_has_pods(
    namespace: str, kronjobs: KronJobs, operator: Operator
) -> None:
    """And no longer: a finalizer of somebody else blocks no period."""
    slot = Slot(namespace)
    operator.start()
    at_s = soon(10)
    slow, quick = (job_template(runs_for=NEVER, stops_after=after) for after in (NEVER, "0"))
    rows: dict[str, tuple[Object, Object, str, str]] = {
        "stopping": (FORBID, slow, "Foreground", "skipped"),
        "held": (FORBID, quick, "Foreground", "executed"),
        "held-replaced": (REPLACE, quick, "Foreground", "executed"),
        "held-with-pods": (FORBID, slow, "Background", "skipped"),
    }
    for name, (policy, template, _, _) in rows.items():
        made = kronjobs.make(name, slot.aim(name, at_s), policy=policy, template=template)
        make_manual(kronjobs, made, "by-hand")
    for name, (_, _, propagation, _) in rows.items():
        job = f"{name}-by-hand"
        wait_until_running(kronjobs, job)
        if name.startswith("held"):
            finalizers = {"metadata": {"finalizers": [HOLD]}}
            kronjobs.api.patch("jobs", namespace, job, finalizers)
        kronjobs.api.delete("jobs", namespace, job, propagation=propagation)
        if propagation == "Foreground" and name.startswith("held"):
            kronjobs.wait_for_status(name, active=[])

    for name, (_, _, _, outcome) in rows.items():
        status = wait_for_outcome(kronjobs, name, outcome)
        left = {f"{name}-by-hand"} | (
            {job_name(name, slot.period)} if outcome == "executed" else set()
        )
        assert {job["metadata"]["name"] for job in kronjobs.jobs(name)} == left
        active = job_name(name, slot.period) if outcome == "executed" else f"{name}-by-hand"
        assert [run["name"] for run in status["active"]] == [active]
    assert operator.events("replaced_job") == []
    operator.check_log()
    for name in rows:
        for pod in pods_of(kronjobs, f"{name}-by-hand"):
            kronjobs.api.delete("pods", namespace, pod["metadata"]["name"], grace_s=0)
        if name.startswith("held"):
            kronjobs.api.patch(
                "jobs", namespace, f"{name}-by-hand", {"metadata": {"finalizers": None}}
            )


def test_a_run_of_the_period_before_counts_as_active(
    namespace: str, kronjobs: KronJobs, operator: Operator
) -> None:
    slot = Slot(namespace, 3, 2, window="6m")
    first, second = map(to_text, slot.nominals_s)
    operator.start()
    at_s = soon(5)
    template = job_template(runs_for=NEVER)
    for name, policy in {"allow": ALLOW, "forbid": FORBID, "replace": REPLACE}.items():
        text = slot.aim(name, range(at_s, at_s + 4), range(at_s + 5, at_s + 12))
        kronjobs.make(name, text, policy=policy, template=template)

    expected = {
        "allow": ("executed", {first, second}),
        "forbid": ("skipped", {first}),
        "replace": ("executed", {second}),
    }
    for name, (outcome, periods) in expected.items():
        status = kronjobs.wait_for_status(name, lastPeriodID=second, lastOutcome=outcome)
        assert {run["periodID"] for run in status["active"]} == periods
        names = {job_name(name, period) for period in periods}
        assert {job["metadata"]["name"] for job in kronjobs.jobs(name)} == names
        assert status["ledger"]["starting"] == []
    operator.check_log()
