"""KronJobs whose Pods really run, and what came of them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

from tests.cluster.api import Object
from tests.cluster.kronjobs import KronJobs
from tests.cluster.once import executed_once, made_by, make_once
from tests.cluster.outcomes import wait_until_seen
from tests.logbook import wait_for
from tests.moment import soon, wait_until
from tests.node.archive import BUSYBOX
from tests.node.deployment import ACCOUNT, Deployment
from tests.node.node import Node

FINISHED_S = 60.0
"""How long a Pod may take; on an idle machine, three seconds."""
_TRIES = 4


def template(command: str) -> Object:
    """A jobTemplate that restricted Pod security admits."""
    run = {
        "name": "run",
        "image": BUSYBOX,
        "command": ["sh", "-c", command],
        "env": [
            {
                "name": "PERIOD",
                "valueFrom": {
                    "fieldRef": {"fieldPath": "metadata.annotations['kron.io/period-id']"}
                },
            }
        ],
    }
    return {
        "spec": {
            "backoffLimit": 0,
            "template": {"spec": {"restartPolicy": "Never", "containers": [run]}},
        }
    }


@contextmanager
def namespace_of(node: Node, name: str) -> Iterator[KronJobs]:
    node.cluster.api().create("namespaces", None, {"metadata": {"name": name}})
    yield KronJobs(node.cluster.api(), name)
    node.cluster.api().delete("namespaces", None, name)


def results(kronjobs: KronJobs, name: str) -> list[Object]:
    """Wait until a Job of it has finished: what its status says of them."""
    return wait_for(lambda: kronjobs.status(name).get("recentRuns"), f"{name} ended", FINISHED_S)


def make_in_time(kronjobs: KronJobs, *templates: Object) -> tuple[int, str, list[str]]:
    """One KronJob of each template, due in a moment: the second, the period, and their names.

    The operator has seen them by then. What a busy machine sees later is not due, so others are
    made, and they have more time.
    """
    for number in range(_TRIES):
        at_s = soon(4 * (number + 1))
        periods = {
            f"run-{number}-{each}": make_once(kronjobs, f"run-{number}-{each}", at_s, template=made)
            for each, made in enumerate(templates)
        }
        wait_until_seen(kronjobs, *periods)
        if time.time() < at_s:
            [period] = set(periods.values())
            return at_s, period, list(periods)
    raise AssertionError(f"{_TRIES} times it was seen too late")


def check_confined(node: Node, kronjobs: KronJobs, others: KronJobs) -> None:
    """The operator runs what is in the one namespace, and does not even ask for the other's.

    No Pod of another template exists any more: its account is the same.
    """
    # What was uninstalled with its rights could not give its lease back.
    Deployment(node).leader()
    asked_before = len(node.cluster.audit(ACCOUNT))
    there_s = soon(4)
    make_once(others, "there", there_s, template=template("echo there"))
    at_s, period, [here] = make_in_time(kronjobs, template("echo here"))
    executed_once(node.cluster, kronjobs, here, period)
    [request] = made_by(node.cluster, kronjobs, here, period)
    assert request.user == ACCOUNT
    assert [each["result"] for each in results(kronjobs, here)] == ["Succeeded"]
    wait_until(max(at_s, there_s) + 2)
    assert others.status("there") == {}
    assert others.jobs() == []
    asked = node.cluster.audit(ACCOUNT)[asked_before:]
    assert [request for request in asked if request.code == HTTPStatus.FORBIDDEN] == []
