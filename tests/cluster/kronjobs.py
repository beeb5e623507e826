"""KronJobs for tests: made, changed, read, and waited for, in one namespace.

A chosen time is a second somewhere in a window of a minute or more, and tests have no minutes to
wait. `due_at` finds a salt with which the choice falls on the second that a test wants.
"""

from __future__ import annotations

from typing import Any

import kron
from kron.core.decision import decide_at
from tests.cluster.api import Api, Object
from tests.cluster.kubelet import EXIT, NEVER, RUNS_FOR, STOPS_AFTER
from tests.logbook import PATIENCE_S, wait_for

__all__ = [
    "NEVER",
    "KronJobs",
    "due_at",
    "job_template",
    "kronjob",
    "wait_for",
]

MINUTE_S = 60


def due_at(namespace: str, name: str, at_s: int, *, window: str = "1m", more: str = "") -> str:
    """A schedule, modifiers included, with which this KronJob is due at `at_s` exactly.

    That is the period of the minute that `at_s` lies in. `more` are further modifiers.
    """
    nominal_s = at_s - at_s % MINUTE_S
    for number in range(100_000):
        text = f"* * * * * @win(after,{window}) @seed(stable,salt=s{number}) {more}".strip()
        schedule = kron.parse_schedule(text)
        if decide_at(schedule, f"{namespace}/{name}", nominal_s).chosen_s == at_s:
            return text
    raise AssertionError(f"no salt puts {namespace}/{name} at {at_s}")


def job_template(
    *, runs_for: str = "0", exit_code: int = 0, stops_after: str = "0", **spec: Any
) -> Object:
    """A spec.jobTemplate whose Pods do as said (see kubelet.py); `spec` is added to its spec."""
    annotations = {RUNS_FOR: runs_for, EXIT: str(exit_code), STOPS_AFTER: stops_after}
    pod = {"restartPolicy": "Never", "containers": [{"name": "run", "image": "none"}]}
    template = {"metadata": {"annotations": annotations}, "spec": pod}
    return {"spec": {"backoffLimit": 0, "template": template} | spec}


def kronjob(name: str, schedule: str, *, template: Object | None = None, **spec: Any) -> Object:
    """A KronJob manifest; `spec` are further fields of its spec."""
    return {
        "apiVersion": "kron.io/v1alpha1",
        "kind": "KronJob",
        "metadata": {"name": name},
        "spec": {"schedule": schedule, "jobTemplate": template or job_template()} | spec,
    }


class KronJobs:
    """Those of one namespace, and the Jobs and Events that come of them."""

    def __init__(self, api: Api, namespace: str) -> None:
        self.api = api
        self.namespace = namespace

    def make(
        self, name: str, schedule: str, *, template: Object | None = None, **spec: Any
    ) -> Object:
        """Create it."""
        made = kronjob(name, schedule, template=template, **spec)
        return self.api.create("kronjobs", self.namespace, made)

    def make_due(
        self,
        name: str,
        at_s: int,
        *,
        window: str = "1m",
        more: str = "",
        template: Object | None = None,
        **spec: Any,
    ) -> Object:
        """Create one that is due at `at_s`."""
        schedule = due_at(self.namespace, name, at_s, window=window, more=more)
        return self.make(name, schedule, template=template, **spec)

    def change(self, name: str, **spec: Any) -> Object:
        """Merge these fields into its spec; None removes one."""
        return self.api.patch("kronjobs", self.namespace, name, {"spec": spec})

    def suspend(self, name: str, suspended: bool = True) -> Object:
        """Suspend or resume it."""
        return self.change(name, policy={"suspend": suspended})

    def delete(self, name: str, propagation: str = "Background") -> None:
        """Delete it."""
        self.api.delete("kronjobs", self.namespace, name, propagation=propagation)

    def read(self, name: str) -> Object:
        """The whole object."""
        return self.api.get("kronjobs", self.namespace, name)

    def status(self, name: str) -> Object:
        """Its status, {} if it has none."""
        status: Object = self.read(name).get("status", {})
        return status

    def condition(self, name: str, kind: str) -> Object | None:
        """One of its conditions."""
        for condition in self.status(name).get("conditions", ()):
            if condition["type"] == kind:
                found: Object = condition
                return found
        return None

    def jobs(self, name: str | None = None) -> list[Object]:
        """The Jobs in the namespace, those of one KronJob if it is named, the oldest first."""
        found = [
            job
            for job in self.api.list("jobs", self.namespace)
            if name in (None, *(owner["name"] for owner in _owners(job)))
        ]
        return sorted(found, key=lambda job: str(job["metadata"]["creationTimestamp"]))

    def events(self, name: str | None = None, reason: str | None = None) -> list[Object]:
        """The Events in the namespace about a KronJob."""
        return [
            event
            for event in self.api.list("events", self.namespace)
            if event["involvedObject"]["kind"] == "KronJob"
            and name in (None, event["involvedObject"]["name"])
            and reason in (None, event["reason"])
        ]

    def wait_for_jobs(
        self, name: str, count: int = 1, patience_s: float = PATIENCE_S
    ) -> list[Object]:
        """Wait until it has so many Jobs, or more."""

        def look() -> list[Object] | None:
            found = self.jobs(name)
            return found if len(found) >= count else None

        return wait_for(look, f"{count} Jobs of {name}", patience_s)

    def wait_for_status(self, name: str, patience_s: float = PATIENCE_S, **wanted: Any) -> Object:
        """Wait until these fields of its status have these values: the status."""

        def look() -> Object | None:
            status = self.status(name)
            return status if all(status.get(key) == wanted[key] for key in wanted) else None

        def instead() -> Object:
            status = self.status(name)
            return {key: status.get(key) for key in wanted}

        return wait_for(look, f"{name} has status {wanted}", patience_s, instead)

    def wait_for_condition(
        self, name: str, kind: str, status: bool = True, patience_s: float = PATIENCE_S
    ) -> Object:
        """Wait until a condition is so."""

        def look() -> Object | None:
            condition = self.condition(name, kind)
            return condition if condition and condition["status"] == str(status) else None

        return wait_for(look, f"{name} is {kind}={status}", patience_s)


def is_finished(job: Object) -> bool:
    """Whether the Job controller has said that it is complete or has failed."""
    return any(
        condition["type"] in ("Complete", "Failed") and condition["status"] == "True"
        for condition in job.get("status", {}).get("conditions", ())
    )


def _owners(job: Object) -> list[Object]:
    owners: list[Object] = job["metadata"].get("ownerReferences", [])
    return [owner for owner in owners if owner["kind"] == "KronJob"]
