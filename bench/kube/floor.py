"""The floor of a burst: the same Jobs, prepared, from a client that does nothing else.

It decides nothing, logs nothing, watches nothing and stores no status. What it takes, this API
server takes; what kron-operator takes beyond that is its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench.krond.marks import Lateness
from bench.krond.moment import soon
from bench.kube.judgement import lateness
from bench.kube.plane import AGENT, Object, create_all
from bench.kube.tail import wait_until_quiet
from kron.kube.client.resources import JOBS
from kron.kube.operator.starter import MOST_AT_ONCE
from tests.cluster.controlplane import ControlPlane
from tests.moment import wait_until

_OF_THE_SERVER = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "uid")
_OF_THE_CONTROLLER = ("controller-uid", "job-name")
_LONGEST_S = 120


def bare_burst(cluster: ControlPlane, namespace: str, owners: Sequence[str]) -> Lateness:
    """Make each Job of this namespace once more, under another name, all at once."""
    manifests = [_again(job) for job in cluster.api().list("jobs", namespace)]
    due_s = soon(3)
    wait_until_quiet(cluster.audit_log, due_s + _LONGEST_S)
    due_s = soon(3)
    wait_until(due_s)
    create_all(cluster, JOBS, namespace, manifests, MOST_AT_ONCE)
    requests = [each for each in cluster.audit(namespace) if each.agent == AGENT]
    return lateness(requests, namespace, dict.fromkeys(owners, due_s))


def _again(job: Object) -> Object:
    """The manifest of a Job as its maker wrote it, but for its name."""
    metadata = {
        name: value for name, value in job["metadata"].items() if name not in _OF_THE_SERVER
    }
    spec = {name: value for name, value in job["spec"].items() if name != "selector"}
    for described in (metadata, spec["template"]["metadata"]):
        described["labels"] = {
            name: value
            for name, value in described["labels"].items()
            if name.rpartition("/")[2] not in _OF_THE_CONTROLLER
        }
    name = f"{metadata['name']}-bare"
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {**metadata, "name": name},
        "spec": spec,
    }
