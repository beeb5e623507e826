"""The rights that are shipped in deploy/kubernetes, given to a service account of a test."""

from __future__ import annotations

from typing import Any

import yaml

from tests.cluster.controlplane import ROOT, ControlPlane

_GROUP = "rbac.authorization.k8s.io"
ACCOUNT = "shipped"


def rules_of(name: str, file: str = "rbac.yaml") -> list[dict[str, Any]]:
    """The rules of a role in a file of deploy/kubernetes."""
    with (ROOT / "deploy/kubernetes" / file).open() as text:
        for obj in yaml.safe_load_all(text):
            if obj["kind"] in ("ClusterRole", "Role") and obj["metadata"]["name"] == name:
                rules: list[dict[str, Any]] = obj["rules"]
                return rules
    raise AssertionError(f"no role is called {name}")


def grant(cluster: ControlPlane, namespace: str) -> str:
    """A service account with exactly these rights in its namespace: its name as a user."""
    api = cluster.api()
    api.create("serviceaccounts", namespace, {"metadata": {"name": ACCOUNT}})
    rules = rules_of("kron-operator") + rules_of("kron-operator-lease")
    api.create("roles", namespace, {"metadata": {"name": ACCOUNT}, "rules": rules})
    binding = {
        "metadata": {"name": ACCOUNT},
        "roleRef": {"apiGroup": _GROUP, "kind": "Role", "name": ACCOUNT},
        "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": namespace}],
    }
    api.create("rolebindings", namespace, binding)
    return f"system:serviceaccount:{namespace}:{ACCOUNT}"


def kubeconfig_of(cluster: ControlPlane, namespace: str) -> str:
    """A kubeconfig file of that account."""
    token = cluster.token_for_service_account(namespace, ACCOUNT)
    return cluster.kubeconfig_with({"token": token}, f"{namespace}.{ACCOUNT}.kubeconfig", namespace)
