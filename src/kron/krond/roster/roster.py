"""The roster of krond: every job that is configured, and those that only have runs left."""

from __future__ import annotations

from kron.jobs.entry import Entry, find_entry
from kron.krond.roster.member import HostMember
from kron.runtime.roster import Roster


class HostRoster(Roster[str, HostMember]):
    """Jobs by identity."""

    def __init__(self) -> None:
        super().__init__()
        self.retired: dict[str, HostMember] = {}
        """The jobs that are no longer configured, until their runs have ended."""

    def retire(self, member: HostMember) -> None:
        """The job is no longer configured. Its runs go on."""
        self.remove(member.entry.identity)
        if member.runs or member.leftovers:
            self.retired[member.entry.identity] = member

    def is_retired(self, member: HostMember) -> bool:
        return self.get(member.entry.identity) is not member

    def bring_back(self, entry: Entry) -> HostMember | None:
        """The retired job of this entry, whose runs have not ended; None if it has none."""
        member = self.retired.pop(entry.identity, None)
        if member is not None:
            member.configure(entry)
            self.add(entry.identity, member)
        return member

    def run_ended(self, member: HostMember) -> None:
        """Forget the job with its last run, if it is retired."""
        if not (member.runs or member.leftovers):
            self.retired.pop(member.entry.identity, None)

    def entry(self, identity: str) -> Entry | None:
        """The job of this identity; None if it is neither configured nor has runs left."""
        member = self.get(identity) or self.retired.get(identity)
        return None if member is None else member.entry

    def find(self, name: str) -> HostMember:
        """The one job called `name`, or whose `<path>:<name>` that is."""
        entries = (member.entry for member in self)
        return self._jobs[find_entry(entries, name, hint="krond status shows all jobs").identity]
