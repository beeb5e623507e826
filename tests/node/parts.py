"""What the parts of a node, and of a control plane whose Pods really run, are told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cluster.parts import TUNED, shared_api_options

PLUGINS = Path("/usr/lib/cni")
"""Where Debian's containernetworking-plugins are."""
SERVICE_ADDRESS = "10.0.0.1"
"""Where Pods find the API server: the first address of its service range."""
PAUSE = "pause:tests"
CONTAINERD_ROOT = "/var/lib/containerd"
CONTAINERD_SOCKET = "/run/containerd/containerd.sock"
"""Of the namespace: a path in pytest's directory may be longer than the 108 bytes of a socket."""
NAME = "node"


def api_options(directory: Path, facts: dict[str, Any]) -> list[str]:
    """On every address of the namespace: the service's, which Pods use, and the outer one."""
    return [
        *shared_api_options(directory, facts),
        "--bind-address=0.0.0.0",
        f"--advertise-address={facts['address']}",
        "--kubelet-preferred-address-types=InternalIP",
    ]


def controllers_options(directory: Path, kubeconfig: str) -> list[str]:
    """All controllers that there are by default: Deployments, service accounts, and so on."""
    return [
        f"--kubeconfig={kubeconfig}",
        "--leader-elect=false",
        "--secure-port=0",
        f"--root-ca-file={directory}/certificates/apiserver.crt",
        f"--service-account-private-key-file={directory}/service-account.key",
        *TUNED,
    ]


def scheduler_options(kubeconfig: str) -> list[str]:
    """Alone."""
    return [f"--kubeconfig={kubeconfig}", "--leader-elect=false", "--secure-port=0"]


def containerd_settings(directory: Path) -> str:
    """Its own places are those of the namespace; JSON words are TOML words."""
    cri = 'plugins."io.containerd.grpc.v1.cri"'
    return f"""
version = 2
root = "{CONTAINERD_ROOT}"
state = "/run/containerd"
[grpc]
address = "{CONTAINERD_SOCKET}"
[{cri}]
sandbox_image = "{PAUSE}"
disable_apparmor = true
# Where CAP_SYS_RESOURCE is missing, a lower score of a sandbox is refused, and none starts.
restrict_oom_score_adj = true
[{cri}.cni]
bin_dir = "{PLUGINS}"
conf_dir = {json.dumps(f"{directory}/cni")}
"""


def network_settings() -> str:
    """A bridge for the Pods. They reach the API server and each other, and nothing else."""
    bridge = {
        "type": "bridge",
        "bridge": "pods",
        "isGateway": True,
        "ipMasq": False,
        "ipam": {
            "type": "host-local",
            "ranges": [[{"subnet": "10.244.0.0/24"}]],
            "routes": [{"dst": "0.0.0.0/0"}],
            "dataDir": "/run/cni",
        },
    }
    return json.dumps({"cniVersion": "0.4.0", "name": "pods", "plugins": [bridge]})


def kubelet_settings(cgroup: str) -> str:
    """Cgroups of version 1 below one of our own; no eviction, no firewall, no name server."""
    settings = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "containerRuntimeEndpoint": f"unix://{CONTAINERD_SOCKET}",
        "failCgroupV1": False,
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{cgroup}",
        "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
        "authorization": {"mode": "AlwaysAllow"},
        "makeIPTablesUtilChains": False,
        "failSwapOn": False,
        "localStorageCapacityIsolation": False,
        "resolvConf": "",
        "oomScoreAdj": 0,
        "evictionHard": {
            "memory.available": "100Mi",
            "nodefs.available": "0%",
            "nodefs.inodesFree": "0%",
            "imagefs.available": "0%",
            "imagefs.inodesFree": "0%",
        },
    }
    return json.dumps(settings)


def kubelet_options(directory: Path, kubeconfig: str, address: str) -> list[str]:
    """Its other files are in /var/lib, which is the namespace's own."""
    return [
        f"--config={directory}/kubelet.json",
        f"--kubeconfig={kubeconfig}",
        f"--cert-dir={directory}/kubelet-certificates",
        f"--hostname-override={NAME}",
        f"--node-ip={address}",
    ]
