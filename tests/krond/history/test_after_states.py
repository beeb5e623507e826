"""What reaches the history: an end whose state is stored, and nothing that was taken back."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from pathlib import Path

import pytest

from kron.engine.actions import SettleMany
from kron.engine.ledger import Ledger
from kron.krond.notices.courier import Parcel
from kron.krond.notices.notices import Notices
from kron.krond.roster.member import HostMember
from kron.krond.state.errors import PersistenceError
from kron.krond.state.record import JobState
from kron.krond.state.store import StateStore
from kron.krond.state.writeback import WriteBack
from tests.krond.history.written import NOW_S, Written, entry, executed


class FullStore(StateStore):
    """A store whose disk is full for as long as a test wants."""

    is_full = True

    def commit(self, states: Sequence[JobState], *, quickly: bool = False) -> None:
        if self.is_full and states:
            raise PersistenceError("no room", OSError(errno.ENOSPC, "no room"))
        super().commit(states, quickly=quickly)


class NoNotices(Notices):
    """Nobody hears of anything."""

    def __init__(self) -> None:
        pass

    def keep(self, _: object) -> list[Parcel]:
        return []


@pytest.mark.parametrize("is_committed", [True, False], ids=["committed", "flushed"])
def test_an_end_waits_for_its_state_and_one_that_was_taken_back_never_was(
    tmp_path: Path, is_committed: bool
) -> None:
    written = Written(tmp_path)
    store = FullStore.open(str(written.path))
    assert isinstance(store, FullStore)
    writeback = WriteBack(store, "boot", written.history, NoNotices())
    member = HostMember(entry("backup"), writeback)
    member.load(Ledger(schedule="0 * * * *", since_s=NOW_S))
    member.remember_end(executed(1))
    moment = member.moment()
    member.remember(SettleMany(20, NOW_S, NOW_S + 20), NOW_S * 10**9)
    assert not writeback.commit([member])
    member.take_back(moment, NOW_S)
    assert not writeback.flush()
    assert not (written.path / "history.db").exists()
    store.is_full = False
    writeback.resume()
    member.remember(SettleMany(7, NOW_S, NOW_S + 7), NOW_S * 10**9)
    if is_committed:
        assert writeback.commit([member])
    assert writeback.flush()
    assert [(row["run_id"], row["count"]) for row in written.rows()] == [("run-1", 1), ("", 7)]
    assert [end.run_id for end in member.past.history] == ["run-1", ""]
    store.close()
    written.close()
