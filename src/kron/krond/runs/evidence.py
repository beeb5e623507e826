"""Evidence: what is left of the runs that a krond before this one started, or was about to.

It is looked for in /proc and in the proofs that runs leave behind. What follows from it, the
engine decides (`kron.engine.recovery`).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from contextlib import suppress

from kron.core.errors import KronError
from kron.core.instant import from_text
from kron.engine.recovery import Evidence, Sighting
from kron.krond.host import Host
from kron.krond.process.account import find_account
from kron.krond.process.failure import StartError
from kron.krond.roster.member import HostMember
from kron.krond.state.record import JobState, attempt_of


class Search:
    def __init__(self, host: Host) -> None:
        self._host = host
        self._boot_id = host.processes.boot_id()
        self.pids: dict[str, int] = {}
        """The process of every run that was found alive, by run id."""

    def sightings(self, member: HostMember, state: JobState) -> list[Sighting]:
        """All known runs of a job: those that krond watches already, and what is found of those
        that were about to start according to the state of the previous krond."""
        watched = [
            Sighting(run.run_id, run.record.nominal_s, run.record.chosen_s, Evidence.ALIVE)
            for run in member.runs
        ]
        starting = [
            Sighting(intent.run_id, intent.nominal_s, intent.chosen_s, evidence)
            for intent in state.ledger.starting
            if (evidence := self._evidence(intent.run_id, state)) is not None
        ]
        return watched + starting

    def _evidence(self, run_id: str, state: JobState) -> Evidence | None:
        if state.boot_id != self._boot_id:
            return Evidence.REBOOTED
        if run_id in self.pids:
            return Evidence.ALIVE
        return Evidence.BEGAN if self._host.store.has_proof(run_id) else None

    def look(self, jobs: Iterable[tuple[HostMember, JobState]]) -> None:
        """Look for the runs of these jobs, whose states the previous krond left."""
        self.pids.clear()
        unknown: dict[str, int] = {}
        for member, state in jobs:
            if state.boot_id != self._boot_id:
                continue  # nothing survives a reboot
            known = {run.run_id: run for run in state.active if run.pid is not None}
            starting = [intent.run_id for intent in state.ledger.starting]
            for run_id in (*(run.run_id for run in state.active), *starting):
                record = known.get(run_id) or self._host.store.noted_run(run_id)
                if record is None or record.pid is None or record.ticks is None:
                    unknown[run_id] = _uid_of(member)
                elif self._host.processes.is_alive(record.pid, record.ticks):
                    self.pids[run_id] = record.pid
        self.pids |= self._host.processes.find_runs(unknown)

    def strays(
        self, jobs: Iterable[HostMember], run_ids: Collection[str]
    ) -> list[tuple[HostMember, Sighting]]:
        """Those of these runs that go on and are of one of these jobs, of which no state reads.

        Which job a run is of, its environment says. For the run of a period its id confirms that.
        A manual run of one of several jobs with the same name and user is nobody's.
        """
        if not run_ids:
            return []
        named: dict[str, list[tuple[HostMember, int]]] = {}
        for member in jobs:
            named.setdefault(member.entry.name, []).append((member, _uid_of(member)))
        uids = {uid for members in named.values() for _, uid in members}
        found: dict[str, tuple[HostMember, Sighting]] = {}
        for claim in self._host.processes.claims(run_ids, uids):
            run_id, _ = attempt_of(claim.run_id)
            owners = [
                member
                for member, uid in named.get(claim.job, ())
                if uid == claim.uid
                and (not claim.period or member.job.run_id(claim.period) == run_id)
            ]
            if len(owners) == 1 and claim.run_id not in found:
                self.pids[claim.run_id] = claim.pid
                period_s, chosen_s = _instant(claim.period), _instant(claim.chosen)
                run = Sighting(claim.run_id, period_s, chosen_s, Evidence.ALIVE)
                found[claim.run_id] = owners[0], run
        return list(found.values())


def _instant(text: str) -> int | None:
    with suppress(KronError):  # a run can write anything there
        return from_text(text)
    return None


def _uid_of(member: HostMember) -> int:
    task = member.entry.task
    try:
        account = find_account(task.user, task.group)
    except StartError:
        return -1  # no user: such a run cannot have started
    return os.geteuid() if account is None else account.uid
