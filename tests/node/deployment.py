"""kron-operator on the node, from our manifests as they are: deployed, and its Pods found."""

from __future__ import annotations

import os
import signal
from io import BytesIO
from pathlib import Path

from kron.logs.replay import Replay
from tests.cluster.api import Object
from tests.cluster.controlplane import ROOT
from tests.logbook import wait_for
from tests.node.node import Node

NAMESPACE = "kron-system"
NAME = "kron-operator"
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:{NAME}"
MANIFESTS = ROOT / "deploy/kubernetes"
ROLLOUT_S = 90.0


class Deployment:
    """That of one node."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._api = node.cluster.api()

    def apply(self, layout: Path = MANIFESTS) -> None:
        """`kubectl apply -k`, then `wait_for_rollout`."""
        self.kubectl("apply", "-k", str(layout))
        self.wait_for_rollout()

    def remove(self, layout: Path = MANIFESTS) -> None:
        """`kubectl delete -k`: everything that `apply` has made, if it has, and all KronJobs."""
        self.kubectl("delete", "-k", str(layout), "--ignore-not-found")

    def kubectl(self, *words: str) -> str:
        """`kubectl <words>`, which has to work: what it says."""
        done = self._node.cluster.kubectl(*words, timeout_s=ROLLOUT_S + 10)
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout

    def wait_for_rollout(self) -> None:
        """Until all replicas are of the newest template and ready, and no other Pod is left.

        `kubectl rollout status` does not count Pods that are being deleted. Their containers may
        still run, as the same account.
        """
        self.kubectl(
            *("rollout", "status", "-n", NAMESPACE, f"deployment/{NAME}"),
            f"--timeout={ROLLOUT_S:.0f}s",
        )
        wait_for(self._are_all_kept, "older Pods are gone", ROLLOUT_S)

    def wait_until_gone(self) -> None:
        """Until none of its Pods exists, not even one that is being deleted."""
        wait_for(lambda: not self._all_pods(), "all Pods are gone", ROLLOUT_S)

    def set_image(self, image: str) -> None:
        """Begin a rolling upgrade to that image."""
        self.kubectl("set", "image", "-n", NAMESPACE, f"deployment/{NAME}", f"operator={image}")

    def pods(self) -> list[Object]:
        """Those that are not being deleted, by name."""
        return list(filter(_is_kept, self._all_pods()))

    def leader(self) -> Object:
        """Wait until one of them holds the lease: that one."""
        return wait_for(self._leader, "a Pod leads", 60.0)

    def wait_for_another_leader(self, than: Object) -> Object:
        """Wait until another Pod holds the lease."""
        old = than["metadata"]["uid"]

        def look() -> Object | None:
            leader = self._leader()
            return leader if leader and leader["metadata"]["uid"] != old else None

        return wait_for(look, "another Pod leads", 60.0)

    def delete(self, pod: Object) -> None:
        """Ask for its deletion, as a drain does."""
        self._api.delete("pods", NAMESPACE, pod["metadata"]["name"])

    def signal(self, pod: Object, number: signal.Signals) -> None:
        """Send a signal to the process of its container."""
        os.kill(process_of(pod), number)

    def wait_for_restart(self, pod: Object) -> None:
        """Wait until its container was started again, and is ready."""
        name = pod["metadata"]["name"]

        def look() -> bool:
            status = self._api.get("pods", NAMESPACE, name)["status"]
            [container] = status["containerStatuses"]
            return bool(container["restartCount"] and container["ready"])

        wait_for(look, f"{name} was started again", ROLLOUT_S)

    def execute(self, pod: Object, *words: str) -> str:
        """Run something in its container: what it says."""
        return self.kubectl("exec", "-n", NAMESPACE, pod["metadata"]["name"], "--", *words)

    def check_logs(self) -> None:
        """Every decision in the logs of the Pods replays."""
        for pod in self.pods():
            log = self.kubectl("logs", "-n", NAMESPACE, pod["metadata"]["name"])
            assert list(Replay(BytesIO(log.encode()))) == []

    def _all_pods(self) -> list[Object]:
        found = self._api.list("pods", NAMESPACE, f"app.kubernetes.io/name={NAME}")
        return sorted(found, key=lambda pod: str(pod["metadata"]["name"]))

    def _are_all_kept(self) -> bool:
        return all(map(_is_kept, self._all_pods()))

    def _leader(self) -> Object | None:
        lease = self._api.find("leases", NAMESPACE, NAME) or {}
        holder = lease.get("spec", {}).get("holderIdentity") or ""
        for pod in self.pods():
            if holder.endswith(f"_{pod['metadata']['uid']}"):
                return pod
        return None


def _is_kept(pod: Object) -> bool:
    return "deletionTimestamp" not in pod["metadata"]


def process_of(pod: Object) -> int:
    """The number, out here, of the process that runs in its container."""
    wanted = f"POD_UID={pod['metadata']['uid']}".encode()
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (directory / "environ").read_bytes().split(b"\0"):
                return int(directory.name)
        except OSError:  # it has ended meanwhile
            continue
    raise AssertionError(f"no process of {pod['metadata']['name']}")
