"""The control plane that everybody is measured on, and the objects that are put there.

It has no kubelet: Pods are made and wait, so that no stand-in for one takes the machine's time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from bench.krond.workshop import SkippedError, scratch
from kron.kube.client.access import find_access
from kron.kube.client.client import Client
from kron.kube.client.resources import Resource
from tests.cluster.controlplane import ControlPlane
from tools.cache import UnavailableError

Object = dict[str, Any]
AGENT = "kron-bench"
_AT_ONCE = 24


@contextmanager
def control_plane(*, tuned: bool = True) -> Iterator[ControlPlane]:
    """A new one; it is ended, and its data removed, at the end."""
    try:
        started = ControlPlane.start(scratch() / "cluster", tuned=tuned, kubelet=False)
    except UnavailableError as error:
        raise SkippedError(str(error)) from None
    with started:
        yield started


def make_namespace(cluster: ControlPlane, name: str) -> str:
    """A new namespace: its name."""
    cluster.detach()  # the API server closes what has been idle for a while
    cluster.api().create("namespaces", None, {"metadata": {"name": name}})
    return name


def create_all(
    cluster: ControlPlane,
    resource: Resource,
    namespace: str,
    manifests: Sequence[Object],
    at_once: int = _AT_ONCE,
) -> None:
    """Create all of these objects, many at the same time."""
    asyncio.run(_create_all(cluster.kubeconfig(), resource, namespace, manifests, at_once))


async def _create_all(
    kubeconfig: str, resource: Resource, namespace: str, manifests: Sequence[Object], at_once: int
) -> None:
    left = iter(manifests)
    async with Client(find_access(kubeconfig), user_agent=AGENT, limit=at_once) as client:

        async def create() -> None:
            for manifest in left:
                await client.create(resource, namespace, manifest, is_brief=True, timeout_s=60)

        async with asyncio.TaskGroup() as group:
            for _ in range(at_once):
                group.create_task(create())
