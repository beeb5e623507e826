"""Least privilege, both ways: what the operator does is granted, and what is granted it does.

The audit log says what it did, deploy/kubernetes/rbac.yaml what it may do.
"""

from __future__ import annotations

from pathlib import Path

from kron.core.instant import to_text
from kron.kube.resource.run import job_name
from tests.cluster.account import binding_of
from tests.cluster.audit import DRY_RUN, Request
from tests.cluster.controlplane import ControlPlane
from tests.cluster.kronjobs import NEVER, KronJobs, job_template, wait_for
from tests.cluster.operator import Operator
from tests.cluster.rights import grant, kubeconfig_of, rules_of
from tests.moment import soon

Right = tuple[str, str, str]
"""The group, the resource with its subresource, the verb."""


def test_what_it_uses_is_what_it_may(
    cluster: ControlPlane, kronjobs: KronJobs, namespace: str, tmp_path: Path
) -> None:
    """One operator does everything that an operator ever does."""
    user = grant(cluster, namespace)
    kubeconfig = kubeconfig_of(cluster, namespace)
    at_s = soon(12)  # the operator has to see them before, however busy the machine is
    name = job_name("taken", to_text(at_s - at_s % 60))
    kronjobs.make_due("taken", at_s)
    foreign = {"metadata": {"name": name}, **job_template(runs_for=NEVER)}
    kronjobs.api.create("jobs", namespace, foreign)
    kronjobs.make_due("tidy", at_s, successfulJobsHistoryLimit=0)
    with Operator(cluster, namespace, tmp_path, kubeconfig=kubeconfig) as operator:
        operator.start()
        operator.wait_until_leading()
        operator.pause()  # its version of the KronJob grows old, so that a write conflicts
        kronjobs.api.patch(
            "kronjobs", namespace, "tidy", {"metadata": {"labels": {"touched": "yes"}}}
        )
        operator.resume()
        kronjobs.wait_for_status("taken", lastOutcome="missed")
        wait_for(lambda: not kronjobs.jobs("tidy"), "the history is tidied")
        wait_for(lambda: kronjobs.events("tidy", "JobCreated"), "an Event")
        assert operator.stop() == 0
    used = _used(cluster.audit(user))
    may = {
        (group, resource, verb)
        for rule in rules_of("kron-operator") + rules_of("kron-operator-lease")
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    refused = [each for each in cluster.audit(user) if each.code == 403]
    assert refused == []
    assert used - may == set()
    # Nor did any other operator in this run of the tests, whoever it was.
    assert _used(cluster.audit("kron-operator/")) - may == set()
    # For a write that conflicts, and for a Job that is replaced while a request for it may arrive.
    # Neither can be had at will: test_recorder and test_late_requests have them.
    assert may - used <= {("kron.io", "kronjobs", "get"), ("batch", "jobs", "patch")}


def test_in_one_namespace_it_may_the_same_as_in_all() -> None:
    everywhere = rules_of("kron-operator")
    assert rules_of("kron-operator", "namespaced/rbac.yaml") == everywhere
    lease = rules_of("kron-operator-lease")
    assert rules_of("kron-operator-lease", "namespaced/rbac.yaml") == lease


READING = [
    {"apiGroups": [group], "resources": [plural], "verbs": ["list", "watch"]}
    for group, plural in (("kron.io", "kronjobs"), ("batch", "jobs"))
]


def test_without_a_right_it_says_which(
    cluster: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    api = cluster.api()
    api.create("serviceaccounts", namespace, {"metadata": {"name": "powerless"}})
    token = {"token": cluster.token_for_service_account(namespace, "powerless")}
    kubeconfig = cluster.kubeconfig_with(token, f"{namespace}.powerless.kubeconfig", namespace)
    with Operator(cluster, namespace, tmp_path, kubeconfig=kubeconfig) as operator:
        operator.launch()
        wait_for(lambda: "cannot list resource" in operator.said(), "it says what it may not list")
        assert operator.http("/readyz")[0] == 503
        api.create("roles", namespace, {"metadata": {"name": "reader"}, "rules": READING})
        api.create("rolebindings", namespace, binding_of("reader", namespace, "powerless"))
        wait_for(lambda: "cannot get resource" in operator.said(), "and what it may not get")
        assert operator.http("/readyz")[0] == 503, "of what use is one that cannot lead?"
        assert operator.stop() == 0


def test_a_replica_that_may_not_have_its_lease_is_not_ready(
    cluster: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    """Or a rollout would go on, and end the replica that leads."""
    grant(cluster, namespace)
    with Operator(
        cluster, namespace, tmp_path, kubeconfig=kubeconfig_of(cluster, namespace)
    ) as operator:
        operator.launch("--lease-name", "another")
        said: list[tuple[int, str]] = []

        def is_refused() -> bool:
            said.append(operator.http("/readyz"))
            return "leases" in said[-1][1]

        wait_for(is_refused, "it says that it has no right to its lease")
        assert {code for code, _ in said if code} == {503}


def _used(requests: list[Request]) -> set[Right]:
    return {
        (
            request.group,
            f"{request.resource}/{request.subresource}".rstrip("/"),
            "create" if request.verb == DRY_RUN else request.verb,
        )
        for request in requests
        if request.agent.startswith("kron-operator/")
    }
