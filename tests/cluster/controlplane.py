"""A real Kubernetes control plane on loopback addresses, in a directory of its own.

etcd, the API server (RBAC and audit on), the controller manager with the controllers that Jobs
need, and a stand-in for the kubelet. They die with the thread that started them. Whoever did not
start it can use it too (`ControlPlane.attach`), but not stop and start its parts.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from secrets import token_hex
from typing import Any

from kron.kube.resource.schema.definition import definition
from tests.cluster import children
from tests.cluster.api import Api, RefusedError
from tests.cluster.audit import POLICY, Request, read_audit
from tests.cluster.parts import (
    api_options,
    controllers_options,
    etcd_options,
    kubeconfig_text,
    write,
)
from tests.cluster.ports import free_ports, is_listening
from tests.cluster.tokens import mint, signing_key
from tests.logbook import wait_for
from tools.cluster import CONTROLPLANE

ROOT = Path(__file__).parent.parent.parent
USERS = {
    "admin": "system:masters",
    "kube-controller-manager": "system:masters",
    "kubelet": "system:masters",
    "nobody": "",
}
"""Users with a token for ever, and their groups. For another: `ControlPlane.kubeconfig_with`."""
START_S = 60.0
"""How long a part may take to start; on an idle machine all of them take three seconds."""
_ATTEMPTS = 5


class _PortTakenError(Exception):
    """Somebody else has bound a port between our choice and our use of it."""


class ControlPlane:
    """Start it with `ControlPlane.start`, or use a running one with `ControlPlane.attach`."""

    def __init__(self, directory: Path, facts: dict[str, Any]) -> None:
        self.directory = directory
        self.programs = Path(facts["programs"])
        self.url: str = facts["url"]
        self._facts = facts
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._apis: dict[str, Api] = {}
        self.ca = str(directory / "certificates/apiserver.crt")
        self.audit_log = directory / "audit.log"

    @classmethod
    def start(
        cls, directory: Path, *, tuned: bool = False, audit: bool = True, kubelet: bool = True
    ) -> ControlPlane:
        """All parts, ready; the KronJob resource is defined.

        `tuned`: the controller manager with the flags of the benchmark's peer, else its defaults
        (20 requests a second for each controller).
        """
        programs = CONTROLPLANE.find()
        for _ in range(_ATTEMPTS):
            shutil.rmtree(directory, ignore_errors=True)
            directory.mkdir(parents=True)
            made = cls(directory, _facts(programs, tuned, audit, kubelet))
            try:
                made.write_facts()
                made._start_all()
                return made
            except _PortTakenError:
                made.stop()
            except BaseException:
                made.stop(keep_logs=True)
                raise
        raise AssertionError(f"no free ports in {_ATTEMPTS} attempts")

    @classmethod
    def attach(cls, directory: Path) -> ControlPlane:
        """The one that somebody else has started there."""
        return cls(directory, json.loads((directory / "controlplane.json").read_text()))

    def __enter__(self) -> ControlPlane:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    # Its parts

    def stop(self, *, keep_logs: bool = False) -> None:
        """End every part that was started here and remove the data; idempotent."""
        self.detach()
        for name in reversed(list(self._processes)):
            self._end(name)
        shutil.rmtree(self.directory / "etcd", ignore_errors=True)
        if not keep_logs:
            shutil.rmtree(self.directory, ignore_errors=True)

    def detach(self) -> None:
        """Close the connections of this object."""
        while self._apis:
            self._apis.popitem()[1].close()

    def stop_api(self, *, patience_s: float = 0.0) -> None:
        """Kill the API server, or let it finish what it is at for so long."""
        self._end("kube-apiserver", patience_s)

    def start_api(self) -> None:
        """Start it on the same port with the same data; returns when it is ready."""
        self._start("kube-apiserver", *self.api_options())
        self._wait_for("kube-apiserver", self._is_ready)

    def stop_etcd(self) -> None:
        """Kill etcd; its data stays."""
        self._end("etcd")

    def start_etcd(self) -> None:
        """Start it with the data that it had."""
        self._start("etcd", *etcd_options(self.directory, self._facts))
        self._wait_for("etcd", lambda: is_listening(self._facts["etcd"]))

    def stop_controllers(self) -> None:
        """Kill the controller manager: Jobs make no Pods, nothing is collected."""
        self._end("kube-controller-manager")

    def start_controllers(self) -> None:
        """Start the controller manager; returns at once, it works after a second or so."""
        self._start("kube-controller-manager", *self.controllers_options())

    def stop_kubelet(self) -> None:
        """Kill the stand-in for the kubelet: Pods stay as they are."""
        self._end("kubelet")

    def start_kubelet(self) -> None:
        """Start it; it looks at every Pod anew."""
        words = [sys.executable, "-m", "tests.cluster.kubelet", str(self.directory)]
        self._launch("kubelet", words)

    def api_options(self) -> list[str]:
        """What the API server is told."""
        return api_options(self.directory, self._facts)

    def controllers_options(self) -> list[str]:
        """What the controller manager is told."""
        return controllers_options(self.kubeconfig("kube-controller-manager"), self._facts)

    def pid(self, part: str) -> int:
        """The process of a part: etcd, kube-apiserver, kube-controller-manager or kubelet."""
        return self._processes[part].pid

    def log(self, part: str) -> str:
        """What a part has said so far."""
        return (self.directory / f"{part}.log").read_text(errors="replace")

    # Its users

    def api(self, user: str = "admin") -> Api:
        """Requests as a user; the same object every time, so not for other threads."""
        if user not in self._apis:
            self._apis[user] = Api(self.url, self.token(user), self.ca)
        return self._apis[user]

    def token(self, user: str = "admin") -> str:
        """The token of one of USERS."""
        token: str = self._facts["tokens"][user]
        return token

    def kubeconfig(self, user: str = "admin", namespace: str = "default") -> str:
        """The path of a kubeconfig file for one of USERS."""
        name = f"{user}.{namespace}.kubeconfig"
        return self.kubeconfig_with({"token": self.token(user)}, name, namespace)

    def kubeconfig_with(
        self, user: dict[str, Any], file_name: str, namespace: str = "default"
    ) -> str:
        """The same for any kind of user: {"token": ...}, {"tokenFile": ...}, {"exec": ...}."""
        path = self.directory / file_name
        write(path, kubeconfig_text(self.url, self.ca, user, namespace))
        return str(path)

    def token_for_service_account(self, namespace: str, name: str, lifetime_s: int = 3600) -> str:
        """A token, from the API server; one for less than ten minutes is signed here instead."""
        if lifetime_s < 600:
            account = self.api().get("serviceaccounts", namespace, name)
            key = self.directory / "service-account.key"
            return mint(key, namespace, name, account["metadata"]["uid"], lifetime_s)
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        request = {"spec": {"expirationSeconds": lifetime_s}}
        token: str = self.api().request("POST", path, request)["status"]["token"]
        return token

    def kubectl(
        self,
        *words: str,
        input: str = "",  # noqa: A002 (as subprocess.run has it)
        user: str = "admin",
        timeout_s: float = 60.0,
    ) -> subprocess.CompletedProcess[str]:
        """`kubectl <words>` as that user, to its end, whatever that is."""
        return subprocess.run(
            [str(self.programs / "kubectl"), f"--kubeconfig={self.kubeconfig(user)}", *words],
            input=input,
            capture_output=True,
            text=True,
            env=self._environment(),
            timeout=timeout_s,
            check=False,
        )

    def audit(self, containing: str = "") -> list[Request]:
        """Every request so far; `containing` (a namespace's name, say) saves reading the others."""
        self._wait_for_audit()
        return read_audit(self.audit_log, containing)

    # Inside

    def _wait_for_audit(self) -> None:
        """Make a request and wait until it is logged: those before it are logged by then."""
        if not self._facts["audit"]:
            return
        marker = token_hex(8)
        size = self.audit_log.stat().st_size
        try:
            self.api().request("GET", f"/version?marker={marker}")
        except OSError:  # it is stopped, and will not log any more
            return

        def is_logged() -> bool:
            with self.audit_log.open("rb") as log:
                log.seek(size)
                return marker.encode() in log.read()

        wait_for(is_logged, "the audit log has it")

    def write_facts(self) -> None:
        """The files that the parts read, and those who attach."""
        write(self.directory / "controlplane.json", json.dumps(self._facts))
        write(self.directory / "service-account.key", signing_key())
        write(self.directory / "audit-policy.yaml", json.dumps(POLICY))
        tokens = self._facts["tokens"]
        write(
            self.directory / "tokens.csv",
            "".join(f'{tokens[user]},{user},{user},"{groups}"\n' for user, groups in USERS.items()),
        )

    def _start_all(self) -> None:
        self.start_etcd()
        self.start_api()
        if self._facts["kubelet"]:
            self.start_kubelet()
        # Before the controllers: the garbage collector looks for new kinds every 30 seconds only,
        # and stands still for a while when it has found one.
        self.define_kronjobs()
        self.start_controllers()

    def define_kronjobs(self) -> None:
        """Apply the CustomResourceDefinition; returns when KronJobs can be made."""
        crd = definition()
        self.api().apply("customresourcedefinitions", None, crd)
        version = crd["spec"]["versions"][0]["name"]
        path = f"/apis/{crd['spec']['group']}/{version}/{crd['spec']['names']['plural']}"

        def is_served() -> bool:
            try:
                return bool(self.api().request("GET", path))
            except RefusedError as refusal:
                if refusal.status in (404, 429, 503):
                    return False
                raise

        wait_for(is_served, "KronJobs are served", START_S)

    def _start(self, name: str, *options: str) -> None:
        self._launch(name, [str(self.programs / name), *options])

    def _launch(self, name: str, words: list[str]) -> None:
        assert name not in self._processes, f"{name} is running already"
        log = self.directory / f"{name}.log"
        self._processes[name] = children.start(words, log, self._environment())

    def _end(self, name: str, patience_s: float = 0.0) -> None:
        children.stop(self._processes.pop(name), patience_s)

    def _environment(self) -> dict[str, str]:
        """Nothing of the caller's: no proxies, no KUBECONFIG, no GOMAXPROCS."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.directory),
            "PYTHONPATH": str(ROOT),
            "KRON_TEST": str(self.directory),
        }

    def _wait_for(self, name: str, is_there: Callable[[], bool]) -> None:
        """Wait for a part that was just started; it must not end meanwhile."""

        def look() -> bool:
            if self._processes[name].poll() is None:
                return is_there()
            said = self.log(name)
            if "address already in use" in said:
                raise _PortTakenError(name)
            raise AssertionError(f"{name} ended: ...{said[-2000:]}")

        wait_for(look, f"{name} is ready", START_S)

    def _is_ready(self) -> bool:
        if not Path(self.ca).exists() or not is_listening(self._facts["api"]):
            return False
        try:
            self.api().request("GET", "/readyz")
        except RefusedError:
            return False
        except OSError:  # it is listening, and not yet or no longer speaking
            return False
        return True


def _facts(programs: Path, tuned: bool, audit: bool, kubelet: bool) -> dict[str, Any]:
    etcd, etcd_peer, api = free_ports(3)
    return {
        "programs": str(programs),
        "url": f"https://127.0.0.1:{api}",
        "etcd": etcd,
        "etcd_peer": etcd_peer,
        "api": api,
        "tuned": tuned,
        "audit": audit,
        "kubelet": kubelet,
        "tokens": {user: token_hex(16) for user in USERS},
    }
