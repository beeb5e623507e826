"""The KronJob resource on a real API server: what it refuses, what it teaches, what it shows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kron.kube.resource.schema.definition import root_schema
from tests.cluster.controlplane import ControlPlane
from tests.cluster.kronjobs import KronJobs, due_at, job_template, kronjob, wait_for
from tests.cluster.operator import Operator
from tests.cluster.outcomes import wait_until_seen
from tests.kube.resource.bad_specs import BAD_SPECS, GOOD_SPECS, bad_kronjob, good_kronjob, merged
from tests.moment import soon

REFUSED = [bad for bad in BAD_SPECS if bad.refused_by == "api"]
JUDGED = [bad for bad in BAD_SPECS if bad.refused_by == "engine"]


@pytest.fixture(scope="module")
def refusals(cluster: ControlPlane) -> dict[str, str]:
    """What `kubectl apply` says to each bad spec: one call for each, some of them at a time."""
    from concurrent.futures import ThreadPoolExecutor

    def apply(manifest: dict[str, object]) -> str:
        answer = cluster.kubectl(
            *("apply", "--dry-run=server", "-f", "-"), input=json.dumps(manifest)
        )
        return "" if answer.returncode == 0 else answer.stderr

    with ThreadPoolExecutor(4) as crew:
        said = crew.map(apply, [bad_kronjob(bad) for bad in REFUSED])
        return dict(zip([bad.id for bad in REFUSED], said, strict=True))


def test_every_bad_spec_that_can_be_refused_is_refused_with_its_rule(
    refusals: dict[str, str],
) -> None:
    wrong = {
        bad.id: refusals[bad.id] or "it was accepted"
        for bad in REFUSED
        if bad.message not in refusals[bad.id]
    }
    assert wrong == {}


def test_every_good_spec_is_accepted(cluster: ControlPlane) -> None:
    items = []
    for name, patch in GOOD_SPECS.items():
        kronjob = good_kronjob(name)
        kronjob["spec"] = merged(kronjob["spec"], patch)
        items.append(kronjob)
    listed = {"apiVersion": "v1", "kind": "List", "items": items}
    answer = cluster.kubectl("apply", "--dry-run=server", "-f", "-", input=json.dumps(listed))
    assert answer.returncode == 0, answer.stderr


def test_what_only_the_engine_can_judge_becomes_a_condition_and_an_event_and_no_job(
    operator: Operator, kronjobs: KronJobs
) -> None:
    for bad in JUDGED:
        kronjobs.api.create("kronjobs", kronjobs.namespace, bad_kronjob(bad, kronjobs.namespace))
    operator.start()
    for bad in JUDGED:
        condition = kronjobs.wait_for_condition(bad.id, "InvalidSpec")
        assert bad.message in condition["message"], bad.id
        assert bad.path in condition["message"], bad.id
        assert kronjobs.condition(bad.id, "Ready") is not None
        assert kronjobs.status(bad.id).get("nextChosenTime") is None
    expected = {bad.id for bad in JUDGED}
    wait_for(lambda: _told_of(kronjobs) == expected, "an Event of each")
    assert kronjobs.jobs() == []
    assert {record["name"] for record in operator.events("error")} == expected


def test_one_that_is_nested_too_deeply_for_python_hides_no_other(
    cluster: ControlPlane, operator: Operator, kronjobs: KronJobs
) -> None:
    """The API server takes ten thousand levels of what it does not know."""
    deep = good_kronjob("deep", kronjobs.namespace)
    deep["spec"]["jobTemplate"]["spec"]["template"]["spec"]["volumes"] = [
        {"name": "v", "emptyDir": {}, "newer": "HERE"}
    ]
    text = json.dumps(deep).replace('"HERE"', "[" * 985 + "]" * 985)
    made = cluster.kubectl("create", "--validate=false", "-f", "-", input=text)
    assert made.returncode == 0, made.stderr
    operator.start()
    kronjobs.make("plain", "0 0 1 1 *")
    wait_until_seen(kronjobs, "plain")
    assert "deep" in cluster.kubectl("get", "kronjobs", "-n", kronjobs.namespace).stdout
    wait_for(lambda: _told_of(kronjobs) == {"deep"}, "the Event of the deep one")
    metrics = operator.metrics()
    assert metrics["kron_kronjobs"] == 2
    assert metrics['kron_kronjobs_not_ready{reason="InvalidSpec"}'] == 1
    operator.check_log()
    cluster.kubectl("delete", "kronjob", "deep", "-n", kronjobs.namespace)


def _told_of(kronjobs: KronJobs) -> set[str]:
    return {event["involvedObject"]["name"] for event in kronjobs.events(reason="InvalidSpec")}


@pytest.mark.parametrize("way", [("create",), ("apply",), ("apply", "--server-side")], ids=" ".join)
def test_a_template_as_kubectl_writes_it_is_accepted_and_runs(
    cluster: ControlPlane, operator: Operator, kronjobs: KronJobs, way: tuple[str, ...]
) -> None:
    """`kubectl create --dry-run=client -o yaml` of many versions writes these nulls."""
    operator.start()
    template = job_template()
    template["metadata"] = {"creationTimestamp": None, "labels": {"team": "data"}}
    template["spec"]["template"]["metadata"]["creationTimestamp"] = None
    schedule = due_at(kronjobs.namespace, "pasted", soon(6))
    made = kronjob("pasted", schedule, template=template) | {"status": {}}
    made["metadata"]["creationTimestamp"] = None
    place = f"--namespace={kronjobs.namespace}"
    answer = cluster.kubectl(*way, place, "-f", "-", input=json.dumps(made))
    assert answer.returncode == 0, answer.stderr
    kronjobs.wait_for_status("pasted", lastOutcome="executed")
    [job] = kronjobs.jobs("pasted")
    assert job["metadata"]["labels"]["team"] == "data"
    assert job["metadata"]["creationTimestamp"]
    operator.check_log()


@pytest.mark.parametrize(
    ("field", "taught"),
    [
        ("kronjob.spec.window", "mode"),
        ("kronjob.spec.schedule", "cron"),
        ("kronjob.spec.policy.deadline", "late"),
        ("kronjob.spec.distribution.params.shape", "skew"),
        ("kronjob.status.lastOutcome", "executed"),
        ("kronjob.spec.jobTemplate.spec", "backoffLimit"),
        ("kronjob.spec.jobTemplate.spec.template.spec.containers", "imagePullPolicy"),
        ("kronjob.spec.jobTemplate.spec.template.spec.initContainers.env", "valueFrom"),
    ],
)
def test_kubectl_explain_teaches(cluster: ControlPlane, field: str, taught: str) -> None:
    said = cluster.kubectl("explain", field).stdout
    assert "DESCRIPTION" in said
    assert taught in said.partition("DESCRIPTION")[2]
    assert "<empty>" not in said


@pytest.mark.parametrize("way", [("apply",), ("apply", "--server-side")], ids=" ".join)
def test_a_template_of_nulls_is_accepted_as_in_a_job(
    cluster: ControlPlane, namespace: str, way: tuple[str, ...]
) -> None:
    """Templates write them for what is not set, and batch/v1 takes them."""
    spec = root_schema()["properties"]["spec"]["properties"]["jobTemplate"]["properties"]["spec"]
    template = {"spec": _with_nulls(spec)}
    container = template["spec"]["template"]["spec"]["containers"][0]
    container |= {"image": "none", "args": ["a", None], "resources": {"limits": {"cpu": 0.5}}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "job"}, **template}
    items = [kronjob("nulls", "0 0 * * *", template=template), job]
    for each in items:
        words = ("--dry-run=server", f"--namespace={namespace}", "-f", "-")
        answer = cluster.kubectl(*way, *words, input=json.dumps(each))
        assert answer.returncode == 0, answer.stderr


def _with_nulls(schema: dict[str, Any]) -> Any:
    """A value with null for every field that is not required."""
    if schema["type"] == "array":
        return [_with_nulls(schema["items"])]
    if schema["type"] == "string":
        return schema.get("enum", ["run"])[-1]
    required = schema.get("required", ())
    return {
        name: _with_nulls(below) if name in required else None
        for name, below in schema["properties"].items()
    }


def test_it_is_a_kj_of_the_category_all_and_its_columns_show_what_matters(
    cluster: ControlPlane, kronjobs: KronJobs
) -> None:
    namespace = kronjobs.namespace
    kronjobs.api.create("kronjobs", namespace, good_kronjob("shown", namespace))
    head, row = cluster.kubectl("get", "kj", "-n", namespace).stdout.splitlines()
    assert {"NAME", "SCHEDULE", "SUSPENDED", "NEXT", "LAST", "AGE"} <= set(
        head.replace("-", " ").split()
    )
    assert row.startswith("shown")
    assert "30 2 * * *" in row
    assert "kronjob.kron.io/shown" in cluster.kubectl("get", "all", "-n", namespace).stdout


def test_the_status_cannot_be_written_with_the_spec(kronjobs: KronJobs) -> None:
    namespace = kronjobs.namespace
    manifest = {**good_kronjob("plain", namespace), "status": {"lastOutcome": "executed"}}
    kronjobs.api.create("kronjobs", namespace, manifest)
    kronjobs.api.patch("kronjobs", namespace, "plain", {"status": {"lastOutcome": "missed"}})
    assert "lastOutcome" not in kronjobs.status("plain")
