"""A whole single-node cluster in namespaces of its own, which leaves nothing behind.

From outside it is a `ControlPlane` that someone else started: its API server is reached through a
pair of network interfaces. Names and addresses are its own, so that several can run at a time.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from secrets import token_hex
from typing import Any

from tests.cluster import children
from tests.cluster.controlplane import USERS, ControlPlane
from tests.logbook import wait_for
from tests.node import cgroups
from tests.node.archive import write_busybox
from tests.node.inside import INTERFACE, READY
from tests.node.parts import CONTAINERD_SOCKET, PAUSE
from tools.cluster import CONTROLPLANE, KUBELET

START_S = 120.0
"""How long it may take; on an idle machine, eight seconds."""
NAMESPACES = (
    *("--mount", "--net", "--pid", "--uts", "--ipc"),
    *("--fork", "--mount-proc", "--kill-child"),
)


class Node:
    """Start it with `Node.start`; as a context manager it stops at the end."""

    def __init__(self, directory: Path, process: subprocess.Popen[bytes], cgroup: str) -> None:
        self.directory = directory
        self._process = process
        self._cgroup = cgroup
        self.cluster = ControlPlane.attach(directory)

    @classmethod
    def start(cls, directory: Path, archives: Sequence[Path] = ()) -> Node:
        """A node that is ready and has these images, and busybox."""
        cgroups.remove_left_behind()
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        address, outer = _addresses()
        cgroup = cgroups.make()
        busybox = directory / "busybox.tar"
        write_busybox(busybox, PAUSE)
        facts: dict[str, Any] = {
            "programs": str(CONTROLPLANE.find()),
            "kubelet_programs": str(KUBELET.find()),
            "url": f"https://{address}:443",
            "address": address,
            "etcd": 2379,
            "etcd_peer": 2380,
            "api": 443,
            "audit": True,
            "tokens": {user: token_hex(16) for user in USERS},
            "archives": [str(busybox), *map(str, archives)],
            "cgroup": cgroup,
            "interface": f"kron{token_hex(4)}",
        }
        ControlPlane(directory, facts).write_facts()
        words = ["unshare", *NAMESPACES, sys.executable, "-m", "tests.node.inside", str(directory)]
        process = children.start(words, directory / "inside.log", _environment())
        node = cls(directory, process, cgroup)
        try:
            node._connect(facts["interface"], outer)
            node._wait_for((directory / READY).exists, "is ready")
            return node
        except BaseException:
            node.stop()
            raise

    def __enter__(self) -> Node:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End everything at once; only logs stay. Idempotent."""
        self.cluster.detach()
        children.stop(self._process)
        cgroups.remove(self._cgroup)
        for data in ("etcd", "var-lib"):
            shutil.rmtree(self.directory / data, ignore_errors=True)

    @property
    def pid(self) -> int:
        """Process 1 of the node, by its number out here."""
        parent = self._process.pid
        text = Path(f"/proc/{parent}/task/{parent}/children").read_text()
        return int(text) if text else 0

    def tag(self, image: str, tag: str) -> str:
        """Give an image another tag: its name with that."""
        [found] = [name for name in self._ctr("list", "--quiet") if name.endswith(f"/{image}")][:1]
        self._ctr("tag", "--force", found, f"{found.rpartition(':')[0]}:{tag}")
        return f"{image.rpartition(':')[0]}:{tag}"

    def _ctr(self, *words: str) -> list[str]:
        """`ctr images`: the lines of its answer."""
        socket = f"/proc/{self.pid}/root{CONTAINERD_SOCKET}"
        command = ["ctr", "--address", socket, "--namespace", "k8s.io", "images", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    def _connect(self, name: str, outer: str) -> None:
        """A pair of interfaces. It goes away with the namespace that its other end is in."""
        self._wait_for(lambda: self.pid, "has begun")
        pair = f"{name} type veth peer name {INTERFACE} netns {self.pid}"
        for words in (
            f"link add {pair}",
            f"address add {outer}/30 dev {name}",
            f"link set {name} up",
        ):
            subprocess.run(["ip", *words.split()], check=True)

    def _wait_for(self, look: Callable[[], object], what: str) -> None:
        def is_so() -> bool:
            if self._process.poll() is not None:
                said = (self.directory / "inside.log").read_text(errors="replace")
                raise AssertionError(f"the node ended: ...{said[-4000:]}")
            return bool(look())

        wait_for(is_so, f"the node {what}", START_S)


def _environment() -> dict[str, str]:
    """Nothing of the caller's, above all no proxy."""
    root = Path(__file__).parent.parent.parent
    return {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "PYTHONPATH": str(root),
    }


def _addresses() -> tuple[str, str]:
    """The inner and the outer address of a network of two, that no route here leads to yet."""
    routes = subprocess.run(
        ["ip", "-4", "route"], capture_output=True, text=True, check=True
    ).stdout
    choice = random.SystemRandom()
    while True:
        first = f"100.{choice.randrange(64, 128)}.{choice.randrange(256)}"
        if f"{first}." not in routes:
            return f"{first}.2", f"{first}.1"
