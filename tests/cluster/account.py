"""A service account for an operator, with the rights that are shipped, in some namespaces.

The right to create Jobs has a binding of its own, so that a test can take it away.
"""

from __future__ import annotations

from collections.abc import Iterable

from tests.cluster.api import Object
from tests.cluster.controlplane import ControlPlane
from tests.cluster.proxy import Proxy
from tests.cluster.rights import rules_of

STARTING = "kron-starting"
"""The binding with the right to create Jobs."""
_REST = "kron-rest"
_GROUP = "rbac.authorization.k8s.io"


class Account:
    """The service account `operator` of a namespace."""

    NAME = "operator"

    def __init__(self, cluster: ControlPlane, namespace: str, others: Iterable[str] = ()) -> None:
        self._cluster = cluster
        self._namespace = namespace
        cluster.api().create("serviceaccounts", namespace, {"metadata": {"name": self.NAME}})
        for each in (namespace, *others):
            for name, rules in _rules().items():
                role = {"metadata": {"name": name}, "rules": rules}
                cluster.api().create("roles", each, role)
                self.grant(each, name)

    def token(self, lifetime_s: int = 3600) -> str:
        """A new token."""
        return self._cluster.token_for_service_account(self._namespace, self.NAME, lifetime_s)

    def kubeconfig(self, proxy: Proxy | None = None) -> str:
        """A kubeconfig file of it, with which everything goes through the proxy if there is one."""
        user = {"token": self.token()}
        if proxy is not None:
            return proxy.kubeconfig(user)
        return self._cluster.kubeconfig_with(user, f"{self._namespace}.{self.NAME}.kubeconfig")

    def grant(self, namespace: str, name: str = STARTING) -> None:
        """Give it rights."""
        binding = binding_of(name, self._namespace, self.NAME)
        self._cluster.api().create("rolebindings", namespace, binding)

    def revoke(self, namespace: str, name: str = STARTING) -> None:
        """Take them away."""
        self._cluster.api().delete("rolebindings", namespace, name)


def binding_of(role: str, namespace: str, account: str) -> Object:
    """A binding of a role, with the name of that, to a service account of this namespace."""
    return {
        "metadata": {"name": role},
        "roleRef": {"apiGroup": _GROUP, "kind": "Role", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
    }


def _rules() -> dict[str, list[Object]]:
    """The rules that are shipped, in two roles."""
    starting = {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["create"]}
    rest = []
    for rule in rules_of("kron-operator") + rules_of("kron-operator-lease"):
        if rule["resources"] == ["jobs"]:
            assert "create" in rule["verbs"]
            rule = rule | {"verbs": [verb for verb in rule["verbs"] if verb != "create"]}  # noqa: PLW2901
        rest.append(rule)
    return {STARTING: [starting], _REST: rest}
