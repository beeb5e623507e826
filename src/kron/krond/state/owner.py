"""The owner of a state directory: at most one krond, and how to find out which process it is.

The directory itself is locked, and krond.pid in it. So deleting krond.pid does not let a second
krond start. The file has the process id, for people and scripts, and is the only lock where the
file system cannot lock directories (NFS). A child between fork and exec holds both locks.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from contextlib import suppress

from kron.krond.state.directory import Directory
from kron.krond.state.errors import PersistenceError
from kron.krond.state.lock import PATIENCE_S, Lock, is_free, lives, lock, pid_in, wait_for_lock
from kron.krond.state.names import PID_FILE, SOCKET_NAME

_NO_DIRECTORY_LOCKS = (errno.EBADF, errno.EINVAL, errno.EOPNOTSUPP)
_CREDENTIALS = struct.Struct("iII")  # pid, uid, gid


def own(directory: Directory, *, patience_s: float = PATIENCE_S, held: int = -1) -> Lock:
    """Lock the directory and its krond.pid. Closing the directory releases the former.

    `held`: the descriptor of krond.pid, if this process has locked both before an exec.
    """
    path, descriptor = directory.path, directory.descriptor
    try:
        wait_for_lock(path, descriptor, lambda: _owner(descriptor), patience_s)
    except OSError as error:
        if error.errno not in _NO_DIRECTORY_LOCKS:
            raise PersistenceError(f"{path} cannot be locked", error) from None
    return lock(f"{path}/{PID_FILE}", within=descriptor, patience_s=patience_s, held=held)


def running_pid(state_dir: str) -> int | None:
    """The process id of the krond that has the directory, or None."""
    try:
        directory = os.open(state_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return _owner(directory)
    finally:
        os.close(directory)


def _owner(directory: int) -> int | None:
    """The process that has locked krond.pid or, if the file is gone, the one behind the socket.

    If both are gone: the one that has locked the directory. Earlier versions did not do that.
    """
    for find in (_noted_pid, _listening_pid, _locking_pid):
        with suppress(OSError):
            pid = find(directory)
            if pid is not None and lives(pid):
                return pid
    return None


def _noted_pid(directory: int) -> int | None:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    descriptor = os.open(PID_FILE, flags, dir_fd=directory)
    try:
        return None if is_free(descriptor) else pid_in(descriptor)
    finally:
        os.close(descriptor)


def _listening_pid(directory: int) -> int:
    """The process that made the control socket: a child that inherited it does not count."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK) as client:
        client.connect(f"/proc/self/fd/{directory}/{SOCKET_NAME}")
        packed = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid: int = _CREDENTIALS.unpack(packed)[0]
    return pid


def _locking_pid(directory: int) -> int | None:
    """By the kernel's list of locks, in which some file systems have another device."""
    status = os.fstat(directory)
    device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}"
    with open("/proc/locks", encoding="ascii") as locks:  # noqa: PTH123
        for line in locks:
            _, kind, _, _, pid, file, *_ = line.split()
            if (kind, file) == ("FLOCK", f"{device}:{status.st_ino}"):
                return int(pid) if _has_pid_file(int(pid), directory) else None
    return None


def _has_pid_file(pid: int, directory: int) -> bool:
    """Whether the process has krond.pid of the directory open, as only its krond does.

    The file may be deleted. Any other program may lock a directory that it can read.
    """
    path = f"{os.readlink(f'/proc/self/fd/{directory}')}/{PID_FILE}"  # noqa: PTH115
    deleted = f"{path} (deleted)"
    with os.scandir(f"/proc/{pid}/fd") as descriptors:
        return any(os.readlink(each) in (path, deleted) for each in descriptors)  # noqa: PTH115
