"""What became of periods: by their statuses, and by the API server's own log."""

from __future__ import annotations

from functools import partial

from kron.core.instant import to_text
from tests.cluster.api import Object
from tests.cluster.audit import Request
from tests.cluster.controlplane import ControlPlane
from tests.cluster.kronjobs import KronJobs
from tests.logbook import wait_for

LATE = "the deadline has passed"
A_LONG_DEADLINE = {"deadline": "2h"}


def creations(cluster: ControlPlane, namespace: str) -> list[Request]:
    """Every request of an operator for a Job in this namespace, by the API server's own log."""
    return [
        request
        for request in cluster.audit(namespace)
        if (request.verb, request.resource, request.namespace) == ("create", "jobs", namespace)
        and request.agent.startswith("kron-operator/")
    ]


def ended(status: Object) -> tuple[str | None, str | None, str | None]:
    """The period that ended last, how, and why."""
    return status.get("lastPeriodID"), status.get("lastOutcome"), status.get("lastReason")


def wait_for_outcome(kronjobs: KronJobs, name: str, outcome: str) -> Object:
    """Wait until its last period has ended so: its status."""
    return kronjobs.wait_for_status(name, lastOutcome=outcome)


def wait_for_events(kronjobs: KronJobs, name: str, reason: str) -> list[Object]:
    """Wait until there are Events of that kind about it."""
    return wait_for(lambda: kronjobs.events(name, reason), f"{reason} of {name}")


def wait_until_seen(kronjobs: KronJobs, *names: str) -> None:
    """Until the operator has looked at each as it is now."""

    def look(name: str) -> bool:
        kronjob = kronjobs.read(name)
        seen = kronjob.get("status", {}).get("observedGeneration")
        return bool(seen == kronjob["metadata"]["generation"])

    for name in names:
        wait_for(partial(look, name), f"{name} is seen")


def are_looked_at(kronjobs: KronJobs, until_s: int) -> bool:
    """Whether no KronJob still waits for a time that is past, or for a Job to be made."""
    now = to_text(until_s)
    for obj in kronjobs.api.list("kronjobs", kronjobs.namespace):
        status = obj["status"]
        if str(status.get("nextChosenTime", "9")) <= now or status["ledger"]["starting"]:
            return False
    return True
