"""The steps of a child on its way to its program, in order, as data.

Two take them: `forked` in Python, in a copy of krond, and the launcher, a small program in C. If
one fails, the program never begins.
"""

from __future__ import annotations

import os
import resource
from errno import EINVAL

from kron.jobs.task import UNLIMITED, LimitedResource
from kron.krond.process.account import HIGHEST_ID, Account
from kron.krond.process.child import as_bytes, search_path
from kron.krond.process.failure import NotStarted, StartStage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kron.krond.process.launch import Launch

    Given = bytes | int | tuple[int, ...]

PRIVATE = 0o077
_KERNEL_NAMES = {
    LimitedResource.NOFILE: resource.RLIMIT_NOFILE,
    LimitedResource.NPROC: resource.RLIMIT_NPROC,
    LimitedResource.AS: resource.RLIMIT_AS,
    LimitedResource.CORE: resource.RLIMIT_CORE,
}


class Step:
    __slots__ = ("given", "name", "stage")

    def __init__(self, stage: StartStage, name: str, *given: Given) -> None:
        self.stage = stage
        """The one to report if the step fails."""
        self.name = name
        self.given = given


def steps(what: Launch, argv: list[bytes], sources: tuple[int, ...]) -> list[Step]:
    """All of them, each of which does one thing that may fail."""
    return list(_steps(what, argv, sources))


def _steps(what: Launch, argv: list[bytes], sources: tuple[int, ...]) -> Iterator[Step]:
    early, late = _limits(what)
    yield Step(StartStage.SESSION, "session")
    if what.cgroup is not None:
        yield Step(StartStage.CGROUP, "cgroup", os.fsencode(what.cgroup.entrance))
    if what.proof:
        yield Step(StartStage.PROOF, "proof", os.fsencode(what.proof))
    yield Step(StartStage.DESCRIPTORS, "descriptors", sources)
    yield from early
    if what.task.nice is not None:
        yield Step(StartStage.NICE, "nice", what.task.nice)
    if what.account is not None:
        yield from _drop(what.account)
    umask = what.task.umask if what.task.umask is not None else _own_umask()
    yield Step(StartStage.DIRECTORY, "umask", umask)
    if what.task.cwd:
        name = "directory-or-root" if what.task.cwd_may_lack else "directory"
        yield Step(StartStage.DIRECTORY, name, as_bytes(what.task.cwd))
    yield Step(StartStage.SEARCH, "search", argv[0], search_path(what.env))
    yield Step(StartStage.SIGNALS, "signals")
    yield from late
    yield Step(StartStage.PROGRAM, "program", *argv)


def _drop(account: Account) -> Iterator[Step]:
    """Drop the groups while that is still allowed, then the user; then verify."""
    uid, gid, groups = account.uid, account.gid, tuple(sorted(set(account.groups)))
    for number in (uid, gid, *groups):
        if not 0 <= number <= HIGHEST_ID:  # -1 would mean: do not change it
            raise NotStarted(StartStage.USER, EINVAL)
    yield Step(StartStage.GROUPS, "groups", groups)
    yield Step(StartStage.GROUP, "group", gid)
    yield Step(StartStage.USER, "user", uid)
    yield Step(StartStage.VERIFIED, "verify", uid, gid, groups)


def _limits(what: Launch) -> tuple[list[Step], list[Step]]:
    """The limits to set before the switch of the user, and those to set at the end.

    Only root may raise a limit, and the limit of processes must hold during the switch. But an
    address space below what a fork inherits from krond would leave it no memory to go on.
    """
    early: list[Step] = []
    late: list[Step] = []
    if what.open_files is not None and LimitedResource.NOFILE not in dict(what.task.limits):
        early.append(_limit(resource.RLIMIT_NOFILE, *what.open_files))
    for name, value in what.task.limits:
        number = resource.RLIM_INFINITY if value == UNLIMITED else value
        _, own_hard = resource.getrlimit(_KERNEL_NAMES[name])
        is_lower = value != UNLIMITED and (own_hard == resource.RLIM_INFINITY or value <= own_hard)
        group = late if name is LimitedResource.AS and is_lower else early
        group.append(_limit(_KERNEL_NAMES[name], number, number))
    return early, late


def _limit(name: int, soft: int, hard: int) -> Step:
    return Step(StartStage.LIMITS, "limit", name, soft, hard)


def _own_umask() -> int:
    own = os.umask(PRIVATE)
    os.umask(own)
    return own
