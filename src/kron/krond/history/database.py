"""The file of the history: an SQLite database in the state directory, its tables and its checks.

A later version adds a column, which may be null, as another step of `_STEPS`. Readers and writers
name their columns, so that an earlier krond goes on with the file of a later one, and a later
`krond history` reads the file of an earlier krond.
"""

from __future__ import annotations

import os
import stat

from kron.core.errors import Code, KronError
from kron.krond.state.directory import Directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sqlite3 import Connection

DATABASE = "history.db"
LOG = f"{DATABASE}-wal"
"""What SQLite has written and not yet moved to the database."""
FILES = (DATABASE, LOG, f"{DATABASE}-shm")

COLUMNS = (
    *("period", "chosen", "outcome", "reason", "run_id"),
    *("started_ns", "ended_ns", "exit_code", "signal"),
)
"""The columns of `ended` that are the fields of an `Ended`, in that order."""
USAGE_COLUMNS = ("cpu_us", "peak_bytes")
"""Those that are the fields of a `Usage`."""

_STEPS = (
    """
    CREATE TABLE jobs (
        id INTEGER PRIMARY KEY,
        identity TEXT NOT NULL UNIQUE,
        name TEXT NOT NULL,
        file TEXT NOT NULL,
        kept INTEGER NOT NULL,
        latest_ns INTEGER NOT NULL
    );
    CREATE TABLE ended (
        id INTEGER PRIMARY KEY,
        job INTEGER NOT NULL,
        period INTEGER,
        chosen INTEGER,
        outcome TEXT NOT NULL,
        reason TEXT NOT NULL,
        run_id TEXT NOT NULL,
        started_ns INTEGER,
        ended_ns INTEGER,
        exit_code INTEGER,
        signal INTEGER,
        count INTEGER NOT NULL,
        found_ns INTEGER
    );
    CREATE INDEX of_job ON ended (job);
    CREATE UNIQUE INDEX once_a_run ON ended (run_id) WHERE run_id <> '';
    CREATE UNIQUE INDEX once_a_period ON ended (job, period) WHERE run_id = '';
    """,
    """
    ALTER TABLE ended ADD COLUMN cpu_us INTEGER;
    ALTER TABLE ended ADD COLUMN peak_bytes INTEGER;
    """,
)
"""What makes the tables. `user_version` counts the steps that a file has."""


_EXPECTED = f"""
    SELECT identity, name, file, kept, latest_ns, job, count, found_ns,
    {", ".join((*COLUMNS, *USAGE_COLUMNS))}
    FROM jobs, ended LIMIT 0
"""  # noqa: S608 (constants)
"""Fails if these are not our tables."""


class Unfit(KronError):  # noqa: N818 (what the file is)
    """A file of the history that nobody may use. `error`: what it is, after the word "it"."""

    def __init__(self, file: str, error: str) -> None:
        message = f"{file} cannot be used: it {error}"
        super().__init__(Code.STATE, message, fix="check who made it, and move it away")
        self.error = error


def check_files(directory: Directory) -> int | None:
    """Refuse files that are not regular ones of the directory's owner.

    Returns the inode of the database; None if it does not exist. The files are not opened: closing
    one would drop the locks that SQLite has on it in this process.
    """
    owner = os.fstat(directory.descriptor).st_uid
    inode = None
    for name in FILES:
        try:
            status = os.stat(name, dir_fd=directory.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            continue
        path = f"{directory.path}/{name}"
        if not stat.S_ISREG(status.st_mode):
            raise Unfit(path, "is not a regular file")
        if status.st_uid != owner:
            raise Unfit(path, f"belongs to user {status.st_uid}, not to the directory's owner")
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise Unfit(path, "can be written by other users")
        if name == DATABASE:
            inode = status.st_ino
    return inode


def path_of(directory: Directory) -> str:
    """The path for SQLite. It leads through the descriptor, wherever the directory is by now."""
    return f"/proc/self/fd/{directory.descriptor}/{DATABASE}"


def open_for_writing(directory: Directory) -> Connection:
    """Open the database, made with its tables if it does not exist. It waits for no lock.

    Commits are not synced; SQLite syncs when it moves some megabytes of its log to the database, so
    that a power failure loses the latest rows and damages nothing.
    """
    import sqlite3

    if check_files(directory) is None:
        how = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC
        os.close(os.open(DATABASE, how, 0o600, dir_fd=directory.descriptor))
    connection = sqlite3.connect(path_of(directory), timeout=0, isolation_level=None)
    try:
        for setting in (
            *("trusted_schema=OFF", "journal_mode=WAL", "synchronous=NORMAL"),
            *("cache_size=-512", "journal_size_limit=4194304"),
        ):
            connection.execute(f"PRAGMA {setting}")
        _take_steps(connection)
        connection.execute(_EXPECTED)
    except sqlite3.OperationalError as error:
        connection.close()
        if error.sqlite_errorcode == sqlite3.SQLITE_ERROR:
            raise Unfit(f"{directory.path}/{DATABASE}", f"has other tables ({error})") from None
        raise
    except BaseException:
        connection.close()
        raise
    return connection


def _take_steps(connection: Connection) -> None:
    (taken,) = connection.execute("PRAGMA user_version").fetchone()
    for number, step in enumerate(_STEPS[taken:], taken + 1):
        connection.executescript(f"BEGIN IMMEDIATE; {step} PRAGMA user_version={number}; COMMIT;")
