"""The node itself: Pods really run on it, and nothing of it stays, however it ends."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

from tests.cluster.controlplane import ROOT
from tests.cluster.kronjobs import is_finished
from tests.logbook import wait_for
from tests.node import cgroups
from tests.node.archive import BUSYBOX
from tests.node.node import Node

STARTS_ONE = """
import sys, time
from pathlib import Path
from tests.node.node import Node
node = Node.start(Path(sys.argv[1]))
print(node.pid, flush=True)
time.sleep(600)
"""


def test_a_job_runs_and_its_log_can_be_read(node: Node) -> None:
    api = node.cluster.api()
    run = {"name": "run", "image": BUSYBOX, "command": ["sh", "-c", "echo $((6 * 7))"]}
    pod = {"restartPolicy": "Never", "containers": [run]}
    job = {"metadata": {"name": "answer"}, "spec": {"template": {"spec": pod}}}
    api.create("jobs", "default", job)
    wait_for(lambda: is_finished(api.get("jobs", "default", "answer")), "it has finished", 60.0)
    assert node.cluster.kubectl("logs", "job/answer").stdout == "42\n"


def test_a_killed_owner_leaves_nothing(tmp_path: Path) -> None:
    words = [sys.executable, "-c", STARTS_ONE, str(tmp_path / "node")]
    owner = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert owner.stdout is not None
        first = int(owner.stdout.readline())
        facts = json.loads((tmp_path / "node/controlplane.json").read_text())
        assert facts["interface"] in interfaces()
    finally:
        owner.kill()
        owner.communicate()
    wait_for(lambda: not Path(f"/proc/{first}").exists(), "its process 1 is gone")
    wait_for(lambda: facts["interface"] not in interfaces(), "its network is gone")
    assert str(tmp_path) not in Path("/proc/self/mounts").read_text()
    assert left_behind(facts["cgroup"])
    cgroups.remove_left_behind()
    assert not left_behind(facts["cgroup"])


def interfaces() -> list[str]:
    return [name for _, name in socket.if_nameindex()]


def left_behind(cgroup: str) -> list[Path]:
    return list(cgroups.ROOT.glob(f"*/{cgroup}"))
