"""What is left to do to put a KronJob in the place of a CronJob, going by how both are now."""

from __future__ import annotations

from enum import StrEnum

from kron.core.errors import Code, KronError
from kron.core.frozen import Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Object = dict[str, Any]

FROM_ANNOTATION = "kron.io/migrated-from"
"""On the KronJob: the uid of the CronJob that it was made of."""
PENDING_ANNOTATION = "kron.io/migration"
"""On a KronJob whose migration is not complete: what comes last, RESUME or STAY."""
RESUME, STAY = "resume", "stay-suspended"


class Making(StrEnum):
    """What is to be done so that the KronJob is there, and what --dry-run says of it."""

    CREATE = "create the KronJob, suspended"
    REPLACE = "replace the KronJob of an earlier try, suspended"
    UPDATE = "bring the KronJob up to date, suspended"
    NOTHING = ""


class Plan(Frozen):
    """The steps that are left, in their order."""

    making: Making
    body: Object
    """The KronJob as it would be made."""
    suspends: bool
    """Whether the CronJob is to be suspended."""
    ending: str
    """RESUME or STAY; '' if the KronJob has been let go already."""

    @property
    def words(self) -> str:
        """It in words, for --dry-run."""
        endings = {RESUME: "resume the KronJob", STAY: "leave the KronJob suspended"}
        suspending = "suspend the CronJob" if self.suspends else ""
        steps = [str(self.making), suspending, endings.get(self.ending, "")]
        said = ", ".join(filter(None, steps))
        return f"would {said}" if said else "migrated already"


def plan(cronjob: Object, manifest: Object, kronjob: Object | None) -> Plan:
    """The steps for a CronJob whose KronJob would be `manifest` and, if there is one, is `kronjob`.

    `KronError` if the KronJob is somebody else's, or the migration was turned back.
    """
    uid, is_suspended = cronjob["metadata"]["uid"], is_suspended_cronjob(cronjob)
    ending = STAY if is_suspended else RESUME
    if kronjob is None:
        body = _suspended(manifest, uid, ending)
        return Plan(Making.CREATE, body, not is_suspended, ending)
    _check_origin(kronjob, uid)
    pending = _annotation(kronjob, PENDING_ANNOTATION)
    if not pending and _is_suspended_kronjob(kronjob) and not is_suspended:
        raise KronError(
            Code.STATE,
            "it was migrated and then turned back: the KronJob is suspended, the CronJob is not",
            "resume the KronJob and suspend the CronJob, or delete the KronJob to migrate anew",
        )
    making = Making.NOTHING
    body = _suspended(manifest, uid, pending or ending)
    if pending and not is_suspended:
        # An earlier try got no further, and the CronJob has run since. A KronJob that was there
        # meanwhile would catch up with what the CronJob has done; one that is new owes nothing.
        making, pending, body = Making.REPLACE, ending, _suspended(manifest, uid, ending)
    elif pending and kronjob["spec"] != body["spec"]:  # an edit since
        making = Making.UPDATE
    return Plan(making, body, not is_suspended, pending)


def is_suspended_cronjob(cronjob: Object) -> bool:
    """Whether a CronJob starts nothing."""
    return cronjob["spec"].get("suspend") is True


def _check_origin(kronjob: Object, uid: str) -> None:
    if _annotation(kronjob, FROM_ANNOTATION) != uid:
        raise KronError(
            Code.NAME_REPEATED,
            "a KronJob of this name is there already, and was not made of this CronJob",
            "delete it, or give one of them another name",
        )


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


def _is_suspended_kronjob(kronjob: Object) -> bool:
    return kronjob["spec"].get("policy", {}).get("suspend") is True


def _annotation(content: Object, key: str) -> str:
    annotations = content["metadata"].get("annotations") or {}
    value = annotations.get(key, "")
    return value if isinstance(value, str) else ""
