"""The conditions of a KronJob: whether it is in order and, if not, what is wrong."""

from __future__ import annotations

from kron.core.frozen import Frozen
from kron.engine.actions import Outcome
from kron.engine.ledger import Handled
from kron.kube.resource.status import Condition, Status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kron.kube.operator.member import ClusterMember

READY = "Ready"
INVALID_SPEC = "InvalidSpec"
SCHEDULING_ERROR = "SchedulingError"
UNSCHEDULABLE = "Unschedulable"
ACCEPTED = "Accepted"
"""The reason for no error, once the API server has accepted a Job of this generation."""
NEWER_STATUS = "NewerStatus"
"""The reason that an operator gives which does not read the status of a newer one."""
UNKNOWN = "Unknown"
"""The reason of a stored condition that has none: an API server takes no condition without."""

NOT_READY = (INVALID_SPEC, NEWER_STATUS, SCHEDULING_ERROR)
"""The words of `why_not_ready`."""
_LONGEST_MESSAGE = 2_000


class Trouble(Frozen):
    """Why a run could not be made: a word, and what the API server said."""

    reason: str
    message: str
    generation: int = 0
    """The generation of the spec that it is about. Another one may have no such trouble."""


def trouble_of(status: Status) -> Trouble | None:
    """The trouble that a stored status names, for a new leader.

    An operator that does not read a status says so itself: one that reads it has no such trouble.
    """
    for each in status.conditions:
        if each.type == SCHEDULING_ERROR and each.status and each.reason != NEWER_STATUS:
            return Trouble(each.reason or UNKNOWN, each.message, each.generation)
    return None


def accepted_of(status: Status) -> int:
    """The generation of a Job that the API server accepts, as a stored status says; 0 for none."""
    for each in status.conditions:
        if each.type == SCHEDULING_ERROR and not each.status and each.reason == ACCEPTED:
            return each.generation
    return 0


def says_invalid(member: ClusterMember) -> bool:
    """Whether its stored status already says what is wrong with its spec."""
    return any(
        each.type == INVALID_SPEC
        and each.status
        and each.generation == member.metadata.generation
        and each.message == member.invalid[:_LONGEST_MESSAGE]
        for each in member.stored.conditions
    )


def conditions(member: ClusterMember, now_s: int) -> tuple[Condition, ...]:
    """All conditions of a member. One that stays as it was keeps the time of its last change."""
    before = {each.type: each for each in member.stored.conditions}

    def condition(type_: str, status: bool, reason: str, message: str) -> Condition:
        message = message[:_LONGEST_MESSAGE]
        known = before.get(type_)
        since_s = known.since_s if known is not None and known.status is status else now_s
        return Condition(type_, status, reason, message, since_s, member.metadata.generation)

    invalid = member.invalid
    trouble = Trouble(NEWER_STATUS, member.frozen) if member.frozen else _present_trouble(member)
    is_accepted = member.accepted == member.metadata.generation
    error = trouble or Trouble(ACCEPTED if is_accepted else "NoError", "")
    unscheduled = _unscheduled(member, before.get(UNSCHEDULABLE))
    time_found = ("NoTimeFound", unscheduled.reason) if unscheduled else ("TimeFound", "")
    return (
        condition(READY, *_ready(member, trouble)),
        condition(INVALID_SPEC, bool(invalid), "Invalid" if invalid else "Valid", invalid),
        condition(SCHEDULING_ERROR, trouble is not None, error.reason, error.message),
        condition(UNSCHEDULABLE, unscheduled is not None, *time_found),
    )


def why_not_ready(member: ClusterMember) -> str:
    """Which condition keeps it from running: a word of ours, '' if none does."""
    if member.invalid:
        return INVALID_SPEC
    if member.frozen:
        return NEWER_STATUS
    return SCHEDULING_ERROR if _present_trouble(member) is not None else ""


def _present_trouble(member: ClusterMember) -> Trouble | None:
    """Its trouble, unless that is about an earlier generation of its spec."""
    trouble = member.trouble
    is_present = trouble is not None and trouble.generation == member.metadata.generation
    return trouble if is_present else None


def _unscheduled(member: ClusterMember, known: Condition | None) -> Handled | None:
    """Its last period, if no second was left for it by the constraints that it still has."""
    ledger, stored = member.ledger, member.stored.ledger
    last = ledger.last if ledger is not None else None
    if ledger is None or last is None or last.outcome is not Outcome.UNSCHEDULABLE:
        return None
    if stored is None or known is None or stored.last != last:
        return last  # no status has said so yet
    return last if known.status and stored.schedule == ledger.schedule else None


def _ready(member: ClusterMember, trouble: Trouble | None) -> tuple[bool, str, str]:
    if member.invalid:
        return False, INVALID_SPEC, "the spec is invalid, so nothing is scheduled"
    if trouble is not None:
        return False, trouble.reason, trouble.message
    if member.is_suspended:
        return True, "Suspended", "nothing runs until the suspension is lifted"
    return True, "Scheduled", ""
