"""A pending run: decided on, its intent on disk, and its process not there yet."""

from __future__ import annotations

from collections.abc import Callable

from kron.krond.member import Member
from kron.krond.run import Run, period_of
from kron.krond.state.record import Ended, RunRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kron.krond.timers import Timer


class Pending:
    """A run to be, and what it waits for."""

    __slots__ = (
        "blockers",
        "chosen_s",
        "deadline",
        "is_settled",
        "latest_s",
        "member",
        "nominal_s",
        "on_end",
        "run_id",
        "tries",
        "waits_for",
    )

    def __init__(
        self,
        member: Member,
        run_id: str,
        nominal_s: int | None = None,
        chosen_s: int | None = None,
        latest_s: int | None = None,
    ) -> None:
        self.member = member
        self.run_id = run_id
        self.nominal_s = nominal_s
        """None for a manual run."""
        self.chosen_s = chosen_s
        self.latest_s = latest_s
        """Until when it may start; None: there is no hurry."""
        self.blockers: list[Run] = []
        """The runs that it replaces, as long as they are there."""
        self.waits_for = ""
        """Why it is not there yet, for people; '' if it has not had to wait."""
        self.tries = 0
        self.is_settled = False
        """It has started, or never will."""
        self.deadline: Timer | None = None
        self.on_end: list[Callable[[Ended], None]] = []

    @property
    def period(self) -> str | None:
        """Its period as logs have it; None for a manual run."""
        return period_of(self.nominal_s)

    def record(self, boot_id: str) -> RunRecord:
        """A manual run that is about to start, as the next krond would have to know it."""
        return RunRecord(self.run_id, self.nominal_s, self.chosen_s, boot_id=boot_id)
