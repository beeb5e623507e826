"""What deploy/ has for other programs: Kustomize, Argo CD and kube-state-metrics."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from lupa.lua51 import LuaRuntime  # type: ignore[import-untyped]

from kron.kube.resource.schema.definition import definition, root_schema
from tests.kube.resource.bad_specs import good_kronjob, merged
from tests.kube.resource.test_deploy import kubectl

ROOT = Path(__file__).parent.parent.parent.parent / "deploy"
Schema = dict[str, Any]


def read(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


# Kustomize

CONTAINER = {
    "name": "main",
    "image": "example.test/work:1",
    "env": [
        {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "a"}}},
        {"name": "B", "valueFrom": {"secretKeyRef": {"name": "password", "key": "b"}}},
    ],
    "envFrom": [{"configMapRef": {"name": "settings"}}, {"secretRef": {"name": "password"}}],
}
POD = {
    "restartPolicy": "Never",
    "serviceAccountName": "worker",
    "imagePullSecrets": [{"name": "password"}],
    "containers": [CONTAINER],
    "initContainers": [CONTAINER | {"name": "first"}],
    "volumes": [
        {"name": "a", "configMap": {"name": "settings"}},
        {"name": "b", "secret": {"secretName": "password"}},
        {"name": "c", "persistentVolumeClaim": {"claimName": "data"}},
        {
            "name": "d",
            "projected": {
                "sources": [{"configMap": {"name": "settings"}}, {"secret": {"name": "password"}}]
            },
        },
        {"name": "e", "csi": {"driver": "x", "nodePublishSecretRef": {"name": "password"}}},
    ],
}
KUSTOMIZATION: dict[str, Any] = {
    "resources": ["objects.yaml"],
    "configurations": ["kronjobs.yaml"],
    "namePrefix": "test-",
    "configMapGenerator": [{"name": "settings", "namespace": "default", "literals": ["a=1"]}],
    "secretGenerator": [{"name": "password", "namespace": "default", "literals": ["b=2"]}],
    "images": [{"name": "example.test/work", "newTag": "2"}],
    "labels": [{"pairs": {"team": "blue"}, "includeTemplates": True}],
    "commonAnnotations": {"owner": "me"},
}


def texts(value: object) -> Iterator[str]:
    """Every text in it."""
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts(each)
    elif isinstance(value, str):
        yield value


@pytest.mark.heavy
def test_kustomize_rewrites_every_name_and_image_in_a_job_template(tmp_path: Path) -> None:
    kronjob = good_kronjob("work")
    kronjob["spec"]["jobTemplate"]["spec"]["template"]["spec"] = POD
    objects = [kronjob] + [
        {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "default"}}
        for kind, name in (("ServiceAccount", "worker"), ("PersistentVolumeClaim", "data"))
    ]
    (tmp_path / "objects.yaml").write_text(yaml.safe_dump_all(objects))
    configuration = (ROOT / "kustomize/kronjobs.yaml").read_text(encoding="utf-8")
    (tmp_path / "kronjobs.yaml").write_text(configuration)
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(KUSTOMIZATION))
    command = [kubectl(), "kustomize", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    made = {each["kind"]: each for each in yaml.safe_load_all(done.stdout)}
    template = made["KronJob"]["spec"]["jobTemplate"]
    found = set(texts(template))
    names = {made[kind]["metadata"]["name"] for kind in ("ConfigMap", "Secret")}
    assert {name.rpartition("-")[0] for name in names} == {"test-settings", "test-password"}
    assert names | {"test-worker", "test-data", "example.test/work:2"} <= found
    assert found.isdisjoint({"settings", "password", "worker", "data", "example.test/work:1"})
    for metadata in (template["metadata"], template["spec"]["template"]["metadata"]):
        assert metadata == {"labels": {"team": "blue"}, "annotations": {"owner": "me"}}


# Argo CD

GENERATION = 3


def condition(status: str, reason: str, message: str = "", generation: int = GENERATION) -> Schema:
    return {
        "type": "Ready",
        "status": status,
        "reason": reason,
        "message": message,
        "observedGeneration": generation,
    }


@pytest.mark.parametrize(
    ("status", "health", "message"),
    [
        pytest.param(None, "Progressing", "has not seen", id="new"),
        pytest.param({}, "Progressing", "has not seen", id="without-conditions"),
        pytest.param({"conditions": []}, "Progressing", "has not seen", id="without-ready"),
        pytest.param(
            {"conditions": [condition("True", "Scheduled", generation=2)]},
            *("Progressing", "has not seen"),
            id="edited",
        ),
        pytest.param(
            {"conditions": [condition("False", "InvalidSpec", "it is bad")]},
            *("Degraded", "InvalidSpec: it is bad"),
            id="invalid",
        ),
        pytest.param(
            {"conditions": [condition("True", "Suspended", "nothing runs")], "suspended": True},
            *("Suspended", "nothing runs"),
            id="suspended",
        ),
        pytest.param(
            {"conditions": [condition("True", "Scheduled")], "suspended": False},
            *("Healthy", ""),
            id="healthy",
        ),
    ],
)
def test_argo_cd_judges_by_the_conditions(status: Schema | None, health: str, message: str) -> None:
    (script,) = read("argocd/health.yaml")["data"].values()
    lua = LuaRuntime()
    obj = merged(good_kronjob(), {"metadata": {"generation": GENERATION}})
    if status is not None:
        obj["status"] = status
    judged = lua.eval(f"function(obj) {script} end")(lua.table_from(obj, recursive=True))
    assert judged["status"] == health
    assert message in judged["message"]


def test_the_health_check_is_that_of_a_kronjob() -> None:
    spec = definition()["spec"]
    (key,) = read("argocd/health.yaml")["data"]
    assert key == f"resource.customizations.health.{spec['group']}_{spec['names']['kind']}"


# kube-state-metrics


def field_at(path: list[str], schema: Schema) -> Schema:
    for name in path:
        schema = schema["properties"][name]
    return schema


def test_every_metric_is_of_a_field_that_a_kronjob_has() -> None:
    (resource,) = read("kube-state-metrics/kronjobs.yaml")["spec"]["resources"]
    spec = definition()["spec"]
    kind = {"group": spec["group"], "version": "v1alpha1", "kind": spec["names"]["kind"]}
    assert resource["groupVersionKind"] == kind
    names = [metric["name"] for metric in resource["metrics"]]
    assert len(set(names)) == len(names)
    for metric in resource["metrics"]:
        each = metric["each"]
        said = each[each["type"][0].lower() + each["type"][1:]]
        path = said.get("path", [])
        if path[:1] == ["metadata"]:
            assert path == ["metadata", "creationTimestamp"]
            continue
        field = field_at(path, root_schema())
        for label in said.get("labelsFromPath", {}).values():
            field_at(label, field.get("items", field))
        if each["type"] == "StateSet":
            assert said["list"] == field["enum"]
        if "valueFrom" in said:
            assert field_at(said["valueFrom"], field["items"])["enum"] == [
                "True",
                "False",
                "Unknown",
            ]
        elif metric["name"].endswith("_timestamp_seconds"):
            assert field["format"] == "date-time"
