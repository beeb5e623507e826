"""What the writer of the history promises: each end once, bounded, and never in krond's way."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kron.krond.history import database as made_by
from kron.krond.history import writer
from kron.krond.history.database import DATABASE, FILES
from kron.krond.history.writer import BATCH, EXPIRY_NS, KEPT, SURPLUS
from kron.krond.process.cgroup import Usage
from kron.krond.state.past import Past
from tests.krond.history.written import HOUR_S, Written, entry, executed, missed

EXPIRY_S = EXPIRY_NS // 10**9


@pytest.fixture
def written(tmp_path: Path) -> Iterator[Written]:
    made = Written(tmp_path)
    yield made
    made.close()


@pytest.fixture
def database(written: Written) -> Path:
    return written.path / DATABASE


def of_the_shell(database: Path) -> sqlite3.Connection:
    """What an administrator does with `sqlite3 history.db`."""
    return sqlite3.connect(database, timeout=0, isolation_level=None)


def give_away(database: Path) -> None:
    database.touch()
    os.chown(database, 65_534, -1)


def test_a_row_is_all_that_is_known_of_an_end(written: Written) -> None:
    written.history.used("run-0", Usage(1_234_567, 2**20))
    written.add(executed(reason="its reason", exit_code=None, signal=9))
    (row,) = written.rows()
    assert row == {
        "name": "backup",
        "file": "/etc/krond.d/jobs.kron",
        "identity": "/etc/krond.d/jobs.kron:backup",
        "period": "2026-03-01T02:00:00Z",
        "chosen": "2026-03-01T02:00:10Z",
        "outcome": "executed",
        "reason": "its reason",
        "count": 1,
        "run_id": "run-0",
        "started": "2026-03-01T02:00:12.000000000Z",
        "late_seconds": 2.0,
        "ended": "2026-03-01T02:00:13.500000000Z",
        "took_seconds": 1.5,
        "exit_code": None,
        "signal": "SIGKILL",
        "recorded": "2026-03-01T02:00:13.500000000Z",
        "succeeded": False,
        "cpu_seconds": 1.235,
        "peak_memory": 2**20,
    }


def test_the_file_of_an_earlier_krond_gets_the_columns_that_it_lacks(
    written: Written, database: Path
) -> None:
    with closing(of_the_shell(database)) as shell:
        shell.executescript(f"{made_by._STEPS[0]} PRAGMA user_version=1")
        shell.execute("INSERT INTO jobs VALUES (1, 'a', 'a', '/a', 1, 0)")
        values = "1, 1, 0, 0, 'executed', '', 'old', 0, 0, 0, NULL, 1, NULL"
        shell.execute(f"INSERT INTO ended VALUES ({values})")
    database.chmod(0o600)
    assert [row["cpu_seconds"] for row in written.rows()] == [None]
    written.history.used("run-0", Usage(2_000_000))
    written.add(executed())
    assert [row["cpu_seconds"] for row in written.rows()] == [None, 2.0]


def test_an_end_that_nobody_saw_has_the_time_at_which_it_was_found(written: Written) -> None:
    written.add(executed(exit_code=None, ended_ns=None))
    (row,) = written.rows()
    assert (row["ended"], row["took_seconds"], row["succeeded"]) == (None, None, None)
    assert row["recorded"] == "2026-03-01T02:00:00.000000000Z"


def test_periods_that_were_missed_at_once_are_one_row(written: Written) -> None:
    written.history.add(entry("backup"), missed(), 4_711)
    written.turn()
    (row,) = written.rows()
    assert (row["outcome"], row["count"], row["run_id"]) == ("missed", 4_711, "")


def test_a_run_has_one_row_and_so_has_a_period_without_a_run(written: Written) -> None:
    written.add(executed(0), missed(1), executed(2))
    written.add(missed(1), executed(0, exit_code=1))
    written.add(missed(1), job="another")
    assert written.run_ids() == ["run-2", "", "run-0", ""], "the later one counts"
    assert [row["name"] for row in written.rows()][-1] == "another"


def test_nothing_is_opened_before_something_ends_and_no_timer_is_left(
    written: Written, database: Path
) -> None:
    written.turn(100)
    assert not database.exists()
    assert not written.is_waiting()
    written.add(executed())
    assert not written.is_waiting()
    assert stat.S_IMODE(database.stat().st_mode) == 0o600


def test_many_rows_are_written_in_steps(written: Written) -> None:
    for number in range(2 * BATCH + 1):
        written.history.add(entry("backup"), executed(number))
    for expected in (BATCH, 2 * BATCH, 2 * BATCH + 1):
        written.turn()
        assert len(written.rows()) == expected
    assert not written.is_waiting()


def test_what_waits_is_written_at_the_end(written: Written) -> None:
    for number in range(BATCH + 1):
        written.history.add(entry("backup"), executed(number))
    written.history.close()
    assert len(written.rows()) == BATCH + 1


def test_half_a_character_in_a_reason_is_written_by_its_number(written: Written) -> None:
    written.add(executed(reason="no /tmp/\udcff\x1b[31m"))
    assert written.rows()[0]["reason"] == "no /tmp/\\udcff\x1b[31m"


# What is kept


def test_the_last_thousand_of_each_job_are_kept(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "KEPT", 10)
    monkeypatch.setattr(writer, "SURPLUS", 5)
    written.add(executed(1_000), job="another")
    for number in range(37):
        written.add(executed(number))
        assert len(written.rows(jobs=("backup",))) <= 15
    kept = written.run_ids(jobs=("backup",))
    assert kept == [f"run-{number}" for number in range(37 - len(kept), 37)]
    assert len(kept) >= 10
    assert written.run_ids(jobs=("another",)) == ["run-1000"]
    assert (KEPT, SURPLUS) == (1_000, 100), "docs/state.md says so"


def test_a_job_that_is_gone_is_dropped_after_400_days_and_no_other(written: Written) -> None:
    for job in ("gone", "rare"):
        written.add(executed(1 if job == "gone" else 2), job=job)
    written.clock.advance(EXPIRY_S - HOUR_S)
    written.add(executed(3), job="fresh")
    written.clock.advance(2 * HOUR_S)
    for is_look, left in ((False, 3), (True, 2)):
        if is_look:
            written.history.drop_expired(lambda identity: identity.endswith(":rare"))
        written.add(executed(4), job="fresh")
        assert len({row["name"] for row in written.rows()}) == left
    assert {row["name"] for row in written.rows()} == {"rare", "fresh"}


def test_one_expired_job_goes_with_a_write(written: Written) -> None:
    for number in range(4):
        written.add(executed(number), job=f"gone-{number}")
    written.clock.advance(EXPIRY_S + 1)
    written.history.drop_expired(lambda _: False)
    for left in (4, 3, 2, 1, 1):
        written.add(executed(9), job="fresh")
        assert len({row["name"] for row in written.rows()}) == left


# What a krond that was killed had not written


def test_what_the_states_know_and_the_history_lacks_comes_before_all_else(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "PASTS", 1)
    written.add(executed(0), missed(1))
    written.add(executed(10), job="whole")
    written.add(executed(20), job="forgotten")
    killed = written.history
    written.reopened().catch_up(
        [
            (entry("backup"), Past.of([executed(0), missed(1), executed(2), missed(3)])),
            (entry("whole"), Past.of([executed(10)])),
            (entry("forgotten"), Past()),
            (entry("first"), Past.of([executed(30)])),
        ]
    )
    written.history.add(entry("backup"), executed(4))
    for _ in range(4):
        written.turn()
    expected = ["run-0", "", "run-10", "run-20", "run-2", "", "run-30", "run-4"]
    assert written.run_ids() == expected
    assert not written.is_waiting()
    killed.close()


def test_what_the_history_has_stays_as_it_is_if_states_are_older(written: Written) -> None:
    written.history.add(entry("backup"), missed(0), 120)
    written.add(executed(1))
    before = written.rows()
    written.reopened().catch_up([(entry("backup"), Past.of([missed(0)]))])
    written.turn()
    assert written.rows() == before


def test_catching_up_waits_for_a_lock(written: Written, database: Path) -> None:
    written.add(executed(0))
    with closing(of_the_shell(database)) as shell:
        shell.execute("BEGIN IMMEDIATE")
        written.reopened().catch_up([(entry("backup"), Past.of([executed(0), executed(1)]))])
        written.turn()
        assert written.run_ids() == ["run-0"]
    written.turn(writer.FIRST_RETRY_NS / 10**9)
    assert written.run_ids() == ["run-0", "run-1"]


# What is in the way


def test_a_lock_is_not_waited_for_and_nothing_is_lost(written: Written, database: Path) -> None:
    written.add(executed(0))
    with closing(of_the_shell(database)) as shell:
        shell.execute("BEGIN IMMEDIATE")
        written.add(executed(1))
        written.add(executed(2))
        assert written.is_waiting()
        assert written.run_ids() == ["run-0"], "readers are not locked out"
    written.turn(writer.FIRST_RETRY_NS / 10**9)
    assert written.run_ids() == ["run-0", "run-1", "run-2"]
    assert not written.is_waiting()
    assert written.errors() == [], "a lock is nobody's fault"


def test_rows_that_wait_are_bounded_and_the_oldest_are_dropped_with_a_line(
    written: Written, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "WAITING", 5)
    written.add(executed(0))
    with closing(of_the_shell(database)) as shell:
        shell.execute("BEGIN IMMEDIATE")
        for number in range(1, 9):
            written.add(executed(number))
        written.turn(1_000)
    written.turn(1_000)
    assert written.run_ids() == ["run-0", *(f"run-{number}" for number in range(4, 9))]
    locked, dropped = written.errors()
    assert "database is locked" in locked
    assert "3 rows were dropped" in dropped


def test_an_open_reader_does_not_let_the_log_of_sqlite_grow_forever(
    written: Written, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "LARGEST_LOG", 100_000)
    written.add(executed(0))
    with closing(of_the_shell(database)) as shell:
        shell.execute("BEGIN")
        shell.execute("SELECT * FROM ended").fetchall()
        for number in range(1, 50):
            written.add(executed(number))
        assert written.is_waiting()
        assert Path(f"{database}-wal").stat().st_size < 200_000
    written.turn(1_000)
    assert len(written.rows()) == 50
    assert len(written.errors()) == 1


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda path: path.write_bytes(os.urandom(10_000)), id="noise"),
        pytest.param(lambda path: path.write_text("SQLite format 3\0"), id="cut-off"),
        pytest.param(
            lambda path: of_the_shell(path).execute("CREATE TABLE jobs (id)"), id="other-tables"
        ),
        pytest.param(lambda path: path.mkdir(), id="a-directory"),
        pytest.param(lambda path: path.symlink_to("/etc/passwd"), id="a-link"),
        pytest.param(lambda path: path.symlink_to("nowhere"), id="a-broken-link"),
        pytest.param(os.mkfifo, id="a-pipe"),
        pytest.param(lambda path: (path.touch(), path.chmod(0o666)), id="writable-by-others"),
        pytest.param(
            give_away,
            id="of-another-user",
            marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away"),
        ),
    ],
)
def test_a_file_that_is_no_history_is_set_aside(
    written: Written, database: Path, spoil: Callable[[Path], object]
) -> None:
    spoil(database)
    written.add(executed(0))
    written.turn(1_000)
    assert written.run_ids() == ["run-0"]
    (corrupt,) = written.events("state_corrupt")
    assert corrupt["file"] == str(database)
    assert os.path.lexists(str(corrupt["set_aside"]))
    assert written.errors() == []


def test_a_damaged_history_is_set_aside_with_its_log(written: Written, database: Path) -> None:
    written.add(*(executed(number) for number in range(BATCH)))
    written.history.close()
    size = database.stat().st_size
    killed = written.reopened()
    written.add(executed(1_000))
    with database.open("r+b") as file:
        file.seek(4_096)
        file.write(os.urandom(size - 4_096))
    written.reopened()
    written.add(executed(1_001))
    written.turn(1_000)
    (corrupt,) = written.events("state_corrupt")
    assert Path(f"{corrupt['set_aside']}-wal").exists()
    assert written.run_ids() == ["run-1001"]
    killed.close()


def test_a_file_that_is_damaged_again_and_again_is_set_aside_once(
    written: Written, database: Path
) -> None:
    for number in range(5):
        for name in FILES:
            (written.path / name).unlink(missing_ok=True)
        database.write_bytes(os.urandom(4_096))
        written.add(executed(number))
        written.turn(1_000)
    assert len(written.events("state_corrupt")) == 1
    assert len(list(written.path.glob("*.corrupt.*"))) == 1
    assert any("damaged again" in error for error in written.errors())


def test_a_file_that_was_removed_is_made_again(written: Written, database: Path) -> None:
    written.add(executed(0))
    database.unlink()
    written.add(executed(1))
    assert written.run_ids() == ["run-1"]


def test_a_directory_that_cannot_be_written_is_logged_once(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(writer, "open_for_writing", refuse)
        for number in range(3):
            written.add(executed(number))
            written.turn(1_000)
    written.turn(1_000)
    assert written.run_ids() == ["run-0", "run-1", "run-2"]
    assert written.errors() == ["Permission denied; runs are not affected"]


def test_a_python_without_sqlite_has_no_history(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "sqlite3", None)
    written.add(executed(0))
    assert not written.is_waiting()
    assert len(written.errors()) == 1


# Other versions


def test_the_file_of_a_later_version_with_more_columns_goes_on(
    written: Written, database: Path
) -> None:
    written.add(executed(0))
    with closing(of_the_shell(database)) as shell:
        shell.execute("ALTER TABLE ended ADD COLUMN output TEXT")
        shell.execute("PRAGMA user_version=7")
    written.reopened()
    written.add(executed(1))
    assert written.run_ids() == ["run-0", "run-1"]
    with closing(of_the_shell(database)) as shell:
        assert shell.execute("PRAGMA user_version").fetchone() == (7,)


def test_a_start_before_its_time_by_a_clock_that_was_behind_is_not_late(written: Written) -> None:
    ended = executed()
    assert ended.started_ns is not None
    written.add(ended.replace(started_ns=ended.started_ns - 3_600 * 10**9))
    assert written.rows()[0]["late_seconds"] is None
