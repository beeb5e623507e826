"""A run: the Job of Kubernetes that is made for a period, and what such a Job says of itself.

The name of a Job follows from its KronJob and its period, so that the API server refuses a second
one whoever tries to make it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from kron.core.decision import ENGINE_VERSION, Decision
from kron.core.frozen import Frozen
from kron.core.instant import to_text
from kron.kube.resource.kronjob import API_VERSION, KIND, KronJob
from kron.kube.resource.untyped import instant_s, member, objects, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME_LABEL = "kron.io/name"
PERIOD_LABEL = "kron.io/period-id"
"""The period with `-` for `:`, since a label's value may hold none."""

PERIOD_ANNOTATION = "kron.io/period-id"
NOMINAL_ANNOTATION = "kron.io/nominal-time"
CHOSEN_ANNOTATION = "kron.io/chosen-time"
WINDOW_START_ANNOTATION = "kron.io/window-start"
WINDOW_END_ANNOTATION = "kron.io/window-end"
SEED_HASH_ANNOTATION = "kron.io/seed-hash"
SCHEDULE_ANNOTATION = "kron.io/schedule"
IDENTITY_ANNOTATION = "kron.io/identity"
ENGINE_ANNOTATION = "kron.io/engine"
ATTEMPTS_ANNOTATION = "kron.io/attempts"
MANUAL_ANNOTATION = "kron.io/manual"

_LARGEST_TTL_S = 2**31 - 1
_SPARE_S = 60
"""How much longer than its period could be started a finished Job is kept: clocks differ."""


class Run(Frozen):
    """A Job as the operator sees it."""

    namespace: str
    name: str
    uid: str
    owner_uid: str
    """The uid of the KronJob that controls it; '' if none does."""
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


def job_name(kronjob_name: str, period_id: str) -> str:
    """The name of the one Job that a period may have."""
    return f"{kronjob_name}-{hashlib.sha256(period_id.encode()).hexdigest()[:10]}"


def period_label(period_id: str) -> str:
    """The period as the value of a label."""
    return period_id.replace(":", "-")


def run_manifest(
    kronjob: KronJob, decision: Decision, slack_s: int, *, schedule_text: str = ""
) -> dict[str, Any]:
    """The Job for a period that has a chosen time.

    `schedule_text` is what was decided by, if that is not what the KronJob says now.
    """
    period_id = decision.period_id
    labels = {NAME_LABEL: kronjob.name, PERIOD_LABEL: period_label(period_id)}
    annotations = {
        PERIOD_ANNOTATION: period_id,
        NOMINAL_ANNOTATION: period_id,
        CHOSEN_ANNOTATION: "" if decision.chosen_s is None else to_text(decision.chosen_s),
        WINDOW_START_ANNOTATION: to_text(decision.window_start_s),
        WINDOW_END_ANNOTATION: to_text(decision.window_end_s),
        SEED_HASH_ANNOTATION: decision.seed_hash,
        SCHEDULE_ANNOTATION: schedule_text or kronjob.schedule_text,
        IDENTITY_ANNOTATION: decision.identity,
        ENGINE_ANNOTATION: str(ENGINE_VERSION),
        ATTEMPTS_ANNOTATION: str(decision.attempts),
    }
    job = _job(kronjob, job_name(kronjob.name, period_id), labels, annotations)
    _keep_while_startable(job["spec"], kronjob, slack_s)
    return job


def manual_manifest(kronjob: KronJob, suffix: str) -> dict[str, Any]:
    """A Job outside any period, as `kronctl trigger` makes it."""
    annotations = {
        MANUAL_ANNOTATION: "true",
        SCHEDULE_ANNOTATION: kronjob.schedule_text,
        IDENTITY_ANNOTATION: kronjob.identity,
    }
    return _job(kronjob, f"{kronjob.name}-{suffix}", {NAME_LABEL: kronjob.name}, annotations)


def read_run(job_object: Mapping[str, Any]) -> Run:
    """What a Job says of itself. Who owns it, only its owner references say."""
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
    is_manual = text(annotations, MANUAL_ANNOTATION) == "true"
    return Run(
        namespace=text(metadata, "namespace"),
        name=text(metadata, "name"),
        uid=text(metadata, "uid"),
        owner_uid=_owner_uid(metadata),
        kronjob=text(labels, NAME_LABEL),
        period="" if is_manual else text(annotations, PERIOD_ANNOTATION),
        is_finished=is_finished,
        is_failed=failed is not None,
        is_deleting=bool(text(metadata, "deletionTimestamp")),
        created_s=instant_s(metadata, "creationTimestamp") or 0,
        finished_s=ended_s if is_finished else None,
        chosen_s=instant_s(annotations, CHOSEN_ANNOTATION),
    )


def _job(
    kronjob: KronJob, name: str, labels: dict[str, str], annotations: dict[str, str]
) -> dict[str, Any]:
    import json

    template = json.loads(kronjob.template)
    spec = template["spec"]
    pods = spec["template"]
    pods["metadata"] = _metadata(pods, labels, annotations)
    metadata = {
        **_metadata(template, labels, annotations),
        "name": name,
        "namespace": kronjob.namespace,
        "ownerReferences": [_owner(kronjob)],
    }
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def _metadata(
    template: Mapping[str, Any], labels: dict[str, str], annotations: dict[str, str]
) -> dict[str, Any]:
    """The template's own metadata with ours, which wins: what a Job says of its period is so."""
    metadata = member(template, "metadata")
    return {
        **metadata,
        "labels": {**member(metadata, "labels"), **labels},
        "annotations": {**member(metadata, "annotations"), **annotations},
    }


def _owner(kronjob: KronJob) -> dict[str, Any]:
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "name": kronjob.name,
        "uid": kronjob.uid,
        "controller": True,  # without blockOwnerDeletion, which some clusters let few set
    }


def _keep_while_startable(spec: dict[str, Any], kronjob: KronJob, slack_s: int) -> None:
    """Its name is the lock: a Job must not vanish while its period could still be started."""
    ttl_s = spec.get("ttlSecondsAfterFinished")
    if type(ttl_s) is int:
        kept_s = min(kronjob.schedule.policy.deadline_s + slack_s + _SPARE_S, _LARGEST_TTL_S)
        spec["ttlSecondsAfterFinished"] = max(ttl_s, kept_s)


def _owner_uid(metadata: Mapping[str, Any]) -> str:
    for owner in objects(metadata, "ownerReferences"):
        is_ours = text(owner, "apiVersion").startswith("kron.io/") and owner.get("kind") == KIND
        if is_ours and owner.get("controller") is True:
            return text(owner, "uid")
    return ""


def _condition(status: Mapping[str, Any], kind: str) -> Mapping[str, Any] | None:
    for condition in objects(status, "conditions"):
        if condition.get("type") == kind and condition.get("status") == "True":
            return condition
    return None
