"""kron-operator on the node, from our chart: the same names as from the manifests.

So all that `Deployment` says of Pods and of the leader holds for it too.
"""

from __future__ import annotations

from tests.kube.resource.chart import CHART, Values, helm
from tests.node.deployment import NAME, NAMESPACE, ROLLOUT_S, Deployment
from tests.node.node import Node


class Release:
    """That of one node, in a namespace whose Pod security is restricted."""

    def __init__(self, node: Node) -> None:
        self._kubeconfig = node.cluster.kubeconfig()
        self.deployment = Deployment(node)

    def install(self, values: Values) -> None:
        """`helm install`; returns when all replicas are ready."""
        self._helm("install", NAME, str(CHART), "--wait", values=values)

    def upgrade(self, values: Values) -> None:
        """`helm upgrade` with these values and no others, until all replicas are ready."""
        self._helm("upgrade", NAME, str(CHART), "--wait", values=values)

    def roll_back(self) -> None:
        """`helm rollback` to the revision before this one, until all replicas are ready."""
        self._helm("rollback", NAME, "--wait")

    def uninstall(self) -> None:
        """`helm uninstall`; returns when its objects are gone, or does nothing if there is none."""
        self._helm("uninstall", NAME, "--wait", "--ignore-not-found")

    def _helm(self, *words: str, values: Values | None = None) -> None:
        place = ("--namespace", NAMESPACE, "--kubeconfig", self._kubeconfig)
        limit = ("--timeout", f"{ROLLOUT_S:.0f}s")
        done = helm(*words, *place, *limit, values=values, timeout_s=ROLLOUT_S + 10)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
