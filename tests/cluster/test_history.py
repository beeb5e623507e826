"""The history: finished Jobs are kept up to the limits, and nothing else is touched."""

from __future__ import annotations

import json

from tests.cluster.api import Object
from tests.cluster.controlplane import ControlPlane
from tests.cluster.kronjobs import NEVER, KronJobs, is_finished, job_template
from tests.cluster.operator import Operator
from tests.cluster.outcomes import creations, wait_for_outcome
from tests.cluster.slots import Slot, make_manual
from tests.logbook import wait_for
from tests.moment import soon

FAR = "0 0 29 2 *"


def names(jobs: list[Object]) -> set[str]:
    return {job["metadata"]["name"] for job in jobs}


def finished(kronjobs: KronJobs, name: str, count: int) -> list[Object]:
    """Wait until so many of its Jobs have finished: those, the one that finished first first."""

    def look() -> list[Object] | None:
        found = [job for job in kronjobs.jobs(name) if is_finished(job)]
        return found if len(found) == count else None

    return sorted(wait_for(look, f"{count} finished Jobs of {name}"), key=_finish)


def _finish(job: Object) -> tuple[str, str, str]:
    ended = job["status"].get("completionTime") or next(
        condition["lastTransitionTime"]
        for condition in job["status"]["conditions"]
        if condition["type"] == "Failed" and condition["status"] == "True"
    )
    return ended, job["metadata"]["creationTimestamp"], job["metadata"]["name"]


def test_finished_jobs_are_kept_up_to_the_limits_of_each_kind(
    cluster: ControlPlane, namespace: str, kronjobs: KronJobs, operator: Operator
) -> None:
    kronjobs.make("stated", FAR, successfulJobsHistoryLimit=2, failedJobsHistoryLimit=2)
    kronjobs.make("defaults", FAR)
    kinds = {
        "ok": job_template(),
        "failed": job_template(exit_code=1),
        "active": job_template(runs_for=NEVER),
    }
    for name in ("stated", "defaults"):
        for kind, template in kinds.items():
            made = kronjobs.change(name, jobTemplate=template)
            for number in range(1 if kind == "active" else 4):
                make_manual(kronjobs, made, f"{kind}-{number}")
    # It only says that it is one of them: nobody owns it.
    stranger = {"name": "stranger", "labels": {"kron.io/name": "stated"}}
    kronjobs.api.create("jobs", namespace, {"metadata": stranger} | job_template())
    wait_for(lambda: is_finished(kronjobs.api.get("jobs", namespace, "stranger")), "it ends")
    everyone = {name: finished(kronjobs, name, 8) for name in ("stated", "defaults")}
    operator.start()

    def newest(name: str, kind: str, count: int) -> set[str]:
        of_kind = [job for job in everyone[name] if f"-{kind}-" in job["metadata"]["name"]]
        return names(of_kind[-count:])

    def left(name: str, count: int) -> set[str]:
        wait_for(lambda: len(kronjobs.jobs(name)) <= count, f"{count} Jobs of {name} are left")
        return names(kronjobs.jobs(name))

    stated = newest("stated", "ok", 2) | newest("stated", "failed", 2) | {"stated-active-0"}
    assert left("stated", 5) == stated
    defaults = newest("defaults", "ok", 3) | newest("defaults", "failed", 1)
    assert left("defaults", 5) == defaults | {"defaults-active-0"}

    # Limits that are changed later hold for what is there.
    kronjobs.change("stated", successfulJobsHistoryLimit=0, failedJobsHistoryLimit=1)
    assert left("stated", 2) == newest("stated", "failed", 1) | {"stated-active-0"}
    assert kronjobs.api.find("jobs", namespace, "stranger") is not None
    for request in cluster.audit(namespace):
        if request.verb == "delete" and request.agent.startswith("kron-operator/"):
            assert json.loads(request.body)["preconditions"]["uid"]
    # Nothing is left of their Pods either.
    kept = names(kronjobs.jobs())

    def orphans() -> list[Object]:
        pods = kronjobs.api.list("pods", namespace)
        return [p for p in pods if p["metadata"]["ownerReferences"][0]["name"] not in kept]

    wait_for(lambda: not orphans(), "their Pods go along")
    operator.check_log()


def test_a_period_whose_job_was_deleted_stays_executed(
    cluster: ControlPlane, namespace: str, kronjobs: KronJobs, operator: Operator
) -> None:
    slot = Slot(namespace)
    operator.start()
    kronjobs.make(
        "brief",
        slot.aim("brief", soon()),
        policy={"deadline": "2h"},
        successfulJobsHistoryLimit=0,
    )
    wait_for_outcome(kronjobs, "brief", "executed")
    wait_for(lambda: not kronjobs.jobs("brief"), "its Job is deleted")
    kronjobs.wait_for_status("brief", active=[])
    operator.stop()
    operator.start()
    operator.wait_for_event("ready", count=2)
    kronjobs.change("brief", failedJobsHistoryLimit=2)
    kronjobs.wait_for_status("brief", observedGeneration=2)
    assert kronjobs.status("brief")["lastPeriodID"] == slot.period
    assert len(creations(cluster, namespace)) == 1
