"""KronJobs, Jobs and ledgers as the operator knows them, for tests without a cluster."""

from __future__ import annotations

from typing import Any

from kron.core.instant import from_text, to_text
from kron.engine.actions import Outcome
from kron.engine.ledger import Handled, Intent, Ledger
from kron.kube.operator.member import ClusterMember
from kron.kube.resource.kronjob import KronJob, Metadata, read_kronjob
from kron.kube.resource.results import RunResult, RunResults
from kron.kube.resource.run import JobRun
from kron.kube.resource.status import Status

T0 = from_text("2026-03-01T00:00:00Z")
HOUR_S = 3600
SCHEDULE = "0 * * * *"


class Unwritten:
    """A store that keeps in mind what has changed, and writes nothing."""

    def __init__(self) -> None:
        self.jobs: list[ClusterMember] = []

    def changed(self, job: ClusterMember, *, is_proven: bool = False) -> None:
        self.jobs.append(job)


def metadata(name: str = "report", uid: str = "u1", **changes: Any) -> Metadata:
    return Metadata("ns", name, uid, 1, "100", is_deleting=False).replace(**changes)


def kronjob(schedule: str = SCHEDULE, **spec: Any) -> KronJob:
    pod = {"restartPolicy": "Never", "containers": [{"name": "run", "image": "none"}]}
    return read_kronjob(
        {
            "apiVersion": "kron.io/v1alpha1",
            "kind": "KronJob",
            "metadata": {"namespace": "ns", "name": "report", "uid": "u1", "generation": 1},
            "spec": {"schedule": schedule, "jobTemplate": {"spec": {"template": {"spec": pod}}}}
            | spec,
        }
    )


def ledger(*handled_s: int, through_s: int | None = None, **changes: Any) -> Ledger:
    return Ledger(SCHEDULE, T0, through_s, frozenset(handled_s)).replace(**changes)


def intent(nominal_s: int) -> Intent:
    return Intent(nominal_s, nominal_s, "ab" * 10, SCHEDULE)


def ended(nominal_s: int, outcome: Outcome = Outcome.EXECUTED, reason: str = "") -> Handled:
    return Handled(nominal_s, nominal_s, outcome, reason)


def run(name: str, nominal_s: int | None = None, **changes: Any) -> JobRun:
    """A Job that is going on; without a period, somebody triggered it."""
    return JobRun(
        namespace="ns",
        name=name,
        uid=f"uid of {name}",
        owner_uid="u1",
        kronjob="report",
        period="" if nominal_s is None else to_text(nominal_s),
        is_finished=False,
        is_failed=False,
        is_deleting=False,
        created_s=T0,
        finished_s=None,
        chosen_s=nominal_s,
    ).replace(**changes)


def finished(name: str, at_s: int, nominal_s: int | None = None, **changes: Any) -> JobRun:
    period = "" if nominal_s is None else to_text(nominal_s)
    result = RunResult(name, period, changes.get("is_failed", False), T0, at_s)
    return run(name, nominal_s, is_finished=True, finished_s=at_s, result=result, **changes)


def member(
    *runs: JobRun,
    known: Ledger | None = None,
    stored: Ledger | None = None,
    recorded: bool = True,
) -> ClusterMember:
    """One whose spec is right. `known`: its ledger; `stored`: the one that the API server has.

    `recorded`: whether its stored status has the results of its Jobs.
    """
    made = ClusterMember(metadata(), {each.name: each for each in runs}, Unwritten())
    made.kronjob = kronjob()
    made.load(known)
    if stored is not None:
        made.stored = Status(ledger=stored)
    if recorded:
        made.results = RunResults().including(*(each.result for each in runs if each.result))
        made.stored = made.stored.replace(results=made.results)
    return made
