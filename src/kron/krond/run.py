"""A run: a process that was started for a period or by hand, until its end is on record."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

from kron.core.instant import optional_text
from kron.krond.member import HostMember
from kron.krond.state.record import MANUAL, Ended, RunRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kron.krond.timers import Timer


class Stage(IntEnum):
    """How far a run is on its way out."""

    RUNNING = 0
    ASKED = 1
    """Its group was sent TERM, and has its grace."""
    KILLED = 2


class Run:
    """A process group that krond watches. `ticks` tell it from a later process of the same pid."""

    __slots__ = (
        "began_ns",
        "chosen_s",
        "is_adopted",
        "is_over",
        "member",
        "nominal_s",
        "on_end",
        "pid",
        "run_id",
        "stage",
        "started_ns",
        "task",
        "ticks",
        "timer",
        "watched",
    )

    def __init__(
        self,
        member: HostMember,
        run_id: str,
        nominal_s: int | None,
        chosen_s: int | None,
        pid: int,
        ticks: int | None,
        started_ns: int,
        began_ns: int,
        *,
        is_adopted: bool = False,
    ) -> None:
        self.member = member
        self.task = member.entry.task
        """What the job was when the run was taken up: an edit is for the next one."""
        self.run_id = run_id
        self.nominal_s = nominal_s
        self.chosen_s = chosen_s
        self.pid = pid
        self.ticks = ticks
        """When its process began, as /proc counts; None for one started in this very moment."""
        self.started_ns = started_ns
        """By the wall clock, for people."""
        self.began_ns = began_ns
        """By the monotonic clock, for timeouts."""
        self.is_adopted = is_adopted
        """Started by a krond before this one, so krond is not its parent and cannot reap it."""
        self.stage = Stage.RUNNING
        self.is_over = False
        """Its first process has ended; others of its group may be there while it is stopped."""
        self.watched = -1
        """The pidfd of the process whose end is waited for."""
        self.timer: Timer | None = None
        self.on_end: list[Callable[[Ended], None]] = []
        """Called with its end, besides the history."""

    @property
    def period(self) -> str | None:
        """Its period as logs have it; None for a manual run."""
        return optional_text(self.nominal_s)

    def record(self, boot_id: str) -> RunRecord:
        """What the next krond needs to find it again."""
        return RunRecord(
            run_id=self.run_id,
            nominal_s=self.nominal_s,
            chosen_s=self.chosen_s,
            started_ns=self.started_ns,
            pid=self.pid,
            ticks=self.ticks,
            boot_id=boot_id,
        )

    def ended(
        self, ended_ns: int | None, exit_code: int | None, signal: int | None, reason: str = ""
    ) -> Ended:
        """Its end, for the history."""
        return Ended(
            nominal_s=self.nominal_s,
            chosen_s=self.chosen_s,
            outcome=MANUAL if self.nominal_s is None else "executed",
            reason=reason,
            run_id=self.run_id,
            started_ns=self.started_ns,
            ended_ns=ended_ns,
            exit_code=exit_code,
            signal=signal,
        )
