"""Several namespaces, each by itself; and an API server that knows no KronJobs at all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.account import Account
from tests.cluster.controlplane import ControlPlane
from tests.cluster.kronjobs import KronJobs
from tests.cluster.once import executed_once, make_once
from tests.cluster.operator import Operator
from tests.logbook import wait_for
from tests.moment import soon

REST = "kron-rest"


@pytest.fixture
def other(cluster: ControlPlane, namespace: str) -> Iterator[KronJobs]:
    """A second namespace."""
    name = f"{namespace}-b"
    cluster.api().create("namespaces", None, {"metadata": {"name": name}})
    yield KronJobs(cluster.api(), name)
    cluster.api().delete("namespaces", None, name)


def failing(operator: Operator, namespace: str) -> float:
    return operator.metrics()[f'kron_watch_failing{{resource="kronjobs",namespace="{namespace}"}}']


def test_a_namespace_that_cannot_be_read_stops_no_other(
    cluster: ControlPlane, namespace: str, kronjobs: KronJobs, other: KronJobs, tmp_path: Path
) -> None:
    """Neither at the start, nor when the right is lost later."""
    account = Account(cluster, namespace, (other.namespace,))
    account.revoke(other.namespace, REST)
    both = (namespace, other.namespace)
    with Operator(
        cluster, namespace, tmp_path, kubeconfig=account.kubeconfig(), namespaces=both
    ) as operator:
        operator.start()
        operator.wait_until_leading()
        period = make_once(kronjobs, "first", soon(2))
        executed_once(cluster, kronjobs, "first", period)
        assert failing(operator, other.namespace) == 1
        assert failing(operator, namespace) == 0
        said = [str(record.get("operation")) for record in operator.events("error")]
        assert f"watch kronjobs of the namespace {other.namespace}" in said
        assert len(said) == 2, "once each for KronJobs and Jobs, though they are tried on and on"

        account.grant(other.namespace, REST)
        wait_for(lambda: failing(operator, other.namespace) == 0, "it is read at last")
        period = make_once(other, "second", soon(2))
        executed_once(cluster, other, "second", period)

        account.revoke(other.namespace, REST)
        cluster.api().delete("namespaces", None, other.namespace)
        period = make_once(kronjobs, "third", soon(2))
        executed_once(cluster, kronjobs, "third", period)
        # An open watch is not cut, but a new leader has to read everything.
        assert operator.stop() == 0
        operator.start()
        period = make_once(kronjobs, "fourth", soon(3))
        executed_once(cluster, kronjobs, "fourth", period)
        assert failing(operator, other.namespace) == 1


def test_without_the_definition_it_says_what_to_install_and_is_not_ready(
    own_cluster: ControlPlane, tmp_path: Path
) -> None:
    api = own_cluster.api()
    definition = "kronjobs.kron.io"
    kronjobs = KronJobs(api, "default")
    with Operator(own_cluster, "default", tmp_path) as operator:
        operator.start()
        operator.wait_until_leading()
        api.delete("customresourcedefinitions", None, definition)
        wait_for(lambda: operator.http("/readyz")[0] == 503, "it is not ready", 60.0)
        assert "kron-operator crd | kubectl apply --server-side" in operator.http("/readyz")[1]
        assert "the API server knows no KronJobs" in operator.said()
        own_cluster.define_kronjobs()
        operator.wait_until_ready(60.0)
        period = make_once(kronjobs, "again", soon(3))
        executed_once(own_cluster, kronjobs, "again", period)
        operator.kill()
        api.delete("customresourcedefinitions", None, definition)
        wait_for(lambda: not api.find("customresourcedefinitions", None, definition), "it goes")
        operator.launch()
        wait_for(lambda: "knows no KronJobs" in operator.http("/readyz")[1], "it says so", 60.0)
        assert operator.http("/healthz")[0] == 200
