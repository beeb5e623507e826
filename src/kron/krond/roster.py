"""The roster: every job that krond looks after, by its identity."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kron.core.frozen import Frozen
from kron.jobs.entry import Entry, find_entry
from kron.krond.member import Member


class Changes(Frozen):
    """What a new configuration would change."""

    added: tuple[Entry, ...]
    kept: tuple[tuple[Member, Entry], ...]
    removed: tuple[Member, ...]

    edited: int
    """How many of those kept are not what they were."""


class Roster:
    """The members that are configured, and those that only have runs left."""

    def __init__(self) -> None:
        self.members: dict[str, Member] = {}
        self._retired: dict[str, Member] = {}

    def __len__(self) -> int:
        return len(self.members)

    def __iter__(self) -> Iterator[Member]:
        return iter(self.members.values())

    def everybody(self) -> Iterator[Member]:
        """The members, the retired ones too."""
        yield from self.members.values()
        yield from self._retired.values()

    def changes(self, entries: Iterable[Entry]) -> Changes:
        """Compare with a new configuration."""
        added: list[Entry] = []
        kept: list[tuple[Member, Entry]] = []
        edited = 0
        left = dict(self.members)
        for entry in entries:
            member = left.pop(entry.identity, None)
            if member is None:
                added.append(entry)
            else:
                kept.append((member, entry))
                before, after = member.entry, entry
                edited += (before.schedule, before.task) != (after.schedule, after.task)
        return Changes(tuple(added), tuple(kept), tuple(left.values()), edited)

    def add(self, member: Member) -> None:
        """Look after this job."""
        self.members[member.entry.identity] = member

    def retire(self, member: Member) -> None:
        """The job is no longer configured. Its runs go on."""
        del self.members[member.entry.identity]
        member.is_retired = True
        if member.runs:
            self._retired[member.entry.identity] = member

    def is_retired(self, entry: Entry) -> bool:
        """Whether runs of this job, which is not configured, are still going on."""
        return entry.identity in self._retired

    def bring_back(self, entry: Entry) -> Member | None:
        """The retired member of this job, whose runs have not ended; None if there is none."""
        member = self._retired.pop(entry.identity, None)
        if member is not None:
            member.configure(entry)
            self.add(member)
        return member

    def run_ended(self, member: Member) -> None:
        """Forget a retired member with its last run."""
        if member.is_retired and not member.runs:
            self._retired.pop(member.entry.identity, None)

    def find(self, name: str) -> Member:
        """The one job called `name`, or whose `<path>:<name>` that is."""
        entries = (member.entry for member in self)
        return self.members[find_entry(entries, name, hint="krond status shows all jobs").identity]
