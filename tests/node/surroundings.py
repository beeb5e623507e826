"""Whether a node can run on this machine: one line that says why not."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache

from tests.node import cgroups
from tests.node.parts import PLUGINS
from tools.cache import UnavailableError
from tools.cluster import CONTROLPLANE, KUBELET

PACKAGES = {
    "buildah": "buildah",
    "busybox": "busybox-static",
    "containerd": "containerd",
    "ip": "iproute2",
    "mmdebstrap": "mmdebstrap",
    "runc": "runc",
    "unshare": "util-linux",
}
"""The packages of Debian that have the programs."""


@cache
def why_no_node() -> str:
    """'' if it can."""
    if os.geteuid() != 0:
        return "a node needs root"
    missing = [package for program, package in PACKAGES.items() if shutil.which(program) is None]
    if not (PLUGINS / "bridge").exists():
        missing.append("containernetworking-plugins")
    if missing:
        return f"a node needs these packages: {' '.join(missing)}"
    if not cgroups.hierarchies():
        return "a node needs cgroups of version 1, and this machine has only those of version 2"
    if said := _refused_namespaces():
        return f"a node needs namespaces, and: {said}"
    try:
        CONTROLPLANE.find()
        KUBELET.find()
    except UnavailableError as error:
        return str(error)
    return ""


def _refused_namespaces() -> str:
    """Why there are none: a container inside which there may be no other."""
    words = ["unshare", "--mount", "--net", "--pid", "--uts", "--ipc", "--fork", "--mount-proc"]
    inside = "mount -t tmpfs node /run && ip link add one type veth && ip link add two type bridge"
    done = subprocess.run([*words, "sh", "-c", inside], capture_output=True, text=True, check=False)
    return done.stderr.strip().splitlines()[-1] if done.returncode else ""
