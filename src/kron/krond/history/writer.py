"""The writer of the history: takes the ends of periods and runs from krond's loop to the database.

krond owes nothing to its history: whatever is wrong with the file, krond goes on. Rows wait in
memory, up to a bound, and are tried again later; nothing here waits for a lock. No process other
than krond's own uses its connection.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable
from itertools import islice

from kron.core.duration import SECOND_NS
from kron.core.errors import KronError
from kron.core.frozen import Frozen
from kron.jobs.entry import Entry
from kron.krond.history.database import (
    COLUMNS,
    DATABASE,
    FILES,
    LOG,
    USAGE_COLUMNS,
    Unfit,
    check_files,
    open_for_writing,
)
from kron.krond.loop.timers import Backoff, Timer, Timers
from kron.krond.process.cgroup import NO_USAGE, Usage
from kron.krond.state.directory import Directory
from kron.krond.state.past import Past
from kron.krond.state.record import Ended
from kron.logs.event import Event
from kron.logs.journal import Journal
from kron.waking.clock import Clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sqlite3 import Connection

KEPT = 1_000
"""How many rows of a job are kept at least: an hourly job has 744 in a month."""
SURPLUS = 100
"""How many more there may be before the oldest are deleted, all at once."""
EXPIRY_NS = 400 * 86_400 * SECOND_NS
"""How long the rows of a job stay that is no longer configured, after its last one."""
WAITING = 10_000
"""How many rows wait in memory; the oldest are dropped."""
PASTS = 25
"""How many jobs whose pasts it lacks are written in one go: as many rows."""
BATCH = 250
"""How many rows are written in one go: 5 to 20 ms, in which the loop does nothing else."""
LARGEST_LOG = 64 << 20
"""How long SQLite's log may get while a reader keeps it from being emptied."""
FIRST_RETRY_NS = SECOND_NS
LONGEST_RETRY_NS = 64 * SECOND_NS

# The primary result codes of SQLite that say what to do.
_DAMAGED = {11, 26}  # a malformed file, not a database
_LOCKED = {5, 6}

_KNOW_JOB = """
    INSERT INTO jobs (identity, name, file, kept, latest_ns) VALUES (?, ?, ?, 1, ?)
    ON CONFLICT (identity) DO UPDATE SET kept = kept + 1, latest_ns = excluded.latest_ns
"""
_PUT = f"""
    INSERT OR {{}} INTO ended (job, count, found_ns, {", ".join((*COLUMNS, *USAGE_COLUMNS))})
    VALUES (?, ?, ?{", ?" * len((*COLUMNS, *USAGE_COLUMNS))})
"""  # noqa: S608 (constants)
_LATEST = """
    SELECT identity, period, run_id FROM jobs JOIN ended
    ON ended.id = (SELECT max(id) FROM ended WHERE job = jobs.id)
"""
_TRIM = """
    DELETE FROM ended WHERE job = ?1 AND id <=
    (SELECT id FROM ended WHERE job = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)
"""


class Row(Frozen):
    """An end that is not written yet."""

    entry: Entry
    ended: Ended
    count: int
    now_ns: int
    """When krond learned of the end."""
    usage: Usage = NO_USAGE


class History:
    """Takes rows, and writes them when `flush` is called. A timer is only set while rows wait."""

    def __init__(
        self, directory: Directory, journal: Journal, clock: Clock, timers: Timers
    ) -> None:
        self._directory = directory
        self._journal = journal
        self._clock = clock
        self._timers = timers
        self._rows: deque[Row] = deque()
        self._usages: dict[str, Usage] = {}
        """What runs have used whose rows have not been added yet."""
        self._pasts: list[tuple[Entry, Past]] = []
        """What the states had at the start, until it is compared with the history."""
        self._lacking: deque[tuple[Entry, Past]] = deque()
        """Those of them that have an end which the history lacks."""
        self._connection: Connection | None = None
        self._inode: int | None = None
        """Of the file that the connection has open."""
        self._timer: Timer | None = None
        self._backoff = Backoff(FIRST_RETRY_NS, LONGEST_RETRY_NS)
        self._lost = 0
        """How many rows were dropped meanwhile."""
        self._is_logged = False
        """Whether the log has why writes fail."""
        self._has_set_aside = False
        self._is_configured: Callable[[str], bool] | None = None
        """Set: look for expired jobs with the next write."""
        self._expired: list[int] = []

    def add(self, entry: Entry, ended: Ended, count: int = 1) -> None:
        """Take the end of a period or a run, or of `count` periods that were missed at once.

        It must be in the job's state by now: an end that a crash undoes is not history.
        """
        if len(self._rows) >= WAITING:
            self._rows.popleft()
            self._lost += 1
        usage = self._usages.pop(ended.run_id, NO_USAGE)
        self._rows.append(Row(entry, ended, count, self._clock.now_ns(), usage))

    def used(self, run_id: str, usage: Usage) -> None:
        """A run that is about to be added has used this. Its state does not have it."""
        if usage is not NO_USAGE:
            self._usages[run_id] = usage

    def catch_up(self, pasts: Iterable[tuple[Entry, Past]]) -> None:
        """Take the pasts of jobs, at the start: a killed krond may have stored ends and not
        written them here. How many periods were missed at once, a past does not say.

        They are compared when the loop turns: a start does not wait for it.
        """
        self._pasts = [(entry, past) for entry, past in pasts if past.rows != "[]"]
        if self._pasts:
            self._timer = self._timers.after(0, self._write)

    def flush(self) -> None:
        """Write what was added, unless a timer will do that: for another batch, or another try."""
        if self._is_behind and self._timer is None:
            self._write()

    @property
    def _is_behind(self) -> bool:
        return bool(self._rows or self._pasts or self._lacking)

    def drop_expired(self, is_configured: Callable[[str], bool]) -> None:
        """The configuration was read: with the next writes, delete jobs that are long gone."""
        self._is_configured = is_configured

    def close(self) -> None:
        """Write what can be written, and let go of the file."""
        if self._timer is not None:
            self._timer.cancel()
        self.write_all()
        self._disconnect()

    def write_all(self) -> None:
        """Write what can be written."""
        while self._is_behind and self._attempt():
            pass

    def _write(self) -> None:
        self._timer = None
        delay_ns = 0 if self._attempt() else self._backoff.next_ns()
        if self._is_behind:
            self._timer = self._timers.after(delay_ns, self._write)

    def _attempt(self) -> bool:
        """Write a batch. False: nothing was written; the log has the reason, except for a lock."""
        try:
            import sqlite3
        except ImportError as error:  # some builds of Python have no SQLite
            self._log(str(error))
            self._rows.clear()
            self._pasts.clear()
            return False
        try:
            self._put_batch()
        except Unfit as error:
            self._set_aside(error.error)
            return False
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            self._disconnect()
            if code in _DAMAGED:
                self._set_aside(str(error))
            elif code not in _LOCKED or self._lost:
                self._log(str(error))
            return False
        except OSError as error:
            self._disconnect()
            self._log(str(error.strerror))
            return False
        self._report_recovery()
        return True

    def _put_batch(self) -> None:
        """Write the first rows in one transaction; before all others those that it lacks."""
        if self._connection is None or check_files(self._directory) != self._inode:
            self._disconnect()  # the file that it has open was removed or replaced
            self._connection = open_for_writing(self._directory)
            self._inode = check_files(self._directory)
        connection = self._connection
        self._limit_log(connection)
        self._compare_pasts(connection)
        lacking = list(islice(self._lacking, PASTS))
        rows = [] if lacking else list(islice(self._rows, BATCH))
        now_ns = self._clock.now_ns()
        connection.execute("BEGIN IMMEDIATE")
        try:
            for entry, past in lacking:
                known = (Row(entry, ended, 1, now_ns) for ended in past.history)
                put(connection, known, replace=False)
            put(connection, rows)
            self._delete_expired(connection)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        for _ in lacking:
            self._lacking.popleft()
        for _ in rows:
            self._rows.popleft()

    def _compare_pasts(self, connection: Connection) -> None:
        if self._pasts:
            latest = {identity: row for identity, *row in connection.execute(_LATEST)}
            self._lacking.extend(
                (entry, past)
                for entry, past in self._pasts
                if not past.ends_with(*latest.get(entry.identity, (None, "")))
            )
            self._pasts = []

    def _limit_log(self, connection: Connection) -> None:
        """Empty SQLite's log if it is too long. A reader that stays for hours prevents that."""
        try:
            size = os.stat(LOG, dir_fd=self._directory.descriptor).st_size
        except FileNotFoundError:
            return
        if size > LARGEST_LOG:
            (is_busy, *_) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if is_busy:
                raise OSError(0, f"a reader has had {DATABASE} open for too long")

    def _delete_expired(self, connection: Connection) -> None:
        """Delete one expired job at most: the loop waits for this."""
        before_ns = self._clock.now_ns() - EXPIRY_NS
        is_configured, self._is_configured = self._is_configured, None
        if is_configured is not None:
            old = connection.execute(
                "SELECT id, identity FROM jobs WHERE latest_ns < ?", (before_ns,)
            )
            self._expired = [number for number, identity in old if not is_configured(identity)]
        if self._expired:
            number = self._expired.pop()
            gone = connection.execute(
                "DELETE FROM jobs WHERE id = ? AND latest_ns < ?", (number, before_ns)
            )
            if gone.rowcount:
                connection.execute("DELETE FROM ended WHERE job = ?", (number,))

    def _set_aside(self, error: str) -> None:
        """Rename a file that does not read, so that a new one is made; a second time it is left."""
        self._disconnect()
        path = f"{self._directory.path}/{DATABASE}"
        if self._has_set_aside:
            self._log(f"{path} is damaged again: {error}")
            return
        self._has_set_aside = True
        try:
            moved = self._directory.set_aside(*FILES)
        except (OSError, KronError) as failure:
            self._log(f"{path} is damaged and cannot be set aside: {failure}")
            return
        self._backoff.reset()
        self._journal.event(Event.STATE_CORRUPT, file=path, set_aside=moved, error=error)

    def _log(self, error: str) -> None:
        """Log why rows are not written, once until they are again."""
        if not self._is_logged:
            self._is_logged = True
            self._journal.error("write the history", f"{error}; runs are not affected")

    def _report_recovery(self) -> None:
        self._backoff.reset()
        lost, self._lost, self._is_logged = self._lost, 0, False
        if lost:
            self._journal.error("write the history", f"{lost:,} rows were dropped meanwhile")

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            import sqlite3
            from contextlib import suppress

            with suppress(sqlite3.Error):
                connection.close()


def put(connection: Connection, rows: Iterable[Row], *, replace: bool = True) -> None:
    """Insert rows, and delete the oldest of a job that has too many.

    A run has one row, and so has a period without a run. A second one can only come from a job that
    was forgotten, or of a clock that was wrong: then the later one is the true one. Without
    `replace`, what is there stays.
    """
    insert = _PUT.format("REPLACE" if replace else "IGNORE")
    for row in rows:
        entry, ended = row.entry, row.ended
        identity = (entry.identity,)
        connection.execute(_KNOW_JOB, (entry.identity, entry.name, entry.path, row.now_ns))
        job, kept = connection.execute(
            "SELECT id, kept FROM jobs WHERE identity = ?", identity
        ).fetchone()
        found_ns = row.now_ns if ended.ended_ns is None else None
        nominal_s, chosen_s, outcome, reason, *rest = ended._values()
        values = (nominal_s, chosen_s, outcome, _whole(reason), *rest)
        connection.execute(insert, (job, row.count, found_ns, *values, *row.usage._values()))
        if kept > KEPT + SURPLUS:
            connection.execute(_TRIM, (job, KEPT))
            (kept,) = connection.execute(
                "SELECT count(*) FROM ended WHERE job = ?", (job,)
            ).fetchone()
            connection.execute("UPDATE jobs SET kept = ? WHERE id = ?", (kept, job))


def _whole(text: str) -> str:
    """`text` as UTF-8 can have it: a file name in a reason may hold half a character."""
    return text.encode(errors="backslashreplace").decode()
