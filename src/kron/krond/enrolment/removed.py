"""The states of jobs that are no longer configured: kept for a while, then removed.

As long as there is a state, a job that comes back runs no period that it has handled. Without one
it counts as new: it owes nothing from before. The same schedule chooses the same, past time for a
period that was handled, so only one with a window longer than `KEPT_S` could choose a later one.

A state is removed only by a wall clock that went along with the boot clock for a whole day: one
that is wrong for less than that removes nothing. A job counts as removed since its file was last
written or, should the clock have been behind at that time, since its last period.
"""

from __future__ import annotations

from kron.core.duration import SECOND_NS
from kron.core.errors import Code, KronError, quoted
from kron.core.instant import DAY_S
from kron.krond.host import Host
from kron.krond.roster.roster import HostRoster
from kron.krond.state.errors import PersistenceError
from kron.krond.state.record import JobState, RunRecord
from kron.logs.event import Event, Level

KEPT_S = 30 * DAY_S
"""How long after its removal the state of a job is kept."""
STRAYED_NS = 60 * SECOND_NS
"""By how much the clocks may differ after a day: a time server slews them by 43 s at most."""


class RemovedStates:
    def __init__(self, host: Host, roster: HostRoster) -> None:
        self._host = host
        self._roster = roster
        self._offset_ns: int | None = None
        """Between the wall clock and the boot clock at the last look; None: no look is planned."""

    def watch(self) -> None:
        """Jobs were removed: look at their states, day after day, until none is left."""
        if self._offset_ns is None:
            self._plan_look()

    def forget(self, name: str) -> str:
        """Remove the state of the removed job called `name` or `<path>:<name>`: its identity.

        '' if no such job left a state.
        """
        if any(_is_called(name, identity) for identity in self._roster.retired):
            message = f"a run of the removed job {quoted(name)} is going on"
            raise KronError(Code.CONTROL, message, fix="wait for its end")
        found = [state for state in self._states() if _is_called(name, state.identity)]
        if len(found) > 1:
            places = ", ".join(state.identity for state in found[:5])
            message = f"{len(found)} removed jobs are called {quoted(name)}"
            raise KronError(Code.JOB_UNKNOWN, message, fix=f"name one of {places}")
        for state in found:
            if not self._is_over(state):
                message = f"a run of the removed job {quoted(name)} may be going on"
                raise KronError(Code.CONTROL, message, fix="wait for its end")
            self._host.store.remove(state.identity)
            return state.identity
        return ""

    def _plan_look(self) -> None:
        self._offset_ns = self._host.clock.offset_ns()
        self._host.timers.after(DAY_S * SECOND_NS, self._look)

    def _look(self) -> None:
        before_ns, self._offset_ns = self._offset_ns, None
        try:
            is_one_left = self._prune_old(before_ns or 0)
        except (KronError, OSError) as error:  # the next look may find a disk that is well
            self._host.journal.error("look for old states", str(error), level=Level.WARN)
            is_one_left = True
        if is_one_left:
            self._plan_look()

    def _prune_old(self, offset_ns: int) -> bool:
        """Remove what is old enough by a clock that is right. True if a state is left."""
        clock, store = self._host.clock, self._host.store
        now_ns = clock.now_ns()
        is_right = abs(clock.offset_ns() - offset_ns) <= STRAYED_NS
        is_one_left = False
        for state in self._states():
            removed_s = max(store.written_s(state.identity), state.ledger.last_handled_s)
            is_old = now_ns // SECOND_NS - removed_s >= KEPT_S
            if not (is_right and is_old and self._is_over(state) and self._prune(state)):
                is_one_left = True
        return is_one_left

    def _prune(self, state: JobState) -> bool:
        try:
            self._host.store.remove(state.identity)
        except PersistenceError as error:
            self._host.journal.error("remove an old state", str(error), level=Level.WARN)
            return False
        namespace, _, name = state.identity.rpartition(":")
        self._host.journal.event(Event.STATE_REMOVED, namespace=namespace, name=name)
        return True

    def _states(self) -> list[JobState]:
        known = [member.entry.identity for member in self._roster]
        return self._host.store.load_others([*known, *self._roster.retired])

    def _is_over(self, state: JobState) -> bool:
        """Whether none of its runs goes on or is about to start, as far as anybody can know."""
        if state.ledger.starting:
            return False
        is_this_boot = state.boot_id == self._host.processes.boot_id()
        return not (is_this_boot and any(map(self._may_go_on, state.active)))

    def _may_go_on(self, run: RunRecord) -> bool:
        noted = run if run.ticks is not None else self._host.store.noted_run(run.run_id)
        if noted is None or noted.pid is None or noted.ticks is None:
            return True
        return self._host.processes.is_alive(noted.pid, noted.ticks)


def _is_called(name: str, identity: str) -> bool:
    if name.startswith("/"):
        return identity == name or identity.endswith(f"/{name}")  # after a node id
    return identity.rpartition(":")[2] == name
