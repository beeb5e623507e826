"""Write-back: the states of jobs to disk, before what depends on them and after what changes them.

What an intent depends on is committed at once. Everything else (an end, a missed period) is
gathered while the loop deals with what came in, and committed as a group before it waits again.
After a write that failed, what is known stays in memory until `retry` has written it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from kron.krond.state.errors import PersistenceError
from kron.krond.state.store import StateStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kron.krond.member import HostMember


class WriteBack:
    """Store and committer of `kron.runtime`: knows what has changed since it was last stored."""

    def __init__(self, store: StateStore, boot_id: str) -> None:
        self.failure: PersistenceError | None = None
        """Why a write failed. Until `resume`, nothing is safe, and nothing may start."""
        self._store = store
        self._boot_id = boot_id
        self._changed: dict[str, HostMember] = {}
        self._over: deque[str] = deque()
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

    def commit(self, jobs: Iterable[HostMember], *, starts: bool = False) -> bool:
        # Where runs wait for it (`starts`), `flush` does the rest afterwards.
        if self.failure is not None:
            return False
        states = {job.entry.identity: job.state(self._boot_id) for job in jobs}
        try:
            self._store.commit(list(states.values()), quickly=starts)
        except PersistenceError as error:
            self.failed(error)
            return False
        for identity in states:
            self._changed.pop(identity, None)
        return True

    def flush(self) -> bool:
        return self.failure is None and self.retry()

    def retry(self) -> bool:
        """Store every job that has changed, and drop the proofs of runs that are over; also after
        a write that failed. False: not all of it."""
        try:
            self._store.commit([job.state(self._boot_id) for job in self._changed.values()])
            self._changed.clear()
            then, self._then = self._then, []
            for announce in then:
                announce()
            while self._over:
                self._store.remove_proof(self._over[0])
                self._over.popleft()
            self._store.write_back()
        except PersistenceError as error:
            self.failed(error)
            return False
        return True

    def check(self) -> None:
        """Raise the failure, if there is one."""
        if self.failure is not None:
            raise self.failure

    def resume(self) -> None:
        """Everything could be written again."""
        self.failure = None

    def failed(self, error: PersistenceError) -> None:
        """A write failed. `StateLost` if no retry can help."""
        self._store.check_not_lost()
        self.failure = error
