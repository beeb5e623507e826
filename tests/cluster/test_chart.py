"""The Helm chart at a real control plane: its objects, its upgrades, and the way to it."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from shutil import copytree
from time import time
from typing import Any

import pytest
import yaml

from tests.cluster.controlplane import ROOT, ControlPlane
from tests.cluster.kronjobs import KronJobs, wait_for
from tests.cluster.operator import Operator
from tests.helm import CHART, Values, helm_program, render

TEXT = {"type": "string"}
LABELS = {"type": "object", "additionalProperties": TEXT}


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def several(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


RULE = of(**dict.fromkeys(("alert", "expr", "for"), TEXT), labels=LABELS, annotations=LABELS) | {
    "required": ["alert", "expr"]
}
MONITORING = {
    "PodMonitor": of(
        selector=of(matchLabels=LABELS),
        podMetricsEndpoints=several(
            of(port=TEXT, path=TEXT, interval=TEXT, honorLabels={"type": "boolean"})
        ),
    ),
    "PrometheusRule": of(groups=several(of(name=TEXT, rules=several(RULE)))),
}
"""The specs of the Prometheus operator, as far as the chart uses them: its own definitions cannot
be had here. An unknown field is refused."""

EVERYTHING: Values = {
    "image": {"repository": "registry.example.com/kron", "tag": "v1", "pullPolicy": "Always"},
    "imagePullSecrets": ["registry"],
    "replicas": 3,
    "serviceAccount": {"name": "runner", "annotations": {"example.com/role": "kron"}},
    "defaultDeadline": "10m",
    "extraEnv": [{"name": "TZ", "value": "UTC"}],
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "special", "operator": "Exists", "effect": "NoSchedule"}],
    "affinity": {"podAntiAffinity": {}},
    "topologySpreadConstraints": [
        {"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    ],
    "priorityClassName": "system-cluster-critical",
    "podLabels": {"team": "a"},
    "podAnnotations": {"note": "yes"},
    "disruptionBudget": {"minAvailable": "50%", "unhealthyPodEvictionPolicy": "IfHealthyBudget"},
    "metrics": {
        "address": "::",
        "annotations": False,
        "podMonitor": {"create": True, "labels": {"release": "prometheus"}},
        "rules": {"create": True, "labels": {"release": "prometheus"}},
        "dashboard": {"create": True},
    },
    "networkPolicy": {
        "create": True,
        "metricsFrom": [{"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}],
        "apiServerTo": [{"ipBlock": {"cidr": "10.0.0.1/32"}}],
    },
}
TABLE: dict[str, Values] = {
    "defaults": {},
    "everything": EVERYTHING,
    "one replica": {"replicas": 1, "crds": {"keep": False}},
    "network": {"networkPolicy": {"create": True}},
    "no rights": {
        "rbac": {"create": False, "aggregate": False},
        "serviceAccount": {"create": False, "name": "there"},
    },
    "annotated": {"podAnnotations": {"note": "yes"}, "resources": {}},
}


@pytest.fixture
def monitoring(cluster: ControlPlane) -> Iterator[None]:
    names = []
    for kind, spec in MONITORING.items():
        plural = f"{kind.lower()}s"
        names.append(f"{plural}.monitoring.coreos.com")
        schema = {"openAPIV3Schema": of(spec=spec)}
        version = {"name": "v1", "served": True, "storage": True, "schema": schema}
        made = {
            "metadata": {"name": names[-1]},
            "spec": {
                "group": "monitoring.coreos.com",
                "scope": "Namespaced",
                "names": {"kind": kind, "plural": plural},
                "versions": [version],
            },
        }
        cluster.api().create("customresourcedefinitions", None, made)
    crds = [f"crd/{name}" for name in names]
    waited = cluster.kubectl("wait", "--for=condition=Established", *crds)
    assert waited.returncode == 0, waited.stderr
    yield
    for name in names:
        cluster.api().delete("customresourcedefinitions", None, name)


@pytest.mark.usefixtures("monitoring")
def test_the_api_server_takes_every_object(cluster: ControlPlane, namespace: str) -> None:
    """One test: the definitions above are there once, whatever the number of workers."""

    def refusal(values: Values, release: str = "kron") -> str:
        words = ("apply", "--server-side", "--force-conflicts", "--dry-run=server")
        answer = cluster.kubectl(
            *(*words, "--validate=strict", "-f", "-"),
            input=yaml.safe_dump_all(render(values, release, namespace)),
        )
        is_applied = f"deployment.apps/{release} serverside-applied" in answer.stdout
        return "" if answer.returncode == 0 and is_applied else answer.stderr or answer.stdout

    rows = [*TABLE.values()]
    rows += [values | {"namespaces": [namespace]} for values in rows]
    with ThreadPoolExecutor(4) as crew:
        refusals = dict(
            zip(
                [*TABLE, *(f"namespaced {name}" for name in TABLE)],
                crew.map(refusal, rows),
                strict=True,
            )
        )
    assert not any(refusals.values()), refusals
    assert not refusal(EVERYTHING, release="5")


# A release on a cluster

SYSTEM = "kron-system"
CRD = "kronjobs.kron.io"


class Shell:
    """Runs commands of docs/chart.md as an administrator, beside the chart and a values.yaml."""

    def __init__(self, cluster: ControlPlane, directory: Path) -> None:
        self._programs = {"kubectl": cluster.programs / "kubectl", "helm": helm_program()}
        self._environment = {**os.environ, "KUBECONFIG": cluster.kubeconfig()}
        self._directory = directory
        (directory / "deploy").symlink_to(ROOT / "deploy")
        (directory / "values.yaml").write_text("{}")

    def run(self, line: str) -> str:
        """What a command says, which has to work."""
        done = self._run(line)
        assert done.returncode == 0, (line, done.stdout, done.stderr)
        return done.stdout

    def refusal(self, line: str) -> str:
        """Why a command does not work."""
        done = self._run(line)
        assert done.returncode != 0, (line, done.stdout)
        return done.stderr

    def _run(self, line: str) -> subprocess.CompletedProcess[str]:
        program, *words = shlex.split(line)
        return subprocess.run(
            [self._programs[program], *words],
            cwd=self._directory,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )


def commands(heading: str) -> list[str]:
    """Those in the first block below a heading of docs/chart.md."""
    section = (ROOT / "docs/chart.md").read_text().split(f"\n## {heading}\n", 1)[1]
    return section.split("```text\n", 1)[1].split("```", 1)[0].splitlines()


def test_a_value_that_is_new_in_a_chart_is_not_left_empty(
    cluster: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    shell = Shell(cluster, tmp_path)
    chart = tmp_path / "earlier"
    copytree(CHART, chart)
    for name, line in (
        ("values.yaml", "networkDelay: 2m"),
        ("values.schema.json", '"networkDelay",'),
        ("templates/deployment.yaml", "- --network-delay={{ $values.networkDelay }}"),
    ):
        text = (chart / name).read_text()
        assert text.count(line) == 1
        (chart / name).write_text(text.replace(line, ""))
    place = f"kron --namespace {namespace}"
    (tmp_path / "values.yaml").write_text(
        f"{{namespaces: [{namespace}], crds: {{install: false}}, triggerSlack: 7s}}"
    )
    shell.run(f"helm install {place} earlier --values values.yaml")
    refusal = shell.refusal(f"helm upgrade {place} deploy/chart --reuse-values")
    assert "missing property 'networkDelay'" in refusal
    shell.run(f"helm upgrade {place} deploy/chart --reset-then-reuse-values")
    (container,) = cluster.api().get("deployments", namespace, "kron")["spec"]["template"]["spec"][
        "containers"
    ]
    assert {"--network-delay=2m", "--trigger-slack=7s"} <= set(container["args"])
    shell.run(f"helm uninstall {place}")


def test_a_cluster_moves_from_the_manifests_to_the_chart(
    own_cluster: ControlPlane, tmp_path: Path
) -> None:
    """Operators beside the cluster act for its Pods, which run nothing here: with the rights of
    their account, by their Lease."""
    api = own_cluster.api()
    shell = Shell(own_cluster, tmp_path)
    shell.run("kubectl apply -k deploy/kubernetes")
    shell.run(f"kubectl rollout status deployment/kron-operator -n {SYSTEM} --timeout=60s")
    token = own_cluster.token_for_service_account(SYSTEM, "kron-operator")
    kubeconfig = own_cluster.kubeconfig_with({"token": token}, "account.kubeconfig", SYSTEM)
    kronjobs = KronJobs(api, "default")

    def operator(identity: str) -> Operator:
        made = Operator(
            own_cluster,
            SYSTEM,
            tmp_path,
            identity=identity,
            kubeconfig=kubeconfig,
            namespaces=(),
        )
        return made.start()

    def check_run(name: str) -> None:
        """One that is due in some seconds has its Job."""
        kronjobs.make_due(name, int(time()) + 5)
        kronjobs.wait_for_status(name, lastOutcome="executed")

    def pods(selector: str) -> list[str]:
        return [pod["metadata"]["name"] for pod in api.list("pods", SYSTEM, selector)]

    old = "app.kubernetes.io/name=kron-operator,!app.kubernetes.io/instance"
    new = "app.kubernetes.io/instance=kron-operator"
    with operator("a") as first:
        first.wait_until_leading()
        check_run("before")
        uids = {each["metadata"]["uid"] for each in api.list("kronjobs", "default")}
        orphan, install, delete = commands("From the manifests to the chart")

        shell.run(orphan)
        assert api.find("deployments", SYSTEM, "kron-operator") is None
        assert len(pods(old)) == 2
        shell.run(install)
        assert (len(pods(old)), len(pods(new))) == (2, 2)
        shell.run(delete)
        wait_for(lambda: not pods(old), "the old Pods are gone")
        assert len(pods(new)) == 2
        for each in yaml.safe_load_all(shell.run(f"helm get manifest kron-operator -n {SYSTEM}")):
            place = f"{each['kind']} {each['metadata']['name']} -n {SYSTEM} -o json"
            labels = json.loads(shell.run(f"kubectl get {place}"))["metadata"]["labels"]
            assert labels["app.kubernetes.io/managed-by"] == "Helm", place

        assert first.holder() == "a", "it has kept its Lease and its rights"
        check_run("after")
        with operator("b") as second:
            assert first.stop() == 0
            second.wait_until_leading()
            check_run("later")
            assert {each["status"]["lastOutcome"] for each in api.list("kronjobs", "default")} == {
                "executed"
            }
            assert second.stop() == 0
    assert uids < {each["metadata"]["uid"] for each in api.list("kronjobs", "default")}


def test_the_definition_goes_from_release_to_release(
    own_cluster: ControlPlane, tmp_path: Path
) -> None:
    api = own_cluster.api()
    shell = Shell(own_cluster, tmp_path)
    api.delete("customresourcedefinitions", None, CRD)
    wait_for(lambda: api.find("customresourcedefinitions", None, CRD) is None, "it is gone")
    install, upgrade, roll_back, uninstall = commands("Install, upgrade, roll back, uninstall")
    for command in (install, upgrade, roll_back):
        shell.run(command)
    shell.run(f"kubectl wait --for=condition=Established crd/{CRD}")
    kronjob = KronJobs(api, "default").make("one", "0 0 29 2 *")
    shell.run(uninstall)
    shell.run(install)
    shell.run(uninstall)

    for name in ("team-a", "team-b"):
        shell.run(f"kubectl create namespace {name}")
    first = f"first deploy/chart -n {SYSTEM} --set namespaces={{team-a}}"
    assert "cannot be imported into the current release" in shell.refusal(f"helm install {first}")
    shell.run(f"helm install {first} --take-ownership")

    second = f"second deploy/chart -n {SYSTEM} --set namespaces={{team-b}}"
    shell.run(f"helm install {second} --set crds.install=false")
    shell.run(f"helm upgrade {first} --set crds.install=false")
    shell.run(f"helm upgrade {second} --set crds.install=true --take-ownership")
    for place in (f"crd/{CRD}", "clusterrole/kron-view", "clusterrole/kron-edit"):
        found = json.loads(shell.run(f"kubectl get {place} -o json"))["metadata"]
        assert found["annotations"]["meta.helm.sh/release-name"] == "second"
    left = api.get("kronjobs", "default", "one")
    assert left["metadata"]["uid"] == kronjob["metadata"]["uid"]
