"""A lock that one krond at a time can have: a locked file that holds the process id.

The lock belongs to the open file, which a fork shares and an exec closes. So when krond dies, a
child between fork and exec still holds it. The next krond that gets the lock knows that every child
of the one before has either become its job or is gone.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from collections.abc import Callable
from functools import partial

from kron.core.errors import Code, KronError
from kron.krond.state.errors import PersistenceError

PATIENCE_S = 5.0
"""How long the children of a dead krond may take from fork to exec."""

_POLL_S = 0.01
_LOOKS = 3
"""How often the lock must be found taken before it counts: `is_free` takes it briefly."""
_OPEN = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_LONGEST_PID = 16
_NOT_OURS = "krond did not make it: find out what it is, or name another place"


class Lock:
    """A locked file that holds our process id, until `release`."""

    def __init__(self, name: str, within: int | None, descriptor: int) -> None:
        self._name = name
        self._within = within
        self.descriptor = descriptor
        """That holds the lock; -1 once it is released."""

    def release(self, *, remove: bool = False) -> None:
        """Release the lock and empty the file: another process may soon get our process id."""
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor < 0:
            return
        try:
            if remove:
                os.unlink(self._name, dir_fd=self._within)
            os.ftruncate(descriptor, 0)
        except OSError:
            pass  # only the lock matters, and closing releases it
        finally:
            os.close(descriptor)


def lock(
    path: str, *, within: int | None = None, patience_s: float = PATIENCE_S, held: int = -1
) -> Lock:
    """Lock the file at `path`, made if it does not exist, and write our process id to it.

    `within` is the descriptor of its directory, if that is open already. `held`: that of the file,
    if this process has locked it before an exec.
    """
    name = path if within is None else os.path.basename(path)  # noqa: PTH119
    if held >= 0:
        return Lock(name, within, held)
    try:
        while True:
            descriptor = os.open(name, os.O_RDWR | os.O_CREAT | _OPEN, 0o600, dir_fd=within)
            try:
                _check(path, os.fstat(descriptor))
                wait_for_lock(path, descriptor, partial(_living_pid, descriptor), patience_s)
                if _is_at(name, within, descriptor):
                    text = f"{os.getpid()}\n".encode()
                    os.pwrite(descriptor, text, 0)
                    os.ftruncate(descriptor, len(text))
                    return Lock(name, within, descriptor)
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)  # its owner has removed it: lock the one that is at the path now
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR):
            raise _no_file(path) from None
        raise PersistenceError(f"{path} cannot be locked", error) from None


def wait_for_lock(
    path: str, descriptor: int, owner: Callable[[], int | None], patience_s: float
) -> None:
    """Take the lock; while its owner is dead, wait for the children that inherited it.

    `owner` finds the living process that has it, or None. `path` is for people.
    """
    deadline_s = time.monotonic() + patience_s
    owner_lives = 0
    while not _try(descriptor, fcntl.LOCK_EX):
        pid = owner()
        if pid is None:
            owner_lives = 0
            if time.monotonic() >= deadline_s:
                raise _orphaned(path)
        else:
            owner_lives += 1
            if owner_lives >= _LOOKS:
                raise KronError(
                    Code.RUNNING,
                    f"another krond is running: process {pid} has locked {path}",
                    fix="krond stop ends it, krond reload makes it read its configuration again",
                )
        time.sleep(_POLL_S)


def is_free(descriptor: int) -> bool:
    """Whether no process has the lock. If so, this descriptor shares it until it is closed."""
    return _try(descriptor, fcntl.LOCK_SH)


def pid_in(descriptor: int) -> int | None:
    """The process id in the file; None if the file holds anything else."""
    line, newline, _ = os.pread(descriptor, _LONGEST_PID, 0).partition(b"\n")
    if not newline or not line.isdigit():
        return None
    pid = int(line)
    return pid if 0 < pid < 2**31 else None


def lives(pid: int) -> bool:
    """Whether the process exists. A zombie holds no lock."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            fields = file.read(4096).rpartition(b")")[2].split()
    except OSError:
        return False
    return fields[:1] not in ([b"Z"], [b"X"], [b"x"])


def _living_pid(descriptor: int) -> int | None:
    pid = pid_in(descriptor)
    return pid if pid is not None and lives(pid) else None


def _try(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at(name: str, within: int | None, descriptor: int) -> bool:
    try:
        there = os.stat(name, dir_fd=within, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(there, os.fstat(descriptor))


def _check(path: str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise _no_file(path)
    if status.st_uid != os.geteuid() or status.st_nlink > 1:
        # We are about to write our process id to it, and it might be an important file.
        raise KronError(
            Code.STATE,
            f"{path} belongs to user {status.st_uid} and has {status.st_nlink} names: it must "
            f"belong to user {os.geteuid()} and have one name",
            fix=_NOT_OURS,
        )


def _no_file(path: str) -> KronError:
    return KronError(Code.STATE, f"{path} is not a regular file", fix=_NOT_OURS)


def _orphaned(path: str) -> KronError:
    """The lock is taken, but no krond is visible: that may pass."""
    return KronError(
        Code.STATE,
        f"{path} is locked, but its krond is not visible from this PID namespace: the lock is held "
        "by a child of a dead krond, by a krond in another container, or by another program",
        fix=f"try again later; if the lock stays, fuser -v {path} shows which process holds it",
    )
