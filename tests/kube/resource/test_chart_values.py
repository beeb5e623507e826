"""The values of the chart: what Helm renders with them, kron-operator and an API server take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.helm import refusal, render
from tests.kube.resource.test_deploy import of_kind

pytestmark = pytest.mark.heavy

NAMES = {"name", "namespace", "serviceAccountName", "priorityClassName", "interval"}
MAPS = {"labels", "annotations", "matchLabels", "nodeSelector"}


def texts(found: Any) -> Iterator[Any]:
    """All values in a manifest that have to be texts."""
    if isinstance(found, list):
        for each in found:
            yield from texts(each)
    elif isinstance(found, dict):
        for name, value in found.items():
            if name in NAMES:
                yield value
            elif name in MAPS:
                yield from value.values()
            elif name == "resourceNames":
                yield from value
            else:
                yield from texts(value)


def test_a_name_that_looks_like_a_number_stays_a_name() -> None:
    values = {
        "serviceAccount": {"name": "1e3"},
        "lease": {"name": "0x1"},
        "imagePullSecrets": ["12"],
        "priorityClassName": "7",
        "networkPolicy": {"create": True},
        "metrics": {
            "podMonitor": {"create": True, "interval": "0"},
            "rules": {"create": True},
            "dashboard": {"create": True},
        },
    }
    for namespaces in ([], ["456", "true"]):
        found = render(values | {"namespaces": namespaces}, release="5", namespace="123")
        said = [*texts([each for each in found if each["kind"] != "CustomResourceDefinition"])]
        assert [each for each in said if not isinstance(each, str)] == []
        assert {"5", "123", "1e3", "0x1", "12", "7", "0", *namespaces} <= set(said)


def test_labels_and_annotations_replace_ours_except_those_that_select() -> None:
    values = {
        "podLabels": {
            "team": "a",
            "app.kubernetes.io/name": "other",
            "app.kubernetes.io/version": "1",
        },
        "podAnnotations": {"prometheus.io/port": "9000", "note": "yes"},
        "metrics": {
            kind: {"create": True, "labels": {"app.kubernetes.io/instance": "prometheus"}}
            for kind in ("podMonitor", "rules", "dashboard")
        },
    }
    found = render(values)
    (deployment,) = of_kind("Deployment", found)
    pod = deployment["spec"]["template"]["metadata"]
    assert pod["labels"] == {
        "team": "a",
        "app.kubernetes.io/name": "kron-operator",
        "app.kubernetes.io/instance": "kron",
        "app.kubernetes.io/version": "1",
    }
    assert pod["annotations"]["note"] == "yes"
    assert pod["annotations"]["prometheus.io/port"] == "9000"
    for kind in ("PodMonitor", "PrometheusRule", "ConfigMap"):
        (one,) = of_kind(kind, found)
        assert one["metadata"]["labels"]["app.kubernetes.io/instance"] == "prometheus"
        assert one["metadata"]["labels"]["app.kubernetes.io/name"] == "kron-operator"


def test_an_account_that_nobody_makes_has_to_be_named() -> None:
    assert "serviceAccount.name must name" in refusal({"serviceAccount": {"create": False}})
    found = render({"serviceAccount": {"create": False, "name": "there"}})
    assert of_kind("ServiceAccount", found) == []
    (deployment,) = of_kind("Deployment", found)
    assert deployment["spec"]["template"]["spec"]["serviceAccountName"] == "there"
