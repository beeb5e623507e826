"""Write-back: the states of jobs to disk, before what depends on them and after what changes them.

What an intent depends on is committed at once. Everything else (an end, a missed period) is
gathered while the loop deals with what came in, and committed as a group before it waits again.
After a write that failed, what is known stays in memory until `write_all` has written it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from kron.krond.state.errors import PersistenceError
from kron.krond.state.record import Ended
from kron.krond.state.store import StateStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kron.krond.history.writer import History
    from kron.krond.notices.notices import Notices
    from kron.krond.roster.member import HostMember


class WriteBack:
    """Store and committer of `kron.runtime`: knows what has changed since it was last stored."""

    def __init__(self, store: StateStore, boot_id: str, history: History, notices: Notices) -> None:
        self.failure: PersistenceError | None = None
        """Why a write failed. Until `resume`, nothing is safe, and nothing may start."""
        self._store = store
        self._boot_id = boot_id
        self._history = history
        self._notices = notices
        self._ended: dict[str, list[tuple[Ended, int]]] = {}
        """What goes into the history with the next commit of a job, by its identity. Who is to
        hear of it is on disk before."""
        self._changed: dict[str, HostMember] = {}
        self._refused: dict[str, HostMember] = {}
        """The jobs that could not be stored since the first write failed."""
        self._over: deque[tuple[str, Callable[[], None] | None]] = deque()
        self._then: list[Callable[[], None]] = []

    def changed(self, job: HostMember, *, is_proven: bool = False) -> None:
        if not is_proven:  # a run that has begun has left its proof: stored with what comes next
            self._changed[job.entry.identity] = job

    def ended(self, job: HostMember, ended: Ended, count: int = 1) -> None:
        """A period or a run of the job has ended, or `count` periods have been missed at once.

        The caller has the job stored; then it is history.
        """
        self._ended.setdefault(job.entry.identity, []).append((ended, count))

    def ends(self, job: HostMember) -> int:
        """How many ends of the job are not history yet."""
        return len(self._ended.get(job.entry.identity, ()))

    def take_back_ends(self, job: HostMember, known: int) -> None:
        """Only the first `known` of them have happened."""
        if job.entry.identity in self._ended:
            del self._ended[job.entry.identity][known:]

    def let_go(self, run_id: str, announce: Callable[[], None] | None = None) -> None:
        """Once the end of a run is stored, remove its proof, and only then announce the end.

        So no end is announced twice: one that is stored while its proof exists was not announced,
        and the next krond does it.
        """
        self._over.append((run_id, announce))

    def then(self, announce: Callable[[], None]) -> None:
        """Announce an end without a run once it is stored, so that a crash in between does not
        lead to another end."""
        self._then.append(announce)

    def commit(self, jobs: Iterable[HostMember], *, starts: bool = False) -> bool:
        # Where runs wait for it (`starts`), `flush` does the rest afterwards.
        if self.failure is not None:
            return False
        if starts:
            self._store.check_not_lost()
        jobs = list(jobs)
        try:
            self._store_all(jobs, quickly=starts)
        except PersistenceError as error:
            self._refused |= {job.entry.identity: job for job in jobs}
            self.failed(error)
            return False
        return True

    def flush(self) -> bool:
        if self.failure is not None or not self.write_all():
            return False
        self._history.flush()
        return True

    def write_all(self) -> bool:
        """Store every job that has changed, and drop the proofs of runs that are over; also after
        a write that failed. False: not all of it."""
        try:
            self._store_all(list(self._changed.values()))
            then, self._then = self._then, []
            for announce in then:
                announce()
            while self._over:
                run_id, announce_end = self._over[0]
                self._store.remove_proof(run_id)
                self._over.popleft()
                if announce_end is not None:
                    announce_end()
            self._store.write_back()
        except PersistenceError as error:
            self.failed(error)
            return False
        return True

    def check(self) -> None:
        """Raise the failure, if there is one."""
        if self.failure is not None:
            raise self.failure

    def rehearse(self) -> bool:
        """Write as much as could not be written at first, once more. False: there is no room."""
        try:
            self._store.commit([job.state(self._boot_id) for job in self._refused.values()])
            self._store.try_proof()
        except PersistenceError as error:
            self.failed(error)
            return False
        return True

    def resume(self) -> None:
        """Everything could be written again."""
        self.failure = None
        self._refused.clear()

    def failed(self, error: PersistenceError) -> None:
        """A write failed. `StateLost` if no retry can help."""
        self._store.check_not_lost()
        self.failure = error

    def _store_all(self, jobs: list[HostMember], *, quickly: bool = False) -> None:
        """Store jobs: first who is to hear of what has ended, then the ends."""
        states = [job.state(self._boot_id) for job in jobs]
        ends = [
            (job.entry, ended, count)
            for job in jobs
            for ended, count in self._ended.get(job.entry.identity, ())
        ]
        parcels = self._notices.keep(ends) if ends else []
        try:
            self._store.commit(states, quickly=quickly)
        except PersistenceError:
            if not parcels:
                raise
            self._notices.drop(parcels)  # they may have taken the last room
            self._store.commit(states, quickly=quickly)
        for job in jobs:
            self._changed.pop(job.entry.identity, None)
            self._ended.pop(job.entry.identity, None)
        for end in ends:
            self._history.add(*end)
        if parcels:
            self._notices.send(parcels)
