"""Write-back: the states of jobs to disk, before what depends on them and after what changes them.

What an intent depends on is committed at once. Everything else (an end, a missed period) is
gathered while the loop deals with what came in, and committed as a group before it waits again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kron.krond.state.store import StateStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kron.krond.member import HostMember


class WriteBack:
    """Store and committer of `kron.runtime`: knows what has changed since it was last stored."""

    def __init__(self, store: StateStore, boot_id: str) -> None:
        self._store = store
        self._boot_id = boot_id
        self._changed: dict[str, HostMember] = {}
        self._over: list[str] = []
        self._then: list[Callable[[], None]] = []

    def changed(self, job: HostMember, *, is_proven: bool = False) -> None:
        if not is_proven:  # a run that has begun has left its proof: stored with what comes next
            self._changed[job.entry.identity] = job

    def let_go(self, run_id: str) -> None:
        """Remove the proof of a run, once its end is stored."""
        self._over.append(run_id)

    def then(self, announce: Callable[[], None]) -> None:
        """Announce an end once it is stored: a crash in between must not lead to another end."""
        self._then.append(announce)

    def commit(self, jobs: Iterable[HostMember], *, starts: bool = False) -> None:
        # Where runs wait for it (`starts`), `flush` does the rest afterwards.
        states = []
        for job in jobs:
            self._changed.pop(job.entry.identity, None)
            states.append(job.state(self._boot_id))
        self._store.commit(states, quickly=starts)

    def flush(self) -> None:
        """Store every job that has changed, and drop the proofs of runs that are over."""
        if self._changed:
            self.commit(list(self._changed.values()))
        then, self._then = self._then, []
        for announce in then:
            announce()
        over, self._over = self._over, []
        for run_id in over:
            self._store.remove_proof(run_id)
        self._store.write_back()
