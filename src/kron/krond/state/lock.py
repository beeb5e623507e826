"""One krond a state directory: a locked file that holds the process id.

The lock belongs to the open file, which a fork shares and an exec closes. So when krond dies, a
child between fork and exec still holds it: whoever gets the lock next knows that every child of
the krond before has either become its job or is gone.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time

from kron.core.errors import Code, KronError
from kron.krond.state.errors import PersistenceError

PID_FILE = "krond.pid"
"""The name of the lock in a state directory."""

PATIENCE_S = 5.0
"""How long the children of a krond that died may take from fork to exec."""

_POLL_S = 0.01
_LOOKS = 3
"""How often a lock must be found taken before it counts: `running_pid` takes it for a moment."""
_OPEN = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_LONGEST_PID = 16


class AlreadyRunning(KronError):  # noqa: N818 (what krond is)
    """Another krond has the lock, and lives."""

    def __init__(self, path: str, pid: int) -> None:
        super().__init__(
            Code.RUNNING,
            f"another krond is running: the process {pid} has locked {path}",
            fix="krond stop ends it, krond reload makes it read its configuration anew",
        )
        self.args = (path, pid)
        self.path = path
        self.pid = pid


class StillLocked(KronError):  # noqa: N818 (what the file is)
    """No krond is known to be running, and yet the lock is taken, which may pass.

    `pid` is the krond that had it, dead or unseen, None if the file does not say which.
    """

    def __init__(self, path: str, pid: int | None) -> None:
        who = f"the krond {pid} is not to be seen from here" if pid else "no krond is to be seen"
        super().__init__(
            Code.STATE,
            f"{who}, and yet {path} is locked: by a child of one that has died, or by one in "
            "another container",
            fix=f"try again later; if it lasts, fuser -v {path} says which process has it",
        )
        self.args = (path, pid)
        self.path = path
        self.pid = pid


class Lock:
    """A locked file that holds our process id, until `release`."""

    __slots__ = ("_descriptor", "_name", "_within", "path")

    def __init__(self, path: str, name: str, within: int | None, descriptor: int) -> None:
        self.path = path
        self._name = name
        self._within = within
        self._descriptor = descriptor

    def release(self, *, remove: bool = False) -> None:
        """Let go of the lock. The file loses its process id, which may soon be another's."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor < 0:
            return
        try:
            if remove:
                os.unlink(self._name, dir_fd=self._within)
            os.ftruncate(descriptor, 0)
        except OSError:
            pass  # the lock is what counts, and closing ends that
        finally:
            os.close(descriptor)


def lock(path: str, *, within: int | None = None, patience_s: float = PATIENCE_S) -> Lock:
    """Lock the file at `path`, which is made if it is not there, and write our process id to it.

    `within` is the descriptor of the directory it is in, for one that is held open already.
    """
    name = path if within is None else os.path.basename(path)  # noqa: PTH119
    try:
        while True:
            descriptor = os.open(name, os.O_RDWR | os.O_CREAT | _OPEN, 0o600, dir_fd=within)
            try:
                _check(path, os.fstat(descriptor))
                _wait(path, descriptor, patience_s)
                if _is_at(name, within, descriptor):
                    text = f"{os.getpid()}\n".encode()
                    os.pwrite(descriptor, text, 0)
                    os.ftruncate(descriptor, len(text))
                    return Lock(path, name, within, descriptor)
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)  # its owner has removed it since: lock the one that is there now
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR):
            raise _no_file(path) from None
        raise PersistenceError(f"{path} cannot be locked", error) from None


def running_pid(path: str) -> int | None:
    """The process id of the krond that has locked the file at `path`; None if there is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | _OPEN)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode) or _try(descriptor, fcntl.LOCK_SH):
            return None
        pid = _pid(descriptor)
        return pid if pid is not None and _lives(pid) else None
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _wait(path: str, descriptor: int, patience_s: float) -> None:
    """Take the lock; while its owner is dead, wait for those that have inherited it."""
    deadline_s = time.monotonic() + patience_s
    owner_lives = 0
    while not _try(descriptor, fcntl.LOCK_EX):
        pid = _pid(descriptor)
        if pid is None or not _lives(pid):
            owner_lives = 0
            if time.monotonic() >= deadline_s:
                raise StillLocked(path, pid)
        else:
            owner_lives += 1
            if owner_lives >= _LOOKS:
                raise AlreadyRunning(path, pid)
        time.sleep(_POLL_S)


def _try(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _pid(descriptor: int) -> int | None:
    """The process id in the file; None if there is none, whatever else may be in it."""
    line, newline, _ = os.pread(descriptor, _LONGEST_PID, 0).partition(b"\n")
    if not newline or not line.isdigit():
        return None
    pid = int(line)
    return pid if 0 < pid < 2**31 else None


def _lives(pid: int) -> bool:
    """Whether there is such a process. One that only waits for its parent to look holds nothing."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            fields = file.read(4096).rpartition(b")")[2].split()
    except OSError:
        return False
    return fields[:1] not in ([b"Z"], [b"X"], [b"x"])


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
        # Our process id is about to be written to it, and it might be a file that matters.
        raise KronError(
            Code.STATE,
            f"{path} belongs to user {status.st_uid} and has {status.st_nlink} names: it should be "
            f"ours (user {os.geteuid()}) and have one",
            fix="remove it, or name another file",
        )


def _no_file(path: str) -> KronError:
    return KronError(
        Code.STATE, f"{path} is not a regular file", fix="remove it, or name another file"
    )
