"""Process 1 of a node: it has namespaces of its own, and starts everything else in them.

Whatever ends it ends all of them, Pods included: mounts, network and processes go with the
namespaces. `Node` starts it and gives it its network interface.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from functools import partial
from pathlib import Path

from tests.cluster.controlplane import ControlPlane
from tests.logbook import wait_for
from tests.node import parts

READY = "ready"
"""The file that says so."""
INTERFACE = "outside"
"""The end of the pair that is in here."""
_STARTS_S = 60.0
_OVERLAID = ("/var/log", "/var/lib")


class Inside(ControlPlane):
    """The control plane, and the node."""

    def api_options(self) -> list[str]:
        return parts.api_options(self.directory, self._facts)

    def controllers_options(self) -> list[str]:
        kubeconfig = self.kubeconfig("kube-controller-manager")
        return parts.controllers_options(self.directory, kubeconfig)

    def start_everything(self) -> None:
        """Returns when Pods can run."""
        self._mount()
        self._connect()
        self._launch_containerd()
        self.start_etcd()
        self.start_api()
        self.start_controllers()
        kubeconfig = self.kubeconfig()
        kubernetes = Path(self._facts["kubelet_programs"])
        scheduler = [str(kubernetes / "kube-scheduler"), *parts.scheduler_options(kubeconfig)]
        self._launch("kube-scheduler", scheduler)
        self._wait_for("containerd", Path(parts.CONTAINERD_SOCKET).exists)
        self._import_images()
        options = parts.kubelet_options(self.directory, kubeconfig, self._facts["address"])
        self._launch("kubelet", [str(kubernetes / "kubelet"), *options])
        self._wait_for("kubelet", self._has_ready_node)

    def watch_over(self) -> None:
        """Reap what Pods leave behind; returns when a part has ended, which none should."""
        names = {process.pid: name for name, process in self._processes.items()}
        while (ended := os.waitpid(-1, 0))[0] not in names:
            pass
        print(f"{names[ended[0]]} ended with status {ended[1]}", flush=True)

    def _mount(self) -> None:
        """Own places for what would else be written to the machine's."""
        _run("mount", "--make-rshared", "/")
        _run("mount", "-t", "tmpfs", "node", "/run")
        for path in _OVERLAID:
            own = self.directory / path.strip("/").replace("/", "-")
            own.mkdir()
            _run("mount", "--bind", str(own), path)
        Path(parts.CONTAINERD_ROOT).mkdir()
        _run("mount", "-t", "tmpfs", "node", parts.CONTAINERD_ROOT)

    def _connect(self) -> None:
        """The network of this namespace; the service's address instead of a kube-proxy."""
        wait_for(lambda: INTERFACE in (name for _, name in socket.if_nameindex()), INTERFACE)
        _run("ip", "link", "set", "lo", "up")
        _run("ip", "address", "add", f"{parts.SERVICE_ADDRESS}/32", "dev", "lo")
        _run("ip", "address", "add", f"{self._facts['address']}/30", "dev", INTERFACE)
        _run("ip", "link", "set", INTERFACE, "up")
        Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
        (self.directory / "cni").mkdir()
        (self.directory / "cni/pods.conflist").write_text(parts.network_settings())

    def _launch_containerd(self) -> None:
        settings = self.directory / "containerd.toml"
        settings.write_text(parts.containerd_settings(self.directory))
        kubelet = parts.kubelet_settings(self._facts["cgroup"])
        (self.directory / "kubelet.json").write_text(kubelet)
        self._launch("containerd", ["containerd", "--config", str(settings)])

    def _import_images(self) -> None:
        for archive in self._facts["archives"]:
            wait_for(partial(self._ctr, "images", "import", archive), archive, _STARTS_S)

    def _ctr(self, *words: str) -> bool:
        command = ["ctr", "--address", parts.CONTAINERD_SOCKET, "--namespace", "k8s.io", *words]
        return subprocess.run(command, check=False).returncode == 0

    def _has_ready_node(self) -> bool:
        return any(
            condition["type"] == "Ready" and condition["status"] == "True"
            for node in self.api().list("nodes")
            for condition in node["status"].get("conditions", ())
        )

    def _environment(self) -> dict[str, str]:
        return super()._environment() | {"PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"}


def _run(*words: str) -> None:
    subprocess.run(words, check=True)


def main(directory: Path) -> int:
    """Start, say so, and stay."""
    inside = Inside(directory, json.loads((directory / "controlplane.json").read_text()))
    inside.start_everything()
    (directory / READY).touch()
    inside.watch_over()
    return 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
