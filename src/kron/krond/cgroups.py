"""The cgroups of runs, in the subtree that is delegated to krond, if one is.

systemd marks a cgroup that it delegates (Delegate=yes), except that of a user's unit: there krond
only knows it by the cgroup below that systemd puts it into (DelegateSubgroup=krond). In a container
the root of its cgroup namespace is krond's. Anything else belongs to somebody else, and krond
leaves it alone, even where it could write.

The kernel has a rule: a cgroup that shares controllers among those below it has no processes of its
own. So krond has to be in a cgroup of its own beside those of its runs before they can have limits.
systemd puts it there by DelegateSubgroup=; in a container krond does. With Delegate= alone krond
stays where it is and takes no controllers: systemd could not start a krond there again while runs
of the one before go on.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import suppress
from enum import StrEnum
from errno import EPERM
from hashlib import sha256

from kron.jobs.task import CgroupLimit, Task
from kron.krond.process.cgroup import Cgroup, write
from kron.krond.process.failure import PASSING, StartError

LEAF = "krond"
"""The name of krond's own cgroup, beside those of its runs."""
_RUN = "run-"
_MARKS = ("trusted.delegate", "user.delegate")
_UNITS = (".service", ".scope")


class Absence(StrEnum):
    """Why runs have no cgroups of their own, for people."""

    NOT_DELEGATED = "no cgroup is delegated to krond"
    TAKEN = "another krond has taken the cgroup that is delegated here"
    UNKNOWN = "krond has no cgroups for its runs"
    """For a program that is tried out: the krond that runs does not tell it why."""


class Cgroups:
    def __init__(self, base: str, home: str, lock: int) -> None:
        self.controllers = frozenset[str]()
        """The controllers that limit a run. Without any, runs are still kept apart and counted."""
        self._base = base
        self._home = home
        """The cgroup of krond itself: `base`, or one below it."""
        self._lock = lock

    def make(self, identity: str, run_id: str, task: Task) -> Cgroup | None:
        """A cgroup for a run, with the limits of its task; `StartError` if these cannot be set.

        None: it cannot be made, and has no limits, so the run goes without.
        """
        cgroup = Cgroup(self._path(identity, run_id), self._home)
        try:
            with suppress(FileExistsError):  # of a start that failed, or of another krond
                os.mkdir(cgroup.path)  # noqa: PTH102
            for limit, value in task.cgroup_limits:
                write(f"{cgroup.path}/{limit}", str(value))
        except OSError as error:
            cgroup.remove()
            if not task.cgroup_limits:
                return None
            reason = f"its cgroup with its limits cannot be made: {error.strerror}"
            raise StartError(reason, for_good=error.errno not in PASSING) from None
        return cgroup

    def of(self, identity: str, run_id: str) -> Cgroup | None:
        """The cgroup of a run that was started, if it has one."""
        path = self._path(identity, run_id)
        return Cgroup(path, self._home) if os.path.isdir(path) else None  # noqa: PTH112

    def found(self) -> Iterator[tuple[str, str, Cgroup]]:
        """Those that exist, each with the key of its job and its run id."""
        for name in sorted(os.listdir(self._base)):  # noqa: PTH208
            run_id, _, key = name.removeprefix(_RUN).rpartition(".")
            if name.startswith(_RUN) and run_id:
                yield key, run_id, Cgroup(f"{self._base}/{name}", self._home)

    def close(self) -> None:
        os.close(self._lock)

    def _path(self, identity: str, run_id: str) -> str:
        return f"{self._base}/{_RUN}{run_id}.{key_of(identity)}"

    def take_controllers(self) -> None:
        if self._home == self._base:
            return
        for controller in {limit.controller for limit in CgroupLimit}:
            with suppress(OSError):  # it is not delegated, or others are in the same container
                write(f"{self._base}/cgroup.subtree_control", f"+{controller}")
        with suppress(OSError):
            self.controllers = _controllers_of(self._base)


def key_of(identity: str) -> str:
    """A job's identity as a part of a cgroup's name: after a restart it says whose it is."""
    return sha256(os.fsencode(identity)).hexdigest()[:16]


def take_delegated() -> Cgroups | Absence:
    """The subtree that is delegated to this process, taken for its runs; or why nothing is.

    Of several kronds in one container, the first has it.
    """
    try:
        return _take()
    except BlockingIOError:
        return Absence.TAKEN
    except OSError:
        return Absence.NOT_DELEGATED


def _take() -> Cgroups | Absence:
    """`BlockingIOError`: another process has locked it."""
    path = _own_path()
    own = _directory_of(path) if path else None
    if own is None:
        return Absence.NOT_DELEGATED
    above, _, name = path.rpartition("/")
    parent = os.path.dirname(own)  # noqa: PTH120
    if name == LEAF and _is_delegated(parent, above or "/", has_leaf=True):
        base, home = parent, own
    elif _is_delegated(own, path):
        base = home = own
    else:
        return Absence.NOT_DELEGATED
    lock = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if path == "/":
            home = f"{base}/{LEAF}"
            with suppress(FileExistsError):
                os.mkdir(home)  # noqa: PTH102
            Cgroup(home, home).enter()
        _rehearse(Cgroup(f"{base}/{LEAF}-try", home))
        cgroups = Cgroups(base, home, lock)
        cgroups.take_controllers()
    except BaseException:
        os.close(lock)
        raise
    return cgroups


def _rehearse(cgroup: Cgroup) -> None:
    """An `OSError` if this process may not do with a cgroup what a start does."""
    with suppress(FileExistsError):
        os.mkdir(cgroup.path)  # noqa: PTH102
    try:
        cgroup.enter()
        cgroup.leave()
        if cgroup.is_populated():
            raise OSError(EPERM, os.strerror(EPERM))
    finally:
        cgroup.remove()


def _is_delegated(directory: str, path: str, *, has_leaf: bool = False) -> bool:
    # The root of the whole hierarchy, which is nobody's, has no type.
    with open(f"{directory}/cgroup.type", encoding="ascii") as file:  # noqa: PTH123
        if file.read().strip() != "domain":
            return False
    if not all(os.access(each, os.W_OK) for each in (directory, f"{directory}/cgroup.procs")):
        return False
    if path == "/" or (has_leaf and path.endswith(_UNITS)):
        return True
    return any(_mark(directory, name) == b"1" for name in _MARKS)


def _mark(directory: str, name: str) -> bytes:
    with suppress(OSError):
        return os.getxattr(directory, name)
    return b""


def _controllers_of(directory: str) -> frozenset[str]:
    with open(f"{directory}/cgroup.subtree_control", encoding="ascii") as file:  # noqa: PTH123
        return frozenset(file.read().split())


def _own_path() -> str:
    """The cgroup of this process, as its cgroup namespace shows it; '' without version 2."""
    with open("/proc/self/cgroup", "rb") as file:  # noqa: PTH123
        for line in file:
            if line.startswith(b"0::"):
                return os.fsdecode(line[3:].rstrip(b"\n"))
    return ""


def _directory_of(path: str) -> str | None:
    """The directory of a cgroup; None if the hierarchy is not mounted so that it has one."""
    with open("/proc/self/mountinfo", "rb") as file:  # noqa: PTH123
        for line in file:
            before, _, after = os.fsdecode(line).partition(" - ")
            if after.split()[0] != "cgroup2":
                continue
            root, place = (_unescaped(text) for text in before.split()[3:5])
            if root == "/":
                return os.path.normpath(f"{place}/{path}")
            if path == root or path.startswith(f"{root}/"):
                return os.path.normpath(f"{place}/{path.removeprefix(root)}")
    return None


def _unescaped(text: str) -> str:
    for escaped, character in ((r"\040", " "), (r"\011", "\t"), (r"\012", "\n"), (r"\134", "\\")):
        text = text.replace(escaped, character)
    return text
