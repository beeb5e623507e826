"""Leftovers: processes that go on in the cgroup of a run that has ended, until they end too.

The run has its result; a job may leave a service behind on purpose. But while they go on, `forbid`
counts them, and `replace` ends them first. Nothing else ends them: no timeout, no end of krond.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable, Iterable

from kron.krond.cgroups import key_of
from kron.krond.host import Host
from kron.krond.process.cgroup import Cgroup, is_watched_populated
from kron.krond.roster.member import HostMember
from kron.krond.roster.run import Leftover


class Leftovers:
    """`on_gone` is called with each that has ended."""

    def __init__(self, host: Host, on_gone: Callable[[Leftover], None]) -> None:
        self._host = host
        self._on_gone = on_gone

    def keep(self, member: HostMember, run_id: str, cgroup: Cgroup) -> int:
        """A run has ended: watch what it has left in its cgroup, which is removed after that.

        Returns how many processes that are.
        """
        if not cgroup.is_populated():
            cgroup.remove()
            return 0
        leftover = Leftover(member, run_id, cgroup)
        try:
            leftover.watched = cgroup.watch()
        except OSError:
            return 0  # too many open files: the next krond finds it
        member.leftovers += (leftover,)
        self._host.poller.add(leftover.watched, select.EPOLLPRI, lambda _: self._look(leftover))
        self._look(leftover)
        return len(cgroup.processes())

    def find(self, members: Iterable[HostMember], active: Iterable[str]) -> None:
        """Take up what runs of the krond before this one have left, and remove what is empty.

        `active` are the runs that go on themselves. What is known already is left alone.
        """
        if self._host.cgroups is None:
            return
        known = {key_of(member.entry.identity): member for member in members}
        settled = set(active)
        for member in known.values():
            settled.update(leftover.run_id for leftover in member.leftovers)
        for key, run_id, cgroup in self._host.cgroups.found():
            if run_id in settled:
                continue
            if key in known:
                self.keep(known[key], run_id, cgroup)
            elif not cgroup.is_populated():
                cgroup.remove()

    def stop(self, leftover: Leftover) -> None:
        """Ask it to end, and see to it that it does after the job's grace."""
        if leftover.timer is not None:
            return
        for number in (signal.SIGTERM, signal.SIGCONT):
            leftover.cgroup.signal(number, except_group=0)
        grace_ns = leftover.member.entry.task.grace_ns
        leftover.timer = self._host.timers.after(grace_ns, leftover.cgroup.kill)

    def _look(self, leftover: Leftover) -> None:
        if is_watched_populated(leftover.watched):
            return
        if leftover.timer is not None:
            leftover.timer.cancel()
        self._host.poller.remove(leftover.watched)
        os.close(leftover.watched)
        leftover.cgroup.remove()
        kept = [each for each in leftover.member.leftovers if each is not leftover]
        leftover.member.leftovers = tuple(kept)
        self._on_gone(leftover)
