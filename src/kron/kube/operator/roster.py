"""The roster: every KronJob there is, and the Jobs that carry their names.

What the API server tells of them in whatever order: a Job may be heard of before its KronJob.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kron.core.instant import from_text
from kron.kube.operator.member import Member
from kron.kube.resource.kronjob import Metadata
from kron.kube.resource.run import Run

Key = tuple[str, str]


class Roster:
    """The members, by namespace and name."""

    def __init__(self) -> None:
        self.members: dict[Key, Member] = {}
        self._runs: dict[Key, dict[str, Run]] = {}

    def __len__(self) -> int:
        return len(self.members)

    def __iter__(self) -> Iterator[Member]:
        return iter(list(self.members.values()))

    def find(self, key: Key) -> Member | None:
        """The member of that namespace and name."""
        return self.members.get(key)

    def add(self, metadata: Metadata) -> Member:
        """A new member, with the Jobs that are known of it."""
        key = (metadata.namespace, metadata.name)
        member = Member(metadata, self._runs.setdefault(key, {}))
        self.members[key] = member
        return member

    def remove(self, member: Member) -> None:
        """Forget a member. Its Jobs are forgotten when they are gone."""
        del self.members[member.key]
        self._tidy(member.key)

    def put_made(self, run: Run, gone: frozenset[str]) -> None:
        """A Job is there according to an answer: the watch may have told of it, and know better.

        `gone`: the uids of the Jobs that have gone since it was asked for.
        """
        known = self._runs.get((run.namespace, run.kronjob), {}).get(run.name)
        if run.uid not in gone and (known is None or known.uid != run.uid):
            self.put_run(run)

    def put_run(self, run: Run) -> Member | None:
        """A Job is there, or has changed. The member that it belongs to, if it is known."""
        key = (run.namespace, run.kronjob)
        if not _reads(run.period):
            return None  # somebody else's, whatever its labels say
        self._runs.setdefault(key, {})[run.name] = run
        return self._owner(run)

    def drop_run(self, namespace: str, name: str, kronjob: str) -> Member | None:
        """A Job is gone."""
        key = (namespace, kronjob)
        run = self._runs.get(key, {}).pop(name, None)
        self._tidy(key)
        owner = None if run is None else self._owner(run)
        if run is not None and owner is not None:
            for pending in owner.starting:
                pending.gone |= {run.uid}
        return owner

    def keep_runs(self, names: Iterable[Key], namespace: str | None) -> list[Member]:
        """Forget the Jobs that are not among these; the members that lost some."""
        kept = set(names)
        gone = [
            run
            for (of_namespace, _), runs in self._runs.items()
            if namespace in (None, of_namespace)
            for run in runs.values()
            if (of_namespace, run.name) not in kept
        ]
        owners = {self.drop_run(run.namespace, run.name, run.kronjob) for run in gone}
        return [owner for owner in owners if owner is not None]

    def _tidy(self, key: Key) -> None:
        if key not in self.members and not self._runs.get(key):
            self._runs.pop(key, None)

    def _owner(self, run: Run) -> Member | None:
        member = self.members.get((run.namespace, run.kronjob))
        return member if member is not None and member.metadata.uid == run.owner_uid else None


def _reads(period: str) -> bool:
    """Whether this is a period, or nothing: annotations can say anything."""
    from kron.core.errors import KronError

    try:
        return not period or from_text(period) is not None
    except KronError:
        return False
