"""A run: pending until it has a process, then going on until its end is on record.

The intent of a pending run is on disk before anything starts it.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

from kron.krond.state.record import Ended, RunRecord
from kron.runtime.tracked import Pending

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kron.krond.loop.timers import Timer
    from kron.krond.process.cgroup import Cgroup
    from kron.krond.roster.attempts import Attempt
    from kron.krond.roster.member import HostMember


class PendingRun(Pending):
    __slots__ = (
        *("attempt", "blockers", "deadline", "instead_of", "is_done", "latest_s", "member"),
        *("on_end", "record", "retry", "tries", "waits_for", "worked_ns"),
    )

    def __init__(
        self, member: HostMember, record: RunRecord, latest_s: int | None = None, *, replaces: bool
    ) -> None:
        super().__init__(record.run_id, replaces=replaces)
        self.member = member
        self.record = record
        """Without a process, as the next krond would have to know it."""
        self.latest_s = latest_s
        """The last second in which it may start; None: whenever it can."""
        self.worked_ns: int | None = None
        """How much krond had worked when it was decided on. None: its work is no excuse."""
        self.attempt: Attempt | None = None
        """Set for a run that tries its period again."""
        self.instead_of = ""
        """The attempt whose place a manual run takes, for people; '' if there was none."""
        self.blockers: list[Run | Leftover] = []
        """The runs that it replaces and that have not ended, or what they have left behind."""
        self.waits_for = ""
        """Why it has not started yet, for people; '' if it has not had to wait."""
        self.tries = 0
        self.retry: Timer | None = None
        self.is_done = False
        """It has started, or never will."""
        self.deadline: Timer | None = None
        self.on_end: list[Callable[[Ended], None]] = []

    @property
    def nominal_s(self) -> int | None:
        return self.record.nominal_s


class Stage(IntEnum):
    """How far a run is on its way out."""

    RUNNING = 0
    ASKED = 1
    """Its group was sent TERM, and has its grace."""
    KILLED = 2


class Run:
    """A process group that krond watches."""

    __slots__ = (
        *("began_ns", "cgroup", "is_adopted", "is_over", "is_unwanted", "member", "on_end", "pid"),
        *("record", "run_id", "stage", "stopped_for", "task", "timer", "watched"),
    )

    def __init__(
        self, member: HostMember, record: RunRecord, pid: int, began_ns: int, *, is_adopted: bool
    ) -> None:
        self.member = member
        self.task = member.entry.task
        """What the job was when the run was taken up: an edit is for the next one."""
        self.run_id = record.run_id
        self.record = record
        """What the next krond needs to find it again. One started just now has no ticks yet."""
        self.pid = pid
        self.began_ns = began_ns
        """By the monotonic clock, for timeouts."""
        self.is_adopted = is_adopted
        """Started by a krond before this one, so krond is not its parent and cannot reap it."""
        self.stage = Stage.RUNNING
        self.stopped_for = ""
        """Why krond asked it to end, for people; '' if it did not."""
        self.is_unwanted = False
        """krond asked it to end, and not for its timeout: nothing is to be tried again."""
        self.is_over = False
        """Its first process has ended; others of its group may be there while it is stopped."""
        self.watched = -1
        """The pidfd of the process whose end is waited for."""
        self.cgroup: Cgroup | None = None
        """The one it has for itself, with what has left its process group."""
        self.timer: Timer | None = None
        self.on_end: list[Callable[[Ended], None]] = []
        """Called with its end, besides the history."""


class Leftover:
    """What a run that has ended left behind in its cgroup."""

    __slots__ = ("cgroup", "member", "run_id", "timer", "watched")

    def __init__(self, member: HostMember, run_id: str, cgroup: Cgroup) -> None:
        self.member = member
        self.run_id = run_id
        self.cgroup = cgroup
        self.timer: Timer | None = None
        """Set: it was asked to end, and has its grace."""
        self.watched = -1
