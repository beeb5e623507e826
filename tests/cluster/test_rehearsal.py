"""Templates that the real API server would refuse: Ready says so before anything is due, and a new
generation of the spec is judged by itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.cluster.api import Object
from tests.cluster.audit import DRY_RUN, Request
from tests.cluster.controlplane import ControlPlane
from tests.cluster.kronjobs import KronJobs, job_template
from tests.cluster.operator import Operator
from tests.cluster.ports import free_ports
from tests.cluster.test_answers import wait_until_refused
from tests.cluster.webhook import REASON, configured, denier
from tests.logbook import wait_for
from tests.moment import soon

YEARLY = "0 0 29 2 *"


def changed(change: Callable[[Object], Any]) -> Object:
    """A good template with a change to its spec."""
    template = job_template()
    change(template["spec"])
    return template


def container(spec: Object) -> Object:
    found: Object = spec["template"]["spec"]["containers"][0]
    return found


BAD = {
    "misspelt": (
        changed(lambda spec: container(spec).update(imagee="none")),
        'unknown field "spec.template.spec.containers[0].imagee"',
    ),
    "negative": (changed(lambda spec: spec.update(backoffLimit=-5)), "spec.backoffLimit"),
    "named": (
        changed(lambda spec: container(spec).update(name="Bad_Name")),
        "spec.template.spec.containers[0].name",
    ),
    "labelled": (
        changed(lambda spec: spec["template"]["metadata"].update(labels={"team": "not one!"})),
        "labels: Invalid value",
    ),
}


def rehearsals(cluster: ControlPlane, namespace: str) -> list[Request]:
    return [request for request in cluster.audit(namespace) if request.verb == DRY_RUN]


def first_status(cluster: ControlPlane, namespace: str, name: str) -> Object:
    """The first status that an operator wrote."""
    bodies = [
        request.body
        for request in cluster.audit(namespace)
        if (request.resource, request.subresource, request.name) == ("kronjobs", "status", name)
    ]
    status: Object = json.loads(bodies[0])["status"]
    return status


def test_a_template_that_no_server_takes_is_not_ready_at_once_and_ready_once_it_is_fixed(
    cluster: ControlPlane, namespace: str, kronjobs: KronJobs, operator: Operator
) -> None:
    operator.start()
    operator.wait_until_leading()
    for name, (template, _) in BAD.items():
        kronjobs.make(name, YEARLY, template=template)
    for name, (_, why) in BAD.items():
        ready = kronjobs.wait_for_condition(name, "Ready", status=False)
        assert ready["reason"] == "InvalidTemplate"
        assert why in ready["message"]
        assert ready["message"].startswith("the Job would be refused: ")
        assert "dry-run" not in ready["message"]
        wait_for(lambda n=name: kronjobs.events(n, "InvalidTemplate"), f"an Event of {name}")  # type: ignore[misc]
        # Nobody who waits for Ready was told otherwise before.
        conditions = first_status(cluster, namespace, name)["conditions"]
        assert [each["status"] for each in conditions if each["type"] == "Ready"] == ["False"]

    for name in BAD:
        # A merge patch would keep what is wrong.
        kronjob = kronjobs.read(name)
        kronjob["spec"]["jobTemplate"] = job_template()
        path = f"/apis/kron.io/v1alpha1/namespaces/{namespace}/kronjobs/{name}"
        kronjobs.api.request("PUT", path, kronjob)
    names = [f"kronjob/{name}" for name in BAD]
    waited = cluster.kubectl(
        *("wait", "-n", namespace, "--for=condition=Ready", "--timeout=60s", *names)
    )
    assert waited.returncode == 0, waited.stderr
    for name in BAD:
        status = kronjobs.wait_for_status(name, observedGeneration=2)
        assert "nvalid" not in json.dumps([c for c in status["conditions"] if c["message"]])
        assert {each["observedGeneration"] for each in status["conditions"]} == {2}
    assert kronjobs.jobs() == []

    # The next leader knows, and asks nobody.
    before = len(rehearsals(cluster, namespace))
    assert before == 2 * len(BAD)
    assert operator.stop() == 0
    operator.start()
    operator.wait_until_leading()
    kronjobs.make("last", YEARLY)
    kronjobs.wait_for_condition("last", "Ready")
    assert len(rehearsals(cluster, namespace)) == before + 1
    operator.check_log()


def test_a_period_that_was_refused_says_nothing_of_the_next_generation(
    kronjobs: KronJobs, operator: Operator
) -> None:
    operator.start()
    operator.wait_until_leading()
    at_s = soon(3)
    kronjobs.make_due("fixed", at_s, template=BAD["negative"][0])
    kronjobs.wait_for_status("fixed", lastOutcome="missed")
    assert kronjobs.wait_for_condition("fixed", "Ready", status=False)["message"]
    kronjobs.change("fixed", schedule=YEARLY, jobTemplate={"spec": {"backoffLimit": 0}})
    status = kronjobs.wait_for_status("fixed", observedGeneration=2)
    told = {each["type"]: (each["status"], each["message"]) for each in status["conditions"]}
    assert told["Ready"] == ("True", "")
    assert told["SchedulingError"] == ("False", "")
    operator.check_log()


def test_a_webhook_that_does_not_answer_is_no_verdict_and_one_that_denies_is(
    cluster: ControlPlane, namespace: str, kronjobs: KronJobs, operator: Operator, tmp_path: Path
) -> None:
    api = cluster.api()
    with ExitStack() as stack:
        port, certificate = stack.enter_context(denier(tmp_path))
        stack.enter_context(configured(api, namespace, "denied", port, certificate))
        stack.enter_context(configured(api, namespace, "unasked", free_ports(1)[0]))
        wait_until_refused(api, namespace, "denied", 403)
        wait_until_refused(api, namespace, "unasked", 500)
        operator.start()
        operator.wait_until_leading()
        kronjobs.make("denied", YEARLY)
        kronjobs.make("unasked", YEARLY)
        ready = kronjobs.wait_for_condition("denied", "Ready", status=False)
        assert (ready["reason"], REASON in ready["message"]) == ("Denied", True)
        assert kronjobs.wait_for_condition("unasked", "Ready")["reason"] == "Scheduled"
        error = kronjobs.condition("unasked", "SchedulingError")
        assert error is not None
        assert error["reason"] == "NoError"
        assert kronjobs.events("unasked") == []
    operator.check_log()
