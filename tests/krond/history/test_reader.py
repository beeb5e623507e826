"""What the reader of the history promises: the rows asked for, in order, and no surprises."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from kron.core.errors import Code, KronError
from kron.krond.history import reader
from kron.krond.history.database import DATABASE
from kron.krond.history.reader import Selection, open_history
from tests.krond.history.written import HOUR_S, NOW_S, Written, entry, executed, missed


@pytest.fixture
def written(tmp_path: Path) -> Iterator[Written]:
    made = Written(tmp_path)
    yield made
    made.close()


def test_nothing_has_ended_yet(written: Written) -> None:
    with open_history(str(written.path)) as found:
        assert found is None


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        pytest.param({}, "012345", id="all"),
        pytest.param({"limit": 2}, "45", id="the-latest"),
        pytest.param({"limit": 100}, "012345", id="no-more-than-there-are"),
        pytest.param({"since_s": NOW_S + 3 * HOUR_S}, "345", id="since"),
        pytest.param({"until_s": NOW_S + 3 * HOUR_S}, "012", id="until"),
        pytest.param({"since_s": NOW_S + 3 * HOUR_S + 60, "limit": 1}, "5", id="since-and-limit"),
        pytest.param({"outcome": "ok"}, "0", id="ok"),
        pytest.param({"outcome": "failed"}, "124", id="failed"),
        pytest.param({"outcome": "missed"}, "3", id="missed"),
        pytest.param({"outcome": "executed"}, "01245", id="executed"),
        pytest.param({"outcome": "failed", "limit": 1}, "4", id="the-last-failure"),
        pytest.param({"outcome": "manual"}, "", id="none"),
    ],
)
def test_the_rows_that_were_asked_for_come_oldest_first(
    written: Written, monkeypatch: pytest.MonkeyPatch, selection: dict[str, Any], expected: str
) -> None:
    monkeypatch.setattr(reader, "PAGE", 2)
    written.add(
        executed(0),
        executed(1, exit_code=3),
        executed(2, exit_code=None, signal=15),
        missed(3),
        executed(4, reason="it timed out"),
        executed(5, exit_code=None),
    )
    found = written.rows(**selection)
    hours = [(int(row["period"][11:13]) - 2) % 24 for row in found]
    assert "".join(map(str, hours)) == expected


def test_the_database_and_the_state_have_one_idea_of_success(written: Written) -> None:
    ways: dict[str, tuple[Any, ...]] = {
        "exit_code": (None, 0, 3),
        "signal": (None, 9),
        "reason": ("", "it timed out"),
        "outcome": ("executed", "manual"),
        "started_ns": (None, 1),
        "ended_ns": (None, 2),
    }
    ends = [
        executed(number, **dict(zip(ways, way, strict=True)))
        for number, way in enumerate(product(*ways.values()))
    ]
    written.add(*ends)
    for outcome, result in (("ok", True), ("failed", False)):
        expected = [ended.run_id for ended in ends if ended.succeeded is result]
        assert written.run_ids(outcome=outcome) == expected
    assert [row["succeeded"] for row in written.rows()] == [ended.succeeded for ended in ends]


def test_jobs_are_found_by_name_or_with_their_file(written: Written) -> None:
    for path in ("/etc/a.kron", "/etc/b.kron"):
        written.history.add(entry("backup", path), executed(run_id=path[5:6]))
        written.history.add(entry("other", path), executed(run_id=f"o{path[5:6]}"))
    written.turn()
    assert written.run_ids(jobs=("backup",)) == ["a", "b"]
    assert written.run_ids(jobs=("/etc/b.kron:backup",)) == ["b"]
    assert written.run_ids(jobs=("/etc/b.kron:backup", "other")) == ["oa", "b", "ob"]
    with open_history(str(written.path)) as found:
        assert found is not None
        assert found.longest_name(Selection(jobs=("other",))) == "other"
        assert found.longest_name(Selection()) == "backup"


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("bakup", 'did you mean "backup"?'),
        ("' OR 1 --", "krond status"),
        ("\0\x1b", "krond status"),
    ],
)
def test_a_job_without_a_row_is_an_error_with_a_fix(written: Written, name: str, fix: str) -> None:
    written.add(executed())
    with pytest.raises(KronError) as caught:
        written.rows(jobs=(name,))
    assert caught.value.code is Code.JOB_UNKNOWN
    assert fix in caught.value.fix
    assert "\x1b" not in str(caught.value)


def test_the_last_success_is_found_behind_any_number_of_failures(written: Written) -> None:
    written.add(executed(0), executed(1), *(executed(n, exit_code=1) for n in range(2, 50)))
    written.add(executed(100), job="other")
    with open_history(str(written.path)) as found:
        assert found is not None
        success_ns = found.last_success_ns(entry("backup").identity)
        assert success_ns == executed(1).ended_ns
        assert found.last_success_ns("/etc/krond.d/jobs.kron:unknown") is None


def test_a_reader_that_pauses_holds_nothing(written: Written) -> None:
    """A pager may stay open for days: SQLite's log can be emptied meanwhile."""
    written.add(*(executed(number) for number in range(10)))
    with open_history(str(written.path)) as found:
        assert found is not None
        rows = found.rows(Selection())
        next(rows)
        with closing(sqlite3.connect(written.path / DATABASE, timeout=0)) as shell:
            assert shell.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
        assert len(list(rows)) == 9


@pytest.mark.parametrize(
    "change",
    [
        pytest.param("UPDATE ended SET period = 'soon'", id="text-for-a-time"),
        pytest.param("UPDATE ended SET started_ns = 9e18 * 2", id="a-number-too-large"),
        pytest.param("UPDATE ended SET chosen = x'00ff'", id="bytes"),
        pytest.param("ALTER TABLE ended RENAME COLUMN reason TO why", id="no-such-column"),
        pytest.param("DROP TABLE ended", id="no-table"),
    ],
)
def test_what_krond_did_not_write_is_an_error_and_no_traceback(
    written: Written, change: str
) -> None:
    written.add(executed())
    with closing(sqlite3.connect(written.path / DATABASE, isolation_level=None)) as shell:
        shell.execute(change)
    with pytest.raises(KronError, match="does not read") as caught:
        written.rows()
    assert caught.value.code is Code.STATE


def test_a_history_that_is_a_link_is_not_followed(written: Written, tmp_path: Path) -> None:
    written.add(executed())
    written.history.close()
    moved = tmp_path / "moved.db"
    (written.path / DATABASE).rename(moved)
    (written.path / DATABASE).symlink_to(moved)
    with pytest.raises(KronError, match="is not a regular file"):
        written.rows()


def test_a_directory_of_no_krond_is_an_error(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent"):
        with pytest.raises(KronError, match="no krond has used"), open_history(str(path)):
            pass


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount file systems")
@pytest.mark.heavy
def test_a_history_on_a_read_only_file_system_is_read(tmp_path: Path) -> None:
    from tests.krond.state.mounts import mounted, run

    with mounted(tmp_path / "disk", "-t", "tmpfs", "-o", "size=1m", "tmpfs") as disk:
        written = Written(disk)
        written.add(executed())
        written.close()
        path = str(written.path)
        os.close(written._journal._descriptor)
        run("mount", "-o", "remount,ro", str(disk))
        assert not (written.path / f"{DATABASE}-shm").exists()
        with open_history(path) as found:
            assert found is not None
            assert len(list(found.rows(Selection()))) == 1
