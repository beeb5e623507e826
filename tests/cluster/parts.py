"""What the parts of a control plane are told: their options and the files that these name."""

from __future__ import annotations

import json
from pathlib import Path
from secrets import token_hex
from typing import Any

from tests.cluster.tokens import ISSUER

CONTROLLERS = (
    "job-controller,cronjob-controller,garbage-collector-controller,"
    "namespace-controller,ttl-after-finished-controller,clusterrole-aggregation-controller,"
    "deployment-controller,replicaset-controller"
)
TUNED = ("--kube-api-qps=5000", "--kube-api-burst=5000", "--concurrent-cron-job-syncs=20")


def etcd_options(directory: Path, facts: dict[str, Any]) -> list[str]:
    """One member, on loopback, without waiting for the disk."""
    client = f"http://127.0.0.1:{facts['etcd']}"
    peer = f"http://127.0.0.1:{facts['etcd_peer']}"
    return [
        f"--data-dir={directory}/etcd",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",
        "--quota-backend-bytes=8000000000",
    ]


def api_options(directory: Path, facts: dict[str, Any]) -> list[str]:
    """On loopback, and without what only Pods that really run need."""
    return [
        *shared_api_options(directory, facts),
        "--bind-address=127.0.0.1",
        "--endpoint-reconciler-type=none",
        "--disable-admission-plugins=ServiceAccount",
    ]


def shared_api_options(directory: Path, facts: dict[str, Any]) -> list[str]:
    """A certificate that it makes itself, RBAC and, if wanted, an audit log."""
    options = [
        f"--etcd-servers=http://127.0.0.1:{facts['etcd']}",
        f"--secure-port={facts['api']}",
        f"--cert-dir={directory}/certificates",
        f"--service-account-key-file={directory}/service-account.key",
        f"--service-account-signing-key-file={directory}/service-account.key",
        f"--service-account-issuer={ISSUER}",
        f"--token-auth-file={directory}/tokens.csv",
        "--authorization-mode=RBAC",
        "--anonymous-auth=false",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--profiling=false",
    ]
    if facts["audit"]:
        options += [
            f"--audit-policy-file={directory}/audit-policy.yaml",
            f"--audit-log-path={directory}/audit.log",
            "--audit-log-maxsize=100000",
        ]
    return options


def controllers_options(kubeconfig: str, facts: dict[str, Any]) -> list[str]:
    """The controllers that tests need, with their default limits or those of a tuned one."""
    return [
        f"--kubeconfig={kubeconfig}",
        "--leader-elect=false",
        f"--controllers={CONTROLLERS}",
        "--secure-port=0",
        "--profiling=false",
        *(TUNED if facts["tuned"] else ()),
    ]


def kubeconfig_text(url: str, ca: str, user: dict[str, Any], namespace: str) -> str:
    """A kubeconfig file with one context."""
    cluster = {"server": url, "certificate-authority": ca}
    context = {"cluster": "tests", "user": "user", "namespace": namespace}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "tests", "cluster": cluster}],
        "users": [{"name": "user", "user": user}],
        "contexts": [{"name": "tests", "context": context}],
        "current-context": "tests",
    }
    return json.dumps(config)


def write(path: Path, text: str) -> None:
    """In one step: several workers and threads may write the same file at the same time."""
    new = path.with_name(f"{path.name}.{token_hex(4)}.new")
    new.write_text(text)
    new.chmod(0o600)
    new.rename(path)
