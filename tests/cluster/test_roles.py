"""The rights of people: what view, edit and admin may do with KronJobs, once our roles exist."""

from __future__ import annotations

import json

import pytest

from tests.cluster.api import Object
from tests.cluster.controlplane import ROOT, ControlPlane
from tests.cluster.kronjobs import KronJobs, kronjob
from tests.logbook import wait_for

ROLES = ROOT / "deploy/kubernetes/aggregated-roles.yaml"
YEARLY = "0 0 29 2 *"
READ = {"get", "list", "watch"}
WRITE = {"create", "update", "patch", "delete"}


@pytest.fixture
def aggregated(cluster: ControlPlane) -> None:
    """The roles are applied, and the cluster's own have taken them up."""
    applied = cluster.kubectl("apply", "-f", str(ROLES))
    assert applied.returncode == 0, applied.stderr

    def has_kronjobs(name: str) -> bool:
        rules = cluster.api().get("clusterroles", None, name)["rules"]
        return any("kronjobs" in rule.get("resources", ()) for rule in rules)

    wait_for(lambda: all(map(has_kronjobs, ("view", "edit", "admin"))), "they are aggregated")


def binding(role: str) -> Object:
    return {
        "metadata": {"name": role},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": role}],
    }


@pytest.mark.usefixtures("aggregated")
def test_edit_and_admin_may_change_kronjobs_view_may_read_them_and_no_one_writes_a_status(
    cluster: ControlPlane, namespace: str, kronjobs: KronJobs
) -> None:
    def may(role: str, resource: str) -> set[str]:
        verbs = READ | WRITE
        return {verb for verb in verbs if _can(cluster, namespace, role, verb, resource)}

    for role, verbs in {"view": READ, "edit": READ | WRITE, "admin": READ | WRITE}.items():
        cluster.api().create("rolebindings", namespace, binding(role))
        # The API server hears of new bindings and roles a moment later.
        wait_for(lambda r=role, v=verbs: may(r, "kronjobs") == v, f"{role} may {verbs}")  # type: ignore[misc]
        assert may(role, "kronjobs/status") == READ

    manifest = json.dumps(kronjob("made", YEARLY))
    words = (f"--namespace={namespace}", "create", "-f", "-")
    refused = cluster.kubectl("--as=view", *words, input=manifest)
    assert 'User "view" cannot create resource "kronjobs"' in refused.stderr
    made = cluster.kubectl("--as=edit", *words, input=manifest)
    assert made.returncode == 0, made.stderr
    shown = cluster.kubectl("--as=view", f"--namespace={namespace}", "get", "kj", "made")
    assert shown.returncode == 0, shown.stderr
    patch = ("patch", "kj", "made", "--subresource=status", "--type=merge", "-p", '{"status":{}}')
    refused = cluster.kubectl("--as=admin", f"--namespace={namespace}", *patch)
    assert "cannot patch resource" in refused.stderr
    assert kronjobs.status("made") == {}


def _can(cluster: ControlPlane, namespace: str, user: str, verb: str, resource: str) -> bool:
    plural, _, subresource = resource.partition("/")
    attributes = {
        "namespace": namespace,
        "verb": verb,
        "group": "kron.io",
        "resource": plural,
        "subresource": subresource,
    }
    review = {"spec": {"user": user, "resourceAttributes": attributes}}
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    answer = cluster.api().request("POST", path, review)
    allowed: bool = answer["status"]["allowed"]
    return allowed
