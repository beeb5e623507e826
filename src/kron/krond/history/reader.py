"""The reader of the history, for `krond history` and `krond check`: the rows that are asked for.

It reads the file itself, whether or not a krond is running, and writes nothing. Rows come in pages,
each read whole: a pager that stays open for days must not keep SQLite's log from being emptied.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager

from kron.core.duration import SECOND_NS
from kron.core.errors import Code, KronError, did_you_mean, quoted, visible
from kron.core.frozen import Frozen
from kron.core.instant import optional_text
from kron.krond.history.database import DATABASE, LOG, check_files, path_of
from kron.krond.process.cgroup import Usage
from kron.krond.result import signal_name
from kron.krond.state.directory import Directory
from kron.krond.state.fields import optional_timestamp
from kron.krond.state.names import PID_FILE
from kron.krond.state.record import RETRIED, succeeded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sqlite3 import Connection, Row
    from typing import Any

PAGE = 1_000
_RECORDED = "coalesce(ended_ns, found_ns)"
_SUCCEEDED = "(exit_code IS 0 AND reason = '')"  # `succeeded` in SQL
_UNSTARTED = "(outcome = 'manual' AND started_ns IS NULL AND ended_ns IS NOT NULL)"
_FAILED = (
    f"((coalesce(exit_code, signal) IS NOT NULL OR {_UNSTARTED}) AND NOT {_SUCCEEDED} "
    f"AND outcome <> '{RETRIED}')"
)
OUTCOMES: Mapping[str, str] = {"ok": _SUCCEEDED, "failed": _FAILED} | {
    outcome: f"outcome = '{outcome}'"
    for outcome in ("executed", "manual", "skipped", "missed", "unschedulable", RETRIED)
}
"""What `--outcome` may say, as conditions."""


class Selection(Frozen):
    """Which rows: all conditions hold, and of those the latest `limit`, or all if it is None."""

    jobs: tuple[str, ...] = ()
    """Names, or `<path>:<name>`; empty for all jobs."""
    since_s: int | None = None
    until_s: int | None = None
    outcome: str = ""
    """One of `OUTCOMES`; '' for any."""
    limit: int | None = None


class HistoryReader:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def longest_name(self, selection: Selection) -> str:
        """The longest name of a job that is selected, for the width of a column."""
        where, values = self._where(selection, of_jobs=True)
        rows = self._connection.execute(
            f"SELECT name FROM jobs WHERE {where} ORDER BY length(name) DESC LIMIT 1",  # noqa: S608
            values,
        )
        return str(next(rows, ("",))[0])

    def rows(self, selection: Selection) -> Iterator[dict[str, Any]]:
        """The selected rows as JSON has them, in the order in which krond recorded them."""
        where, values = self._where(selection)
        first = 0
        if selection.limit is not None:
            found = self._connection.execute(
                f"SELECT id FROM ended WHERE {where} ORDER BY id DESC LIMIT 1 OFFSET ?",  # noqa: S608
                (*values, selection.limit - 1),
            ).fetchone()
            first = found[0] if found else 0
        page = (
            "SELECT ended.*, jobs.identity, jobs.name, jobs.file "  # noqa: S608
            "FROM ended JOIN jobs ON jobs.id = job "
            f"WHERE {where} AND ended.id >= ? ORDER BY ended.id LIMIT {PAGE}"
        )
        while rows := self._connection.execute(page, (*values, first)).fetchall():
            for row in rows:
                try:
                    document = _document(row)
                except (ArithmeticError, LookupError, TypeError, ValueError) as error:
                    raise _StrangeRow(f"row {row['id']}: {error}") from None
                yield document
            first = rows[-1]["id"] + 1

    def last_success_ns(self, identity: str) -> int | None:
        """When the last run of a job that succeeded ended; None if no such run is on record."""
        found = self._connection.execute(
            f"SELECT {_RECORDED} FROM ended "  # noqa: S608
            "WHERE job = (SELECT id FROM jobs WHERE identity = ?) "
            f"AND {_SUCCEEDED} ORDER BY id DESC LIMIT 1",
            (identity,),
        ).fetchone()
        return None if found is None else int(found[0])

    def has_usage(self, selection: Selection) -> bool:
        """Whether a row that is selected says what its run has used."""
        if not self._connection.execute(
            "SELECT 1 FROM pragma_table_info('ended') WHERE name = 'cpu_us'"
        ).fetchone():
            return False  # the file of an earlier krond
        where, values = self._where(selection)
        query = f"SELECT 1 FROM ended WHERE {where} AND cpu_us IS NOT NULL LIMIT 1"  # noqa: S608
        return self._connection.execute(query, values).fetchone() is not None

    def _where(self, selection: Selection, *, of_jobs: bool = False) -> tuple[str, list[object]]:
        """A condition and its values, on `ended` or, `of_jobs`, on `jobs`."""
        conditions, values = ["1"], list[object]()
        if selection.jobs:
            numbers = [number for job in selection.jobs for number in self._numbers(job)]
            places = ", ".join("?" * len(numbers))
            conditions.append(f"{'id' if of_jobs else 'job'} IN ({places})")
            values += numbers
        if not of_jobs:
            for second, operator in ((selection.since_s, ">="), (selection.until_s, "<")):
                if second is not None:
                    conditions.append(f"{_RECORDED} {operator} ?")
                    values.append(second * SECOND_NS)
            if selection.outcome:
                conditions.append(OUTCOMES[selection.outcome])
        return " AND ".join(conditions), values

    def _numbers(self, job: str) -> list[int]:
        """The jobs called so. Several files may have a job of one name: all of them are meant."""
        found = self._connection.execute(
            "SELECT id FROM jobs WHERE name = ?1 OR file || ':' || name = ?1", (job,)
        )
        if numbers := [number for (number,) in found]:
            return numbers
        names = [str(name) for (name,) in self._connection.execute("SELECT name FROM jobs")]
        hint = "krond status shows the jobs that are configured"
        raise KronError(
            Code.JOB_UNKNOWN,
            f"the history has nothing of a job {quoted(job)}",
            fix=did_you_mean(job, names) or hint,
        )


@contextmanager
def open_history(state_dir: str) -> Iterator[HistoryReader | None]:
    """The history in a state directory; None if nothing has ended there yet."""
    directory = _opened(state_dir)
    try:
        import sqlite3
    except ImportError as error:
        directory.close()
        raise KronError(Code.STATE, f"this Python cannot read a history: {error}") from None
    try:
        if check_files(directory) is None:
            if not directory.has(PID_FILE):
                raise _no_krond(state_dir)
            yield None
            return
        try:
            with closing(_connected(directory)) as connection:
                (version,) = connection.execute("PRAGMA user_version").fetchone()
                yield HistoryReader(connection) if version else None
        except (sqlite3.Error, _StrangeRow) as error:
            raise KronError(
                Code.STATE,
                f"the history {visible(directory.path)}/{DATABASE} does not read: {error}",
                fix="a krond that finds it damaged sets it aside, and makes a new one",
            ) from None
    finally:
        directory.close()


def _opened(state_dir: str) -> Directory:
    how = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    try:
        return Directory(state_dir, os.open(state_dir, how))
    except (FileNotFoundError, NotADirectoryError):
        raise _no_krond(state_dir) from None
    except OSError as error:
        message = f"{visible(state_dir)} cannot be read: {error.strerror}"
        raise KronError(Code.STATE, message, fix="ask as its user or as root") from None


def _no_krond(state_dir: str) -> KronError:
    message = f"no krond has used the state directory {visible(state_dir)}"
    return KronError(Code.STATE, message, fix="name that of your krond with --state-dir")


def _connected(directory: Directory) -> Connection:
    import sqlite3

    try:
        return _connect(directory, "mode=ro")
    except sqlite3.OperationalError:
        # To read beside a krond, SQLite has to write beside the file. On a disk that is full or
        # read-only it can read alone, if its log has nothing to add.
        if directory.has(LOG) and os.stat(LOG, dir_fd=directory.descriptor).st_size:
            raise
        return _connect(directory, "immutable=1")


def _connect(directory: Directory, how: str) -> Connection:
    import sqlite3

    connection = sqlite3.connect(
        f"file:{path_of(directory)}?{how}", uri=True, timeout=1, isolation_level=None
    )
    try:
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.execute("SELECT * FROM sqlite_master LIMIT 1").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


class _StrangeRow(Exception):  # noqa: N818 (what it is)
    """A row that krond did not write."""


def _document(row: Row) -> dict[str, Any]:
    chosen_s, started_ns, ended_ns, found_ns, exit_code, signal = (
        _integer(row[name])
        for name in ("chosen", "started_ns", "ended_ns", "found_ns", "exit_code", "signal")
    )
    columns = row.keys()
    cpu_us, peak_bytes = (
        _integer(row[name]) if name in columns else None for name in ("cpu_us", "peak_bytes")
    )
    late = took = None
    # Nothing starts early, except by a clock that was set back or never set.
    if started_ns is not None and chosen_s is not None and started_ns >= chosen_s * SECOND_NS:
        late = _seconds(started_ns - chosen_s * SECOND_NS)
    if started_ns is not None and ended_ns is not None:
        took = _seconds(ended_ns - started_ns)
    return {
        "name": str(row["name"]),
        "file": str(row["file"]),
        "identity": str(row["identity"]),
        "period": optional_text(_integer(row["period"])),
        "chosen": optional_text(chosen_s),
        "outcome": str(row["outcome"]),
        "reason": str(row["reason"]),
        "count": int(row["count"]),
        "run_id": str(row["run_id"]),
        "started": optional_timestamp(started_ns),
        "late_seconds": late,
        "ended": optional_timestamp(ended_ns),
        "took_seconds": took,
        "exit_code": exit_code,
        "signal": None if signal is None else signal_name(signal),
        "recorded": optional_timestamp(found_ns if ended_ns is None else ended_ns),
        "succeeded": succeeded(
            *(str(row["outcome"]), str(row["reason"])), started_ns, ended_ns, exit_code, signal
        ),
        "cpu_seconds": Usage(cpu_us).cpu_seconds,
        "peak_memory": peak_bytes,
    }


def _integer(value: object) -> int | None:
    if value is None or isinstance(value, int):
        return value
    raise TypeError("it has something else where a number should be")


def _seconds(duration_ns: int) -> float:
    return round(duration_ns / SECOND_NS, 3)
