"""A run that is to be: decided on, and its Job not there yet."""

from __future__ import annotations

from kron.core.decision import Decision
from kron.engine.actions import Outcome
from kron.kube.operator.member import Member

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio


class Pending:
    """The Job of one period, while it is being made."""

    __slots__ = (
        "decision",
        "given_up",
        "gone",
        "is_doubtful",
        "is_new",
        "latest_s",
        "member",
        "replaces",
        "schedule_text",
        "task",
    )

    def __init__(
        self,
        member: Member,
        decision: Decision,
        schedule_text: str,
        latest_s: int,
        *,
        replaces: bool,
    ) -> None:
        self.member = member
        self.decision = decision
        self.schedule_text = schedule_text
        """What it was decided by: the KronJob may be edited before its Job is there."""
        self.latest_s = latest_s
        """Until when it may still be made."""
        self.replaces = replaces
        self.is_new = True
        """It was not tried yet."""
        self.is_doubtful = False
        """A try got no answer that says whether the Job was made."""
        self.gone: frozenset[str] = frozenset()
        """The uids of Jobs of the KronJob that went meanwhile: its own may be among them."""
        self.given_up: tuple[Outcome, str] | None = None
        """How its period ends, if the Job is not made by the try that is under way."""
        self.task: asyncio.Task[None] | None = None

    @property
    def period(self) -> str:
        """Its period, as logs have it."""
        return self.decision.period_id
