"""Orders: what people ask of a job, beside its schedule."""

from __future__ import annotations

from collections.abc import Callable

from kron.core.duration import SECOND_NS
from kron.core.errors import Code, KronError
from kron.krond.enrolment.removed import RemovedStates
from kron.krond.roster.member import HostMember
from kron.krond.roster.roster import HostRoster
from kron.krond.roster.run import PendingRun
from kron.krond.runs.starter import ProcessStarter
from kron.krond.state.record import Ended
from kron.krond.state.writeback import WriteBack
from kron.runtime.scheduler import Scheduler
from kron.waking.clock import Clock

FORGOTTEN = "the job was forgotten"


class Orders:
    def __init__(
        self,
        clock: Clock,
        roster: HostRoster,
        removed: RemovedStates,
        writeback: WriteBack,
        starter: ProcessStarter,
        scheduler: Scheduler[HostMember, PendingRun],
    ) -> None:
        self._clock = clock
        self._roster = roster
        self._removed = removed
        self._writeback = writeback
        self._starter = starter
        self._scheduler = scheduler

    def trigger(self, name: str, on_end: Callable[[Ended], None]) -> PendingRun:
        """Run a job now, outside any period."""
        if self._starter.is_closed:
            raise KronError(Code.CONTROL, "krond is stopping, and starts no more runs")
        self._writeback.check()
        member = self._roster.find(name)
        pending = self._starter.manual(member, on_end)
        member.pending.append(pending)
        self._writeback.commit([member])
        member.pending.remove(pending)  # nothing has changed, unless its intent is safe
        self._writeback.check()
        self._scheduler.request(member, pending)
        self._starter.go()
        return pending

    def forget(self, name: str) -> str:
        """Forget the past of a job, which may be removed: its identity. Its runs go on."""
        try:
            member = self._roster.find(name)
        except KronError:
            is_known = any(member.entry.name == name for member in self._roster)
            identity = "" if is_known else self._removed.forget(name)
            if not identity:
                raise
            return identity
        self._forget([member])
        return member.entry.identity

    def forget_ahead(self) -> list[HostMember]:
        """Forget the past of every job that ended periods by a clock that was ahead."""
        ahead = [member for member in self._roster if member.is_behind]
        self._forget(ahead)
        return ahead

    def _forget(self, members: list[HostMember]) -> None:
        self._writeback.check()
        now_ns = self._clock.now_ns()
        for member in members:
            self._scheduler.give_up(member, FORGOTTEN)
            member.forget(now_ns // SECOND_NS)
        self._scheduler.step(members, now_ns)
        if failure := self._writeback.failure:
            message = f"forgotten, but that is not safe yet: {failure.message}"
            raise KronError(failure.code, message, failure.fix)
