"""Replacing a CronJob by a KronJob, so that both are never active at once.

The KronJob is created suspended, then the CronJob is suspended, then the KronJob is resumed. The
remaining steps are written on the KronJob itself, so a second try continues where the first failed.
"""

from __future__ import annotations

from enum import Enum

from kron.core.errors import Code, KronError
from kron.kube.api_object import Object, member, text
from kron.kube.client.errors import CONFLICT, ApiError
from kron.kube.client.resources import CRONJOBS, KRONJOBS
from kron.kube.kronctl.lookup import find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kron.kube.client.client import Client

FROM_ANNOTATION = "kron.io/migrated-from"
"""On the KronJob: the uid of the CronJob that it was made from."""
PENDING_ANNOTATION = "kron.io/migration"
"""On a KronJob whose migration is not complete: the mark of the last step."""
TO_ANNOTATION = "kron.io/migrated-to"
"""On the CronJob: the KronJob that has replaced it."""

_TRIES = 5


class MigrationStep(Enum):
    """A step of a migration: in the words of --dry-run, when it is done, and its mark."""

    CREATE = ("create the KronJob, suspended", "KronJob created, suspended")
    REPLACE = (
        "replace the KronJob of an earlier try, suspended",
        "KronJob of an earlier try replaced, suspended",
    )
    UPDATE = ("update the KronJob, suspended", "KronJob updated, suspended")
    SUSPEND = ("suspend the CronJob", "CronJob suspended")
    RESUME = ("resume the KronJob", "KronJob resumed", "resume")
    STAY = (
        "leave the KronJob suspended",
        "KronJob stays suspended, as the CronJob was",
        "stay-suspended",
    )

    def __init__(self, would: str, done: str, mark: str = "") -> None:
        self.would = would
        self.done = done
        self.mark = mark


_WRITES = (MigrationStep.CREATE, MigrationStep.REPLACE, MigrationStep.UPDATE)


def plan(cronjob: Object, manifest: Object, kronjob: Object | None) -> tuple[MigrationStep, ...]:
    """The steps for a CronJob that becomes `manifest`; `kronjob` is the KronJob as it is now.

    The last one resumes the KronJob or leaves it suspended, unless the migration is complete.
    `KronError` if the KronJob was not made from this CronJob, or the migration was undone.
    """
    is_suspended = _is_suspended_cronjob(cronjob)
    suspending = () if is_suspended else (MigrationStep.SUSPEND,)
    ending = MigrationStep.STAY if is_suspended else MigrationStep.RESUME
    if kronjob is None:
        return (MigrationStep.CREATE, *suspending, ending)
    if _annotation(kronjob, FROM_ANNOTATION) != cronjob["metadata"]["uid"]:
        message = "a KronJob of this name exists, and was not made from this CronJob"
        raise KronError(Code.NAME_REPEATED, message, "delete it, or rename one of them")
    pending = _annotation(kronjob, PENDING_ANNOTATION)
    if not pending:
        if not is_suspended and member(member(kronjob, "spec"), "policy").get("suspend") is True:
            raise KronError(
                Code.STATE,
                "its migration was undone: the KronJob is suspended, the CronJob is not",
                "resume the KronJob and suspend the CronJob, or delete the KronJob to migrate "
                "again",
            )
        return suspending
    if not is_suspended:
        # An earlier try stopped here, and the CronJob has run since. The KronJob of that try would
        # run those periods again; a new one does not owe them.
        return (MigrationStep.REPLACE, *suspending, ending)
    ending = MigrationStep.RESUME if pending == MigrationStep.RESUME.mark else MigrationStep.STAY
    is_edited = kronjob.get("spec") != _suspended(cronjob, manifest, ending)["spec"]
    return (MigrationStep.UPDATE, ending) if is_edited else (ending,)


def _is_suspended_cronjob(cronjob: Object) -> bool:
    return member(cronjob, "spec").get("suspend") is True


def _suspended(cronjob: Object, manifest: Object, ending: MigrationStep) -> Object:
    """The KronJob as it is written: suspended, and with the mark of the last step."""
    metadata, spec = manifest["metadata"], manifest["spec"]
    annotations = {
        **metadata.get("annotations", {}),
        FROM_ANNOTATION: cronjob["metadata"]["uid"],
        PENDING_ANNOTATION: ending.mark,
    }
    policy = {**spec["policy"], "suspend": True}
    return {
        **manifest,
        "metadata": {**metadata, "annotations": annotations},
        "spec": {**spec, "policy": policy},
    }


def _annotation(content: Object, key: str) -> str:
    return text(member(content["metadata"], "annotations"), key)


async def planned(client: Client, cronjob: Object, manifest: Object) -> str:
    """What `apply` would do now."""
    steps = plan(cronjob, manifest, await _find(client, cronjob))
    return f"would {', '.join(step.would for step in steps)}" if steps else "already migrated"


async def apply(
    client: Client, cronjob: Object, manifest: Object, say: Callable[[str], None]
) -> None:
    """Take every step that is left, and report each when it is done."""
    try:
        steps = await _make(client, cronjob, manifest, say)
    except ApiError as error:
        if error.status != CONFLICT:
            raise
        steps = await _make(client, cronjob, manifest, say)  # it was created or edited since
    if MigrationStep.SUSPEND in steps and await _suspend(client, cronjob):
        say(MigrationStep.SUSPEND.done)
    if steps and steps[-1].mark:
        await _finish(client, cronjob, steps[-1])
        say(steps[-1].done)
    else:
        say("already migrated")


async def _find(client: Client, cronjob: Object) -> Object | None:
    metadata = cronjob["metadata"]
    return await find(client, KRONJOBS, metadata["namespace"], metadata["name"])


async def _make(
    client: Client, cronjob: Object, manifest: Object, say: Callable[[str], None]
) -> tuple[MigrationStep, ...]:
    """Create, replace or update the KronJob, if that is the first step; all steps."""
    kronjob = await _find(client, cronjob)
    steps = plan(cronjob, manifest, kronjob)
    if not steps or steps[0] not in _WRITES:
        return steps
    body = _suspended(cronjob, manifest, steps[-1])
    metadata = body["metadata"]
    namespace, name = metadata["namespace"], metadata["name"]
    if kronjob is not None and steps[0] is MigrationStep.UPDATE:
        version = kronjob["metadata"]["resourceVersion"]
        body = {**body, "metadata": {**metadata, "resourceVersion": version}}
        await client.replace(KRONJOBS, namespace, name, body)
    else:
        if kronjob is not None:
            await client.delete(KRONJOBS, namespace, name, uid=kronjob["metadata"]["uid"])
        await client.create(KRONJOBS, namespace, body)
    say(steps[0].done)
    return steps


async def _suspend(client: Client, cronjob: Object) -> bool:
    """Suspend the CronJob, unless it was edited since it was read; False if it is suspended."""
    metadata = cronjob["metadata"]
    namespace, name = metadata["namespace"], metadata["name"]
    current: Object | None = cronjob
    for left in reversed(range(_TRIES)):
        if current is None or current["metadata"]["uid"] != metadata["uid"]:
            raise KronError(Code.JOB_UNKNOWN, "the CronJob was deleted meanwhile", "migrate again")
        if _is_suspended_cronjob(current):
            return False
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
            return True
    raise AssertionError("the last try returns or raises")


async def _finish(client: Client, cronjob: Object, ending: MigrationStep) -> None:
    metadata = cronjob["metadata"]
    body: Object = {"metadata": {"annotations": {PENDING_ANNOTATION: None}}}
    if ending is MigrationStep.RESUME:
        body["spec"] = {"policy": {"suspend": None}}
    await client.patch(KRONJOBS, metadata["namespace"], metadata["name"], body)
