"""The control plane: `cluster` is shared by all tests, `own_cluster` is one test's own."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.cluster.controlplane import ControlPlane
from tests.cluster.keeper import shared
from tests.cluster.kronjobs import KronJobs
from tests.cluster.operator import Operator
from tests.cluster.rights import grant, kubeconfig_of
from tools.cache import UnavailableError
from tools.cluster import CONTROLPLANE

_number = count()


@pytest.fixture(scope="session")
def programs() -> Path:
    """Where the programs of a control plane are. Tests that need them are not even collected
    without, unless somebody has asked for one file by its name."""
    try:
        return CONTROLPLANE.find()
    except UnavailableError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def cluster(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """One for the whole run of pytest, whatever the number of workers. Leave its parts running."""
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    with shared(base / "shared-cluster") as started:
        yield started


@pytest.fixture
def own_cluster(programs: Path, tmp_path: Path) -> Iterator[ControlPlane]:
    """One for a single test, to stop and break."""
    with ControlPlane.start(tmp_path / "cluster", tuned=True) as started:
        yield started


@pytest.fixture
def namespace(cluster: ControlPlane, request: pytest.FixtureRequest) -> Iterator[str]:
    """A new namespace in the shared cluster; its deletion is asked for afterwards."""
    name = _namespace_name(request.node.name)
    cluster.api().create("namespaces", None, {"metadata": {"name": name}})
    yield name
    cluster.api().delete("namespaces", None, name)


@pytest.fixture
def kronjobs(cluster: ControlPlane, namespace: str) -> KronJobs:
    """The KronJobs of that namespace, as the administrator."""
    return KronJobs(cluster.api(), namespace)


@pytest.fixture
def operator(cluster: ControlPlane, namespace: str, tmp_path: Path) -> Iterator[Operator]:
    """An operator for that namespace, with the rights that are shipped; not started yet."""
    grant(cluster, namespace)
    kubeconfig = kubeconfig_of(cluster, namespace)
    with Operator(cluster, namespace, tmp_path, kubeconfig=kubeconfig) as made:
        yield made


def _namespace_name(test: str) -> str:
    """It says which test it is of, and no other test has it."""
    words = re.sub(r"[^a-z0-9]+", "-", test.removeprefix("test_").lower()).strip("-")
    return f"{words[:30].strip('-')}-{os.getpid()}-{next(_number)}"
