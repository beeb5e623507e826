"""The Kubernetes programs that tests run: a control plane, what a node needs besides, and Helm.

`make cluster` builds them from three Go modules, each once. They are apart so that a change of one
does not build the others again: the control plane alone takes nine minutes.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tools.cache import UnavailableError
from tools.programs import Programs

_TESTS = Path(__file__).parent.parent / "tests"
CONTROLPLANE = Programs(
    title="the control plane",
    module=_TESTS / "cluster/controlplane",
    packages={
        "etcd": "go.etcd.io/etcd/server/v3",
        "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
        "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
        "kubectl": "k8s.io/kubernetes/cmd/kubectl",
    },
    override="KRON_CONTROLPLANE",
    hint="run 'make cluster' (once; about nine minutes, needs Go)",
    takes="about nine minutes on two cores (1.1 GB of Go modules first)",
)
KUBELET = Programs(
    title="the kubelet",
    module=_TESTS / "node/kubelet",
    packages={
        "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
        "kubelet": "k8s.io/kubernetes/cmd/kubelet",
    },
    override="KRON_KUBELET",
    hint="run 'make cluster' (once; about two minutes after the control plane, needs Go)",
    takes="about two minutes on two cores after the control plane",
)
HELM = Programs(
    title="Helm",
    module=_TESTS / "node/helm",
    packages={"helm": "helm.sh/helm/v3/cmd/helm"},
    override="KRON_HELM",
    hint="run 'make cluster' (once; about a minute after the control plane, needs Go)",
    takes="about a minute on two cores after the control plane",
)
ALL = (CONTROLPLANE, KUBELET, HELM)


def main(words: Sequence[str] = ()) -> int:
    """`make cluster`."""
    try:
        for programs in ALL:
            programs.build()
            print(f"cluster: {programs.title} is built, in {programs.find()}", flush=True)
    except UnavailableError as error:
        print(f"cluster: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(
            "\ncluster: interrupted; the next time goes on from Go's build cache", file=sys.stderr
        )
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
