"""Putting a KronJob in the place of a CronJob, so that never both are active.

The KronJob is made suspended, then the CronJob is suspended, then the KronJob is let go. What is
left to do is written on the KronJob itself, so a second try goes on where a first one failed.
"""

from __future__ import annotations

from kron.core.errors import Code, KronError
from kron.kube.client.errors import ApiError
from kron.kube.client.resources import CRONJOBS, KRONJOBS
from kron.kube.kronctl.cluster import CONFLICT, find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from kron.kube.client.client import Client

    Object = dict[str, Any]

FROM_ANNOTATION = "kron.io/migrated-from"
"""On the KronJob: the uid of the CronJob that it was made of."""
PENDING_ANNOTATION = "kron.io/migration"
"""On a KronJob whose migration is not complete: what comes last, RESUME or STAY."""
TO_ANNOTATION = "kron.io/migrated-to"
"""On the CronJob: the KronJob that took its place."""
RESUME, STAY = "resume", "stay-suspended"

_TRIES = 5


async def apply(
    client: Client, cronjob: Object, manifest: Object, say: Callable[[str], None]
) -> None:
    """Take every step that is not taken yet. Each is told of when it is done."""
    kronjob = await _made(client, cronjob, manifest, say)
    pending = _annotation(kronjob, PENDING_ANNOTATION)
    if not pending and _is_suspended_kronjob(kronjob) and not _is_suspended(cronjob):
        raise KronError(
            Code.STATE,
            "it was migrated and then turned back: the KronJob is suspended, the CronJob is not",
            "resume the KronJob and suspend the CronJob, or delete the KronJob to migrate anew",
        )
    await _suspend(client, cronjob, say)
    if pending:
        await _let_go(client, kronjob, pending, say)
    else:
        say("migrated already")


async def _made(
    client: Client, cronjob: Object, manifest: Object, say: Callable[[str], None]
) -> Object:
    """The KronJob, suspended unless it has been let go already."""
    metadata = cronjob["metadata"]
    namespace, name, uid = metadata["namespace"], metadata["name"], metadata["uid"]
    body = _suspended(manifest, uid, STAY if _is_suspended(cronjob) else RESUME)
    kronjob = await find(client, KRONJOBS, namespace, name)
    if kronjob is None:
        try:
            kronjob = await client.create(KRONJOBS, namespace, body)
            say("KronJob created, suspended")
            return kronjob
        except ApiError as error:
            if error.status != CONFLICT:
                raise
            kronjob = await client.get(KRONJOBS, namespace, name)
    if _annotation(kronjob, FROM_ANNOTATION) != uid:
        raise KronError(
            Code.NAME_REPEATED,
            "a KronJob of this name is there already, and was not made of this CronJob",
            "delete it, or give one of them another name",
        )
    pending = _annotation(kronjob, PENDING_ANNOTATION)
    if pending and not _is_suspended(cronjob):
        # An earlier try got no further, and the CronJob has run since. A KronJob that was there
        # meanwhile would catch up with what the CronJob has done; one that is new owes nothing.
        await client.delete(KRONJOBS, namespace, name, uid=kronjob["metadata"]["uid"])
        kronjob = await client.create(KRONJOBS, namespace, body)
        say("KronJob of an earlier try replaced, suspended")
    elif pending and kronjob["spec"] != body["spec"]:  # an edit since
        body = _suspended(manifest, uid, pending)
        body["metadata"]["resourceVersion"] = kronjob["metadata"]["resourceVersion"]
        kronjob = await client.replace(KRONJOBS, namespace, name, body)
        say("KronJob brought up to date, suspended")
    return kronjob


async def _suspend(client: Client, cronjob: Object, say: Callable[[str], None]) -> None:
    """Suspend the CronJob as it was read: an edit in between is not passed over."""
    metadata = cronjob["metadata"]
    namespace, name = metadata["namespace"], metadata["name"]
    current: Object | None = cronjob
    for left in reversed(range(_TRIES)):
        if current is None or current["metadata"]["uid"] != metadata["uid"]:
            raise KronError(Code.JOB_UNKNOWN, "the CronJob was deleted meanwhile", "migrate again")
        if _is_suspended(current):
            return
        if current["metadata"].get("generation") != metadata.get("generation"):
            raise KronError(Code.STATE, "the CronJob was changed meanwhile", "migrate again")
        version = current["metadata"]["resourceVersion"]
        body = {
            "metadata": {"resourceVersion": version, "annotations": {TO_ANNOTATION: name}},
            "spec": {"suspend": True},
        }
        try:
            await client.patch(CRONJOBS, namespace, name, body)
        except ApiError as error:
            if error.status != CONFLICT or not left:  # its status changes with every run
                raise
            current = await find(client, CRONJOBS, namespace, name)
        else:
            say("CronJob suspended")
            return


async def _let_go(
    client: Client, kronjob: Object, pending: str, say: Callable[[str], None]
) -> None:
    metadata = kronjob["metadata"]
    body: Object = {"metadata": {"annotations": {PENDING_ANNOTATION: None}}}
    if pending == RESUME:
        body["spec"] = {"policy": {"suspend": None}}
    await client.patch(KRONJOBS, metadata["namespace"], metadata["name"], body)
    say("KronJob resumed" if pending == RESUME else "KronJob stays suspended, as the CronJob was")


def _suspended(manifest: Object, uid: str, pending: str) -> Object:
    metadata, spec = manifest["metadata"], manifest["spec"]
    annotations = {
        **metadata.get("annotations", {}),
        FROM_ANNOTATION: uid,
        PENDING_ANNOTATION: pending,
    }
    policy = {**spec["policy"], "suspend": True}
    return {
        **manifest,
        "metadata": {**metadata, "annotations": annotations},
        "spec": {**spec, "policy": policy},
    }


def _is_suspended(cronjob: Object) -> bool:
    return cronjob["spec"].get("suspend") is True


def _is_suspended_kronjob(kronjob: Object) -> bool:
    return kronjob["spec"].get("policy", {}).get("suspend") is True


def _annotation(content: Object, key: str) -> str:
    annotations = content["metadata"].get("annotations") or {}
    value = annotations.get(key, "")
    return value if isinstance(value, str) else ""
