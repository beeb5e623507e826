"""The conditions of a KronJob: whether it is in order and, if not, what is wrong."""

from __future__ import annotations

from kron.core.frozen import Frozen
from kron.engine.actions import Outcome
from kron.kube.resource.status import Condition, Status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kron.kube.operator.member import ClusterMember

READY = "Ready"
INVALID_SPEC = "InvalidSpec"
SCHEDULING_ERROR = "SchedulingError"
UNSCHEDULABLE = "Unschedulable"
NEWER_STATUS = "NewerStatus"
"""The reason that an operator gives which does not read the status of a newer one."""

_LONGEST_MESSAGE = 2_000


class Trouble(Frozen):
    """Why a run could not be made: a word, and what the API server said."""

    reason: str
    message: str


def trouble_of(status: Status) -> Trouble | None:
    """The trouble that a stored status names, for a new leader.

    An operator that does not read a status says so itself: one that reads it has no such trouble.
    """
    for each in status.conditions:
        if each.type == SCHEDULING_ERROR and each.status and each.reason != NEWER_STATUS:
            return Trouble(each.reason, each.message)
    return None


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
    trouble = Trouble(NEWER_STATUS, member.frozen) if member.frozen else member.trouble
    error = trouble or Trouble("NoError", "")
    last = member.ledger.last if member.ledger else None
    unscheduled = last if last is not None and last.outcome is Outcome.UNSCHEDULABLE else None
    time_found = ("NoTimeFound", unscheduled.reason) if unscheduled else ("TimeFound", "")
    return (
        condition(READY, *_ready(member, trouble)),
        condition(INVALID_SPEC, bool(invalid), "Invalid" if invalid else "Valid", invalid),
        condition(SCHEDULING_ERROR, trouble is not None, error.reason, error.message),
        condition(UNSCHEDULABLE, unscheduled is not None, *time_found),
    )


def _ready(member: ClusterMember, trouble: Trouble | None) -> tuple[bool, str, str]:
    if member.invalid:
        return False, INVALID_SPEC, "the spec is invalid, so nothing is scheduled"
    if trouble is not None:
        return False, trouble.reason, trouble.message
    if member.kronjob is not None and member.kronjob.schedule.policy.suspend:
        return True, "Suspended", "nothing runs until the suspension is lifted"
    return True, "Scheduled", ""
