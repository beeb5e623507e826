"""The status writer: writes the status of KronJobs, one request each however much has changed.

A status that is as the API server has it is not written. While Jobs wait for their first try,
statuses wait for them, though not for long. A write says which version of the KronJob it is about;
if that has changed, the KronJob is read again, and nothing that another wrote is lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from kron.core.duration import SECOND_NS
from kron.kube.api_object import Object
from kron.kube.client.client import Client
from kron.kube.client.errors import CONFLICT, ApiError, is_gone, retry_delay_s
from kron.kube.client.resources import KRONJOBS, Resource
from kron.kube.operator.member import ClusterMember
from kron.kube.resource.kronjob import read_metadata
from kron.kube.resource.status import Status, status_to_json
from kron.logs.event import Component, Level
from kron.logs.journal import Journal
from kron.waking.clock import Clock

WRITERS = 16
TIDY_DELAY_S = 1.0
"""How long a change that is not urgent, such as a finished Job, waits for more of its kind."""
MOST_HELD_S = 5.0
"""How long statuses wait for Jobs. If Jobs keep coming, both have to be written."""
MOST_KEPT_S = 1.0
"""How long the status of a KronJob waits for what the API server says to its template."""


class StatusWriter:
    def __init__(
        self,
        client: Client,
        journal: Journal,
        clock: Clock,
        may_act: Callable[[], bool],
        see: Callable[[Object], None],
        stored: Callable[[ClusterMember], None],
    ) -> None:
        self._client = client
        self._journal = journal
        self._clock = clock
        self._may_act = may_act
        self._see = see
        """Takes a KronJob as the API server has it."""
        self._stored = stored
        self.wrote: Callable[[Resource, str, str], None] = lambda *_: None
        """Gets the version of each status that is stored."""
        self._dirty: dict[ClusterMember, None] = {}
        self._announcements: dict[ClusterMember, list[Callable[[], None]]] = {}
        """What is announced of a KronJob once its status is stored."""
        self._busy: set[ClusterMember] = set()
        self._tries: dict[ClusterMember, int] = {}
        self._conflicts: dict[ClusterMember, int] = {}
        self._kept: dict[ClusterMember, asyncio.TimerHandle] = {}
        self._held = 0
        self._patience: asyncio.TimerHandle | None = None
        """Runs from the first of the Jobs that statuses wait for, while they do."""
        self.is_idle = asyncio.Event()
        """Set while nothing has to wait for the first try of a Job."""
        self.is_idle.set()
        self._work = asyncio.Event()
        self._timers: dict[ClusterMember, asyncio.TimerHandle] = {}
        self._is_hurried = False

    def urgent(self) -> int:
        """How many statuses are to be written now."""
        return len(self._dirty.keys() | self._busy)

    def waiting(self) -> int:
        """How many statuses are to be written, now or in a moment."""
        return len(self._dirty.keys() | self._busy | self._timers.keys())

    def changed(self, job: ClusterMember, *, is_proven: bool = False) -> None:
        """The store of `kron.runtime`: its ledger has changed."""
        self.touch(job)

    def touch(self, member: ClusterMember, delay_s: float = 0.0) -> None:
        if member.is_gone:
            return
        if delay_s and not self._is_hurried:
            self._later(member, delay_s)
            return
        self._dirty[member] = None
        self._wake()

    def then(self, member: ClusterMember, announce: Callable[[], None]) -> None:
        """Announce an end once it is stored: the next leader must not come to another one."""
        self._announcements.setdefault(member, []).append(announce)

    def forget(self, member: ClusterMember) -> None:
        """It is gone, and no other leader will decide about it again."""
        _announce(self._announcements.pop(member, ()))
        self._dirty.pop(member, None)
        self._tries.pop(member, None)
        self._conflicts.pop(member, None)

    def keep_back(self, member: ClusterMember) -> None:
        """Do not write its status before `release`, for a moment at most."""
        if member not in self._kept and not self._is_hurried:
            loop = asyncio.get_running_loop()
            self._kept[member] = loop.call_later(MOST_KEPT_S, self.release, member)

    def release(self, member: ClusterMember) -> None:
        timer = self._kept.pop(member, None)
        if timer is not None:
            timer.cancel()
            self._wake()

    def hold(self) -> None:
        """A Job is to be made: statuses wait for it."""
        self._held += 1
        if self._held == 1:
            loop = asyncio.get_running_loop()
            self._patience = loop.call_later(MOST_HELD_S, self._lose_patience)
            self._work.clear()
            self.is_idle.clear()

    def let_go(self) -> None:
        self._held -= 1
        if not self._held:
            self._lose_patience()

    def _lose_patience(self) -> None:
        """Write statuses again, until the next Job is to be made while no other is."""
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
        self.is_idle.set()
        self._wake()

    def hurry(self) -> None:
        """Let nothing wait any more, nor what changes from now on: another replica leads next."""
        self._is_hurried = True
        for member in [*self._kept]:
            self.release(member)
        for member in [*self._timers]:
            self._timers.pop(member).cancel()
            self.touch(member)
        self._lose_patience()

    async def run(self) -> None:
        """Write what is to be written, until cancelled; what was not written then is forgotten."""
        self._is_hurried = False
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(WRITERS):
                    group.create_task(self._work_on())
        finally:
            for timer in (*self._timers.values(), *self._kept.values()):
                timer.cancel()
            self._timers.clear()
            self._kept.clear()
            self._dirty.clear()
            self._busy.clear()
            self._tries.clear()
            self._conflicts.clear()
            # The next leader decides about these periods again, unless a write arrived whose answer
            # did not: then only the status says how they ended.
            self._announcements.clear()

    async def _work_on(self) -> None:
        while True:
            await self._work.wait()
            member = next(filter(self._is_to_write, self._dirty), None)
            if member is None:
                self._work.clear()
                continue
            del self._dirty[member]
            status = member.status(self._clock.now_ns() // SECOND_NS)
            announcements = self._announcements.pop(member, [])
            if status == member.stored:
                _announce(announcements)
                self._stored(member)
                continue
            self._busy.add(member)
            try:
                if await self._write(member, status) or member.is_gone:
                    _announce(announcements)
                elif announcements:
                    later = self._announcements.get(member, [])
                    self._announcements[member] = announcements + later
            finally:
                self._busy.discard(member)
                self._wake()

    def _is_to_write(self, member: ClusterMember) -> bool:
        return member not in self._busy and member not in self._kept

    async def _write(self, member: ClusterMember, status: Status) -> bool:
        """Write a status once. True if it is stored; else another try follows, or the watch."""
        if not self._may_act():
            return False
        member.writing = status
        try:
            seen = await self._client.patch(
                KRONJOBS, *member.key, _body(member, status), subresource="status", is_brief=True
            )
        except ApiError as error:
            await self._failed(member, error)
            return False
        finally:
            member.writing = None
        self._tries.pop(member, None)
        self._conflicts.pop(member, None)
        member.stored = status
        # The write named the version that we knew, so nothing but the version has changed.
        version = read_metadata(seen).resource_version
        member.metadata = member.metadata.replace(resource_version=version)
        self.wrote(KRONJOBS, member.metadata.namespace, version)
        self._stored(member)
        return True

    async def _failed(self, member: ClusterMember, error: ApiError) -> None:
        if is_gone(error):
            return  # the watch shows it
        if error.status == CONFLICT:
            # Once is an everyday matter. Again and again, something is wrong with the versions.
            conflicts = self._conflicts.get(member, 0)
            self._conflicts[member] = conflicts + 1
            await self._read_again(member, retry_delay_s(error, conflicts) if conflicts else 0.0)
            return
        tries = self._tries.get(member, 0)
        self._tries[member] = tries + 1
        if tries == 0:
            self._journal.error(
                "write status",
                str(error),
                member.kronjob,
                level=Level.WARN,
                component=Component.RECONCILER,
            )
        self._later(member, retry_delay_s(error, tries))

    async def _read_again(self, member: ClusterMember, delay_s: float) -> None:
        try:
            seen = await self._client.get(KRONJOBS, *member.key)
        except ApiError as error:
            if not is_gone(error):
                self._later(member, retry_delay_s(error, 2))
            return
        if not member.is_gone:  # it may have gone while it was read
            self._see(seen)
            self._later(member, delay_s)

    def _later(self, member: ClusterMember, delay_s: float) -> None:
        loop = asyncio.get_running_loop()
        known = self._timers.get(member)
        if known is not None and known.when() <= loop.time() + delay_s:
            return
        if known is not None:
            known.cancel()

        def now() -> None:
            del self._timers[member]
            self.touch(member)

        self._timers[member] = loop.call_later(delay_s, now)

    def _wake(self) -> None:
        if self._dirty and self.is_idle.is_set():
            self._work.set()


def _announce(announcements: Iterable[Callable[[], None]]) -> None:
    for announce in announcements:
        announce()


def _body(member: ClusterMember, status: Status) -> Object:
    """A merge patch. The version and the uid make it one of this KronJob as we know it."""
    values = status_to_json(status)
    if member.frozen:  # a newer operator wrote all else
        values = {"conditions": values["conditions"]}
    metadata = member.metadata
    return {
        "metadata": {"resourceVersion": metadata.resource_version, "uid": metadata.uid},
        "status": values,
    }
