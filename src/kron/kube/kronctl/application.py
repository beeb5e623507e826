"""Putting a KronJob in the place of a CronJob, so that never both are active.

The KronJob is made suspended, then the CronJob is suspended, then the KronJob is let go. What is
left to do is written on the KronJob itself, so a second try goes on where a first one failed.
"""

from __future__ import annotations

from kron.core.errors import Code, KronError
from kron.kube.client.errors import ApiError
from kron.kube.client.resources import CRONJOBS, KRONJOBS
from kron.kube.kronctl.cluster import CONFLICT, find
from kron.kube.kronctl.plan import (
    FROM_ANNOTATION,
    PENDING_ANNOTATION,
    RESUME,
    Making,
    Plan,
    is_suspended_cronjob,
    plan,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from kron.kube.client.client import Client

    Object = dict[str, Any]

__all__ = ["FROM_ANNOTATION", "PENDING_ANNOTATION", "TO_ANNOTATION", "apply", "planned"]

TO_ANNOTATION = "kron.io/migrated-to"
"""On the CronJob: the KronJob that took its place."""

_TRIES = 5


async def planned(client: Client, cronjob: Object, manifest: Object) -> Plan:
    """What `apply` would do now."""
    return plan(cronjob, manifest, await _find(client, cronjob))


async def apply(
    client: Client, cronjob: Object, manifest: Object, say: Callable[[str], None]
) -> None:
    """Take every step that is not taken yet. Each is told of when it is done."""
    kronjob = await _find(client, cronjob)
    left = plan(cronjob, manifest, kronjob)
    try:
        await _make(client, left, kronjob, say)
    except ApiError as error:
        if error.status != CONFLICT or left.making is not Making.CREATE:
            raise
        kronjob = await _find(client, cronjob)  # somebody has made one since
        left = plan(cronjob, manifest, kronjob)
        await _make(client, left, kronjob, say)
    if left.suspends:
        await _suspend(client, cronjob, say)
    if left.ending:
        await _let_go(client, cronjob, left.ending, say)
    else:
        say("migrated already")


async def _find(client: Client, cronjob: Object) -> Object | None:
    metadata = cronjob["metadata"]
    return await find(client, KRONJOBS, metadata["namespace"], metadata["name"])


async def _make(
    client: Client, left: Plan, kronjob: Object | None, say: Callable[[str], None]
) -> None:
    """See to it that the KronJob is there, suspended unless it has been let go already."""
    body, metadata = left.body, left.body["metadata"]
    namespace, name = metadata["namespace"], metadata["name"]
    if left.making is Making.CREATE:
        await client.create(KRONJOBS, namespace, body)
        say("KronJob created, suspended")
        return
    assert kronjob is not None
    if left.making is Making.REPLACE:
        await client.delete(KRONJOBS, namespace, name, uid=kronjob["metadata"]["uid"])
        await client.create(KRONJOBS, namespace, body)
        say("KronJob of an earlier try replaced, suspended")
    elif left.making is Making.UPDATE:
        version = kronjob["metadata"]["resourceVersion"]
        body = {**body, "metadata": {**metadata, "resourceVersion": version}}
        await client.replace(KRONJOBS, namespace, name, body)
        say("KronJob brought up to date, suspended")


async def _suspend(client: Client, cronjob: Object, say: Callable[[str], None]) -> None:
    """Suspend the CronJob as it was read: an edit in between is not passed over."""
    metadata = cronjob["metadata"]
    namespace, name = metadata["namespace"], metadata["name"]
    current: Object | None = cronjob
    for left in reversed(range(_TRIES)):
        if current is None or current["metadata"]["uid"] != metadata["uid"]:
            raise KronError(Code.JOB_UNKNOWN, "the CronJob was deleted meanwhile", "migrate again")
        if is_suspended_cronjob(current):
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


async def _let_go(client: Client, cronjob: Object, ending: str, say: Callable[[str], None]) -> None:
    metadata = cronjob["metadata"]
    body: Object = {"metadata": {"annotations": {PENDING_ANNOTATION: None}}}
    if ending == RESUME:
        body["spec"] = {"policy": {"suspend": None}}
    await client.patch(KRONJOBS, metadata["namespace"], metadata["name"], body)
    say("KronJob resumed" if ending == RESUME else "KronJob stays suspended, as the CronJob was")
