"""A run: the Kubernetes Job that is created for a period, and reading such a Job.

The name of a Job follows from its KronJob and its period, so the API server refuses to create it a
second time.
"""

from __future__ import annotations

import hashlib
from math import ceil
from sys import intern

from kron.core.decision import ENGINE_VERSION
from kron.core.frozen import Frozen
from kron.core.instant import to_text
from kron.engine.ledger import Intent
from kron.kube.api_object import Object, instant_s, integer, member, objects, text
from kron.kube.resource.kronjob import API_VERSION, KIND, KronJob
from kron.kube.resource.results import LONGEST_MESSAGE, LONGEST_REASON, RunResult
from kron.kube.resource.schema.reserved import without_reserved

NAME_LABEL = "kron.io/name"
PERIOD_ID = "kron.io/period-id"
"""An annotation, and a label with `-` for `:`, since a label's value may hold none."""
_CHOSEN_TIME = "kron.io/chosen-time"
_MANUAL = "kron.io/manual"
_FENCE = "kron.io/fence"
_FOREGROUND = "foregroundDeletion"
"""The finalizer of a Job that is deleted after its Pods."""

_FENCED: Object = {
    "metadata": {"annotations": {_FENCE: "true"}},
    "spec": {"suspend": True, "parallelism": 0},
}
_LONGEST_JOB_NAME = 63
_LARGEST_TTL_S = 2**31 - 1
_CLOCKS_DIFFER_S = 60


class JobRun(Frozen):
    namespace: str
    name: str
    uid: str
    owner_uid: str
    """The uid of the KronJob that controls it, or ''."""
    kronjob: str
    """The name on its label."""
    period: str
    """'' for a manual run."""
    is_finished: bool
    is_failed: bool
    is_deleting: bool
    created_s: int
    finished_s: int | None
    chosen_s: int | None = None
    is_fence: bool = False
    """It runs nothing, or nothing any more, and holds the name of the Job of its period."""
    pods: int = 0
    """How many of its Pods run, or are about to end."""
    result: RunResult | None = None
    """None if it has not finished, or was deleted before it had."""
    is_held: bool = False
    """It is being deleted and has no Pods: only a finalizer of somebody else still holds it."""

    @property
    def is_active(self) -> bool:
        """Whether Pods of it may run, now or later."""
        return not self.is_finished and not self.is_held


def job_name(kronjob_name: str, period_id: str) -> str:
    """The name of the one Job that a period may have."""
    return f"{kronjob_name}-{hashlib.sha256(period_id.encode()).hexdigest()[:10]}"


def run_manifest(kronjob: KronJob, intent: Intent, spare_s: float) -> Object:
    """The Job for a period that is about to start.

    `spare_s`: how long after its deadline a request for it may still arrive.

    Its annotations have the decision as it was made, even if the KronJob was edited since. If that
    cannot be made again from the intent, they say when the Job was to run, and nothing of why.
    """
    period_id = to_text(intent.nominal_s)
    labels = {NAME_LABEL: kronjob.name, PERIOD_ID: period_id.replace(":", "-")}
    annotations = {
        PERIOD_ID: period_id,
        "kron.io/nominal-time": period_id,
        _CHOSEN_TIME: to_text(intent.chosen_s),
        "kron.io/identity": kronjob.identity,
    }
    decision = intent.decision(kronjob.job)
    if decision is not None:
        is_edited = intent.schedule != kronjob.job.text
        annotations |= {
            "kron.io/window-start": to_text(decision.window_start_s),
            "kron.io/window-end": to_text(decision.window_end_s),
            "kron.io/seed-hash": decision.seed_hash,
            "kron.io/schedule": intent.schedule if is_edited else kronjob.schedule_text,
            "kron.io/engine": str(ENGINE_VERSION),
            "kron.io/attempts": str(decision.attempts),
        }
    job = _job(kronjob, job_name(kronjob.name, period_id), labels, annotations)
    _keep_while_startable(job["spec"], kronjob, spare_s)
    return job


def fence_manifest(kronjob: KronJob, intent: Intent) -> Object:
    """A Job in place of the one that a period might still get.

    It has no Pods, even if something resumes it, as queueing controllers do. The template is that
    of the Job itself, because policies of the cluster may refuse another.
    """
    job = run_manifest(kronjob, intent, 0)
    job["metadata"]["annotations"] |= _FENCED["metadata"]["annotations"]
    job["spec"] |= _FENCED["spec"]
    job["spec"].pop("ttlSecondsAfterFinished", None)
    return job


def fence_patch(run: JobRun) -> Object:
    """A merge patch that ends the Pods of a Job, and keeps its name taken."""
    return {**_FENCED, "metadata": {**_FENCED["metadata"], "uid": run.uid}}


def manual_manifest(kronjob: KronJob, suffix: str) -> Object:
    """A Job outside any period, whose name ends in as much of the suffix as fits."""
    name = f"{kronjob.name}-{suffix}"[:_LONGEST_JOB_NAME]
    annotations = {
        _MANUAL: "true",
        "kron.io/schedule": kronjob.schedule_text,
        "kron.io/identity": kronjob.identity,
    }
    return _job(kronjob, name, {NAME_LABEL: kronjob.name}, annotations)


def read_run(job_object: Object) -> JobRun:
    """Read a Job. Its owner is taken from the owner references alone."""
    metadata = member(job_object, "metadata")
    labels = member(metadata, "labels")
    annotations = member(metadata, "annotations")
    status = member(job_object, "status")
    complete, failed = _condition(status, "Complete"), _condition(status, "Failed")
    ended_s = instant_s(status, "completionTime")
    for condition in (failed, complete):
        if condition is not None and ended_s is None:
            ended_s = instant_s(condition, "lastTransitionTime")
    is_finished = complete is not None or failed is not None
    owner_uid = _owner_uid(metadata)
    spec = member(job_object, "spec")
    is_idle = spec.get("suspend") is True or spec.get("parallelism") == 0
    is_fence = text(annotations, _FENCE) == "true" and bool(owner_uid) and is_idle
    period = text(annotations, PERIOD_ID)
    created_s = instant_s(metadata, "creationTimestamp") or 0
    is_deleting = bool(text(metadata, "deletionTimestamp"))
    return JobRun(
        namespace=text(metadata, "namespace"),
        name=text(metadata, "name"),
        uid=text(metadata, "uid"),
        owner_uid=owner_uid,
        kronjob=text(labels, NAME_LABEL),
        period=period,
        is_finished=is_finished,
        is_failed=failed is not None,
        is_deleting=is_deleting,
        created_s=created_s,
        finished_s=ended_s if is_finished else None,
        chosen_s=instant_s(annotations, _CHOSEN_TIME),
        result=None
        if is_fence or not is_finished
        else _result(metadata, status, period, created_s, ended_s),
        is_fence=is_fence,
        pods=integer(status, "active") + integer(status, "terminating"),
        is_held=is_deleting and not _has_pods(metadata, status),
    )


def _result(
    metadata: Object, status: Object, period: str, created_s: int, ended_s: int | None
) -> RunResult | None:
    """How a finished Job ended; None if that is the work of who deleted it."""
    finished_s = created_s if ended_s is None else ended_s
    deleted_s = instant_s(metadata, "deletionTimestamp")
    if deleted_s is not None and finished_s >= deleted_s:
        return None  # its Pods were stopped, and what a Job controller makes of that is no news
    failed = _condition(status, "Failed")
    started_s = instant_s(status, "startTime")
    return RunResult(
        text(metadata, "name"),
        period,
        failed is not None,
        created_s if started_s is None else started_s,
        finished_s,
        intern(text(failed or {}, "reason")[:LONGEST_REASON]),
        intern(text(failed or {}, "message")[:LONGEST_MESSAGE]),
    )


def _has_pods(metadata: Object, status: Object) -> bool:
    """Whether a Job that is being deleted still has Pods.

    The Job controller goes on to count them. Its count may lag behind, and older ones leave out
    those that are terminating; the finalizer says that not all of them are gone.
    """
    finalizers = metadata.get("finalizers")
    is_foreground = isinstance(finalizers, list) and _FOREGROUND in finalizers
    return is_foreground or integer(status, "active") + integer(status, "terminating") > 0


def _job(
    kronjob: KronJob, name: str, labels: dict[str, str], annotations: dict[str, str]
) -> Object:
    import json

    template = json.loads(kronjob.template)
    spec = template["spec"]
    pods = spec["template"]
    pods["metadata"] = _metadata(pods, labels, annotations)
    owner = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "name": kronjob.name,
        "uid": kronjob.uid,
        "controller": True,  # without blockOwnerDeletion, which needs a right that few have
    }
    metadata = {
        **_metadata(template, labels, annotations),
        "name": name,
        "namespace": kronjob.namespace,
        "ownerReferences": [owner],
    }
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def _metadata(template: Object, labels: dict[str, str], annotations: dict[str, str]) -> Object:
    """The template's metadata with ours. A template cannot say what only Kron may say of a Job."""
    metadata = without_reserved(member(template, "metadata"))
    return {
        **metadata,
        "labels": member(metadata, "labels") | labels,
        "annotations": member(metadata, "annotations") | annotations,
    }


def _keep_while_startable(spec: Object, kronjob: KronJob, spare_s: float) -> None:
    """A Job must not be deleted while a request for it may arrive: its name is the lock."""
    ttl_s = spec.get("ttlSecondsAfterFinished")
    if type(ttl_s) is int and ttl_s >= 0:  # the API server refuses a negative one
        kept_s = min(
            ceil(kronjob.schedule.policy.deadline_s + spare_s + _CLOCKS_DIFFER_S), _LARGEST_TTL_S
        )
        spec["ttlSecondsAfterFinished"] = max(ttl_s, kept_s)


def _owner_uid(metadata: Object) -> str:
    for owner in objects(metadata, "ownerReferences"):
        is_ours = text(owner, "apiVersion").startswith("kron.io/") and owner.get("kind") == KIND
        if is_ours and owner.get("controller") is True:
            return text(owner, "uid")
    return ""


def _condition(status: Object, kind: str) -> Object | None:
    conditions = objects(status, "conditions")
    held = (each for each in conditions if (each.get("type"), each.get("status")) == (kind, "True"))
    return next(held, None)
