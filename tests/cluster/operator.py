"""A real kron-operator process: started, asked, stopped, killed, paused, and its log read.

It looks at one namespace only (or those it is told), and its lease is there too, so that many of
them work beside each other in one cluster.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError, URLError

from tests.cluster import children
from tests.cluster.controlplane import ControlPlane
from tests.cluster.ports import free_ports
from tests.logbook import PATIENCE_S, Logbook, wait_for

LEASE = "kron-operator"

_SAMPLE = re.compile(r"^([a-zA-Z_:][\w:]*(?:\{.*\})?) (\S+)", re.MULTILINE)


class Operator(Logbook):
    """One replica. It is a context manager: whatever still runs at the end is killed."""

    def __init__(
        self,
        cluster: ControlPlane,
        namespace: str,
        directory: Path,
        *,
        identity: str = "a",
        kubeconfig: str | None = None,
        namespaces: tuple[str, ...] | None = None,
    ) -> None:
        """`kubeconfig`: as whom, the administrator without it. `namespaces`: where it looks for
        KronJobs, only in its own without it, everywhere with ()."""
        self.cluster = cluster
        self.namespace = namespace
        self.namespaces = (namespace,) if namespaces is None else namespaces
        self.identity = identity
        self.kubeconfig = kubeconfig or cluster.kubeconfig()
        directory.mkdir(parents=True, exist_ok=True)
        self.log = self.output = directory / f"operator-{identity}.log"
        self.port = free_ports(1)[0]
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Operator:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    # The process

    def words(self, *options: str) -> list[str]:
        """Its command line."""
        return [
            *(sys.executable, "-m", "kron.kube.operator", "run"),
            *("--kubeconfig", self.kubeconfig),
            *(word for name in self.namespaces for word in ("--namespace", name)),
            *("--lease-namespace", self.namespace, "--lease-name", LEASE),
            *("--identity", self.identity, "--http", f"127.0.0.1:{self.port}"),
            *("--peer-address", f"127.0.0.1:{self.port}"),
            *("--log-format", "json", *options),
        ]

    def start(self, *options: str) -> Operator:
        """Start it and wait until it is ready, as leader or as one who waits for that."""
        self.launch(*options)
        self.wait_until_ready()
        return self

    def launch(self, *options: str, environment: dict[str, str] | None = None) -> Operator:
        """Start it, whatever becomes of it."""
        assert self.process is None, "one process at a time"
        variables = {**os.environ, "KUBECONFIG": "/nonexistent", **(environment or {})}
        self.process = children.start(self.words(*options), self.output, variables)
        return self

    def wait_until_ready(self, patience_s: float = PATIENCE_S) -> None:
        """Wait for /readyz."""
        self._wait_for(lambda: self.http("/readyz")[0] == 200, "is ready", patience_s)

    def wait_until_leading(self, patience_s: float = PATIENCE_S) -> None:
        """Wait until the lease names this replica."""
        self._wait_for(lambda: self.holder() == self.identity, "leads", patience_s)

    def kill(self) -> None:
        """SIGKILL, if it is there."""
        if self.process is not None:
            children.stop(self.process)
            self.process = None

    def stop(self, patience_s: float = PATIENCE_S) -> int:
        """SIGTERM: its exit code. It must end by itself."""
        assert self.process is not None
        self.process.terminate()
        return self.wait(patience_s)

    def wait(self, patience_s: float = PATIENCE_S) -> int:
        """Wait until it ends by itself: its exit code."""
        assert self.process is not None
        code = self.process.wait(patience_s)
        self.process = None
        return code

    def pause(self) -> None:
        """SIGSTOP: its clock runs on, it does not."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT."""
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    # What it says

    def said(self) -> str:
        """All that it wrote, of all its processes so far."""
        return self.output.read_text(errors="replace") if self.output.exists() else ""

    def http(self, path: str) -> tuple[int, str]:
        """GET: the status and the text; (0, why) if nobody answers."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except HTTPError as error:
            with error:
                return error.code, error.read().decode(errors="replace")
        except (URLError, OSError) as error:
            return 0, str(error)

    def metrics(self) -> dict[str, float]:
        """The samples of /metrics by name and labels, as they are written."""
        status, text = self.http("/metrics")
        assert status == 200, text
        return {sample: float(value) for sample, value in _SAMPLE.findall(text)}

    def holder(self) -> str:
        """Who holds the lease, '' for nobody."""
        lease = self.cluster.api().find("leases", self.namespace, LEASE) or {}
        name: str = lease.get("spec", {}).get("holderIdentity") or ""
        return name

    def memory_bytes(self) -> int:
        """What the process has resident."""
        assert self.process is not None
        statm = Path(f"/proc/{self.process.pid}/statm").read_text()
        return int(statm.split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def _wait_for(self, is_so: Callable[[], bool], what: str, patience_s: float) -> None:
        process = self.process
        assert process is not None

        def look() -> bool:
            if process.poll() is not None:
                raise AssertionError(f"{self.identity} ended ({process.returncode}): {self.said()}")
            return is_so()

        wait_for(look, f"{self.identity} {what}", patience_s)


@contextmanager
def replicas(
    cluster: ControlPlane, namespace: str, directory: Path, count: int = 2
) -> Iterator[list[Operator]]:
    """Several of them, not started yet, that share one lease."""
    made = [
        Operator(cluster, namespace, directory, identity=chr(ord("a") + number))
        for number in range(count)
    ]
    try:
        yield made
    finally:
        for operator in made:
            operator.kill()
