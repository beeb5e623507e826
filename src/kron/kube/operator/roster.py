"""The roster: every KronJob, and the Jobs that carry their names.

The API server reports them in any order: a Job may come before its KronJob.

A period has one Job. The roster remembers the Jobs that have gone, so that it notices a second one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection

from kron.core.errors import KronError
from kron.core.instant import from_text
from kron.kube.client.reflector import Key
from kron.kube.operator.member import ClusterMember
from kron.kube.resource.kronjob import Metadata
from kron.kube.resource.run import JobRun
from kron.runtime.roster import Roster

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kron.runtime.ports import Store


_MOST_REMEMBERED = 20_000


class ClusterRoster(Roster[Key, ClusterMember]):
    def __init__(self) -> None:
        super().__init__()
        self._runs: dict[Key, dict[str, JobRun]] = {}
        self._gone: OrderedDict[tuple[str, str, str], str] = OrderedDict()
        """The uids of the Jobs that have gone lately, by owner, namespace and name."""
        self._unseen: set[Key] = set()
        """The Jobs that only an answer has shown: a list may be older than they are."""

    def enrol(self, metadata: Metadata, store: Store[Any]) -> ClusterMember:
        key = (metadata.namespace, metadata.name)
        member = ClusterMember(metadata, self._runs.setdefault(key, {}), store)
        self.add(key, member)
        return member

    def remove(self, key: Key) -> ClusterMember:
        """Forget a member. Its Jobs are forgotten when they are gone."""
        member = super().remove(key)
        self._tidy(key)
        return member

    def put_made(self, run: JobRun, gone: frozenset[str]) -> None:
        """An answer shows a Job. The watch may have shown it already, and know better.

        `gone`: the uids of the Jobs that have gone since it was asked for.
        """
        known = self._runs.get((run.namespace, run.kronjob), {}).get(run.name)
        if run.uid not in gone and (known is None or known.uid != run.uid):
            self.put_run(run)
            self._unseen.add((run.namespace, run.name))

    def put_found(self, run: JobRun) -> None:
        """An answer shows a Job that no watch had shown. It may have, meanwhile."""
        if self._gone.get(_lock(run)) != run.uid:
            self.put_made(run, frozenset())

    def put_run(self, run: JobRun) -> ClusterMember | None:
        """A Job is new or has changed. Returns the member that it belongs to, if that is known."""
        if not _reads(run.period):
            return None  # not of a KronJob, whatever its labels say
        self._runs.setdefault((run.namespace, run.kronjob), {})[run.name] = run
        self._unseen.discard((run.namespace, run.name))
        owner = self._owner(run)
        for pending in owner.pending if owner is not None else ():
            if pending.period == run.period:
                pending.seen = run
        return owner

    def earlier(self, run: JobRun) -> str:
        """The uid of another Job that the period of this Job has had lately; '' if it had none."""
        known = self._runs.get((run.namespace, run.kronjob), {}).get(run.name)
        if known is not None and known.owner_uid == run.owner_uid:
            uid = known.uid
        else:
            uid = self._gone.get(_lock(run), run.uid)
        return uid if run.period and run.owner_uid and uid != run.uid else ""

    def has_active(self, run: JobRun) -> bool:
        """Whether this Job had not finished when it was last heard of."""
        known = self._runs.get((run.namespace, run.kronjob), {}).get(run.name)
        return known is not None and known.uid == run.uid and not known.is_finished

    def drop_run(self, gone: JobRun) -> ClusterMember | None:
        """A Job is gone. Returns the member that it belonged to, if that is known."""
        key = (gone.namespace, gone.kronjob)
        runs = self._runs.get(key, {})
        run = runs.get(gone.name)
        if run is None or run.uid != gone.uid:
            return None  # not known, or a later Job has its name
        del runs[gone.name]
        self._unseen.discard((gone.namespace, gone.name))
        if run.period:
            self._gone[_lock(run)] = run.uid
            if len(self._gone) > _MOST_REMEMBERED:
                self._gone.popitem(last=False)
        self._tidy(key)
        owner = self._owner(run)
        for pending in owner.pending if owner is not None else ():
            pending.gone |= {run.uid}
        return owner

    def keep_runs(self, names: Collection[Key], namespace: str | None) -> list[ClusterMember]:
        """Forget the Jobs that are not among these; the members that lost some."""
        gone = [
            run
            for (of_namespace, _), runs in self._runs.items()
            if namespace in (None, of_namespace)
            for run in runs.values()
            if (of_namespace, run.name) not in names
            and (of_namespace, run.name) not in self._unseen
        ]
        owners = {self.drop_run(run) for run in gone}
        return [owner for owner in owners if owner is not None]

    def _tidy(self, key: Key) -> None:
        if key not in self._jobs and not self._runs.get(key):
            self._runs.pop(key, None)

    def _owner(self, run: JobRun) -> ClusterMember | None:
        member = self._jobs.get((run.namespace, run.kronjob))
        return member if member is not None and member.metadata.uid == run.owner_uid else None


def _lock(run: JobRun) -> tuple[str, str, str]:
    """What two Jobs of one period have in common."""
    return run.owner_uid, run.namespace, run.name


def _reads(period: str) -> bool:
    """Whether this is a period, or nothing: annotations can say anything."""
    try:
        return not period or from_text(period) is not None
    except KronError:
        return False
