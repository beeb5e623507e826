"""A pending run of krond: its intent is on disk, and its process does not exist yet."""

from __future__ import annotations

from collections.abc import Callable

from kron.core.instant import to_text
from kron.engine.ledger import Intent
from kron.krond.state.record import Ended, RunRecord
from kron.runtime.pending import Pending

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kron.krond.member import HostMember
    from kron.krond.run import Run
    from kron.krond.timers import Timer


class PendingRun(Pending):
    """A run to be, and what it waits for."""

    __slots__ = (
        "blockers",
        "deadline",
        "intent",
        "is_done",
        "latest_s",
        "member",
        "on_end",
        "tries",
        "waits_for",
    )

    def __init__(
        self,
        member: HostMember,
        run_id: str,
        intent: Intent | None = None,
        latest_s: int | None = None,
        *,
        replaces: bool = False,
    ) -> None:
        super().__init__(run_id, replaces=replaces)
        self.member = member
        self.intent = intent
        """None for a manual run."""
        self.latest_s = latest_s
        """The last second in which it may start; None: whenever it can."""
        self.blockers: list[Run] = []
        """The runs that it replaces and that have not ended."""
        self.waits_for = ""
        """Why it has not started yet, for people; '' if it has not had to wait."""
        self.tries = 0
        self.is_done = False
        """It has started, or never will."""
        self.deadline: Timer | None = None
        self.on_end: list[Callable[[Ended], None]] = []

    @property
    def nominal_s(self) -> int | None:
        """The nominal instant of its period; None for a manual run."""
        return None if self.intent is None else self.intent.nominal_s

    @property
    def chosen_s(self) -> int | None:
        """When it was to start; None for a manual run."""
        return None if self.intent is None else self.intent.chosen_s

    @property
    def period(self) -> str | None:
        """Its period as logs have it; None for a manual run."""
        return None if self.intent is None else to_text(self.intent.nominal_s)

    def record(self, boot_id: str) -> RunRecord:
        """A manual run that is about to start, as the next krond would have to know it."""
        return RunRecord(self.run_id, self.nominal_s, self.chosen_s, boot_id=boot_id)
