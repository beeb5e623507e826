"""kron-operator on the node, from our chart: the same names as from the manifests.

So all that `Deployment` says of Pods and of the leader holds for it too.
"""

from __future__ import annotations

from tests.helm import CHART, Values, helm
from tests.node.deployment import NAME, NAMESPACE, ROLLOUT_S, Deployment
from tests.node.node import Node


class Release:
    """That of one node, in a namespace whose Pod security is restricted."""

    def __init__(self, node: Node) -> None:
        self._kubeconfig = node.cluster.kubeconfig()
        self.deployment = Deployment(node)

    def install(self, values: Values) -> None:
        """`helm install`, until all replicas are ready."""
        self._helm("install", NAME, str(CHART), "--wait", values=values)
        self.deployment.wait_for_rollout()

    def upgrade(self, values: Values) -> None:
        """`helm upgrade` with these values and no others, until only replicas of these are left.

        `--wait` looks at how many of the new ReplicaSet are ready: older Pods may still be there.
        """
        self._helm("upgrade", NAME, str(CHART), "--wait", values=values)
        self.deployment.wait_for_rollout()

    def roll_back(self) -> None:
        """`helm rollback` to the revision before this one, until only its replicas are left."""
        self._helm("rollback", NAME, "--wait")
        self.deployment.wait_for_rollout()

    def uninstall(self) -> None:
        """`helm uninstall`, if there is a release, until its objects and its Pods are gone.

        `--wait` waits for the objects of the chart: their Pods may be deleted later.
        """
        self._helm("uninstall", NAME, "--wait", "--ignore-not-found")
        self.deployment.wait_until_gone()

    def _helm(self, *words: str, values: Values | None = None) -> None:
        place = ("--namespace", NAMESPACE, "--kubeconfig", self._kubeconfig)
        limit = ("--timeout", f"{ROLLOUT_S:.0f}s")
        done = helm(*words, *place, *limit, values=values, timeout_s=ROLLOUT_S + 10)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
