"""The objects of the Helm chart, as a real API server judges them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import yaml

from tests.cluster.controlplane import ControlPlane
from tests.helm import Values, render

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

    def refusal(values: Values) -> str:
        words = ("apply", "--server-side", "--force-conflicts", "--dry-run=server")
        answer = cluster.kubectl(
            *(*words, "--validate=strict", "-f", "-"),
            input=yaml.safe_dump_all(render(values, namespace=namespace)),
        )
        is_applied = "deployment.apps/kron serverside-applied" in answer.stdout
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
