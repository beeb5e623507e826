"""The life of a Helm release on a real node: none of it costs a run or a KronJob."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.kronjobs import KronJobs
from tests.node.deployment import ACCOUNT, NAMESPACE, Deployment
from tests.node.load import COUNT, Load
from tests.node.node import Node
from tests.node.release import Release
from tests.node.runs import check_confined, namespace_of

CRD = "kronjobs.kron.io"


@pytest.fixture
def release(node: Node) -> Iterator[Release]:
    """None yet, and nothing of the manifests; at the end, nothing of the chart either."""
    Deployment(node).remove()
    label = {"pod-security.kubernetes.io/enforce": "restricted"}
    namespace = {"metadata": {"name": NAMESPACE, "labels": label}}
    node.cluster.api().create("namespaces", None, namespace)
    made = Release(node)
    yield made
    made.uninstall()
    Deployment(node).remove()


def images(deployment: Deployment) -> set[str]:
    return {pod["spec"]["containers"][0]["image"] for pod in deployment.pods()}


def test_a_release_is_installed_upgraded_rolled_back_and_taken_away(
    node: Node, release: Release
) -> None:
    api = node.cluster.api()
    deployment, released = release.deployment, KronJobs(api, "released")
    first_image, next_image = "kron-operator:latest", node.tag("kron-operator:latest", "next")
    release.install({"image": {"tag": "latest"}})
    assert images(deployment) == {first_image}
    load = Load(node.cluster, "released")
    release.upgrade({"image": {"tag": "next"}, "replicas": 3, "defaultDeadline": "10m"})
    assert images(deployment) == {next_image}
    assert len(deployment.pods()) == 3
    load.judge(20, ACCOUNT)
    released.wait_for_status("load-0", deadline="10m")
    release.roll_back()
    assert images(deployment) == {first_image}
    load.judge(30, ACCOUNT)
    released.wait_for_status("load-0", deadline="0s")
    deployment.check_logs()

    release.uninstall()
    assert len(api.list("kronjobs", "released")) == COUNT, "they stay, with the definition"
    load.stop()
    with namespace_of(node, "team-c") as kronjobs, namespace_of(node, "team-d") as others:
        release.install(
            {
                "image": {"tag": "latest"},
                "namespaces": [kronjobs.namespace],
                "crds": {"keep": False},
            }
        )
        check_confined(node, kronjobs, others)
        release.uninstall()
        assert api.find("customresourcedefinitions", None, CRD) is None
