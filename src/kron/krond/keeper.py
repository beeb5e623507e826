"""The keeper: members' states to disk, before what depends on them and after what changes them.

What an intent depends on is committed at once. Everything else (an end, a period missed) is
gathered while the loop deals with what came in, and committed as a group before it waits again.
"""

from __future__ import annotations

from collections.abc import Iterable

from kron.krond.member import Member
from kron.krond.process.living import boot_id
from kron.krond.state.store import Store


class Keeper:
    """Knows which members have changed since they were last stored."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._touched: dict[str, Member] = {}
        self._over: list[str] = []

    def touch(self, member: Member) -> None:
        """Store the member before the loop waits again."""
        self._touched[member.entry.identity] = member

    def let_go(self, run_id: str) -> None:
        """Remove the proof of a run, once its end is stored."""
        self._over.append(run_id)

    def commit(self, members: Iterable[Member], *, quickly: bool = False) -> None:
        """Store these members now; a `PersistenceError` means that nothing may be started.

        `quickly`: something is to be started, and `flush` can do the rest afterwards.
        """
        states = []
        for member in members:
            self._touched.pop(member.entry.identity, None)
            states.append(member.state(boot_id()))
        if states:
            self._store.commit(states, quickly=quickly)

    def flush(self) -> None:
        """Store whoever was touched, and drop the proofs of runs that are over."""
        if self._touched:
            self.commit(list(self._touched.values()))
        over, self._over = self._over, []
        for run_id in over:
            self._store.remove_proof(run_id)
        self._store.settle()
