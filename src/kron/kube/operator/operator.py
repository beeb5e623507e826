"""The operator: puts the parts together, and lets them work while it leads.

All that is decided is decided in callbacks that do not wait, so nothing happens in between. What
waits for the API server are tasks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import kron
from kron.core.duration import SECOND_NS
from kron.core.instant import to_text
from kron.kube.client.client import Client
from kron.kube.client.election import Election
from kron.kube.client.errors import ApiError
from kron.kube.client.reflector import Reflector
from kron.kube.client.resources import JOBS, KRONJOBS
from kron.kube.operator.answers import retry_delay_s
from kron.kube.operator.enrolment import Enrolment, Jobs
from kron.kube.operator.history import History
from kron.kube.operator.member import Member
from kron.kube.operator.metrics import Metrics
from kron.kube.operator.recorder import Recorder
from kron.kube.operator.reporter import Reporter
from kron.kube.operator.roster import Roster
from kron.kube.operator.scheduler import Scheduler
from kron.kube.operator.settings import Settings
from kron.kube.operator.settlement import Settlement
from kron.kube.operator.starter import Starter
from kron.kube.resource.run import NAME_LABEL
from kron.logs.event import Event, Level
from kron.logs.journal import Journal
from kron.waking.clock import Clock
from kron.waking.queue import Queue
from kron.waking.timer import WallTimer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kron.kube.client.reflector import Sink
    from kron.kube.client.resources import Resource

AT_ONCE = 100
"""How many members are dealt with before requests, the lease and the watches get their turn."""


class Operator:
    """One replica."""

    def __init__(
        self,
        settings: Settings,
        client: Client,
        journal: Journal,
        metrics: Metrics,
        clock: Clock,
        timer: WallTimer,
    ) -> None:
        self._settings = settings
        self._journal = journal
        self._metrics = metrics
        self._clock = clock
        self._timer = timer
        self._armed_s: int | None = None
        self._offset_ns = self._clock_offset_ns()
        self._roster = Roster()
        self._queue: Queue[Member] = Queue()
        self._election = Election(
            client,
            settings.lease_namespace,
            settings.lease_name,
            settings.identity,
            clock=clock,
            duration_s=settings.lease_duration_s,
            deadline_s=settings.act_s,
            renew_s=settings.act_s / 5,
            observe=self._tell_leader,
            observe_trouble=self._tell_lease_trouble,
        )
        may_act = self._election.may_act
        self._history = History(client, may_act)
        self._recorder = Recorder(
            client,
            journal,
            clock,
            may_act,
            self._see,
            self._status_stored,
        )
        is_idle = self._recorder.is_idle
        self._reporter = Reporter(
            client, metrics, clock, may_act, is_idle, identity=settings.identity
        )
        settlement = Settlement(
            self._roster, self._recorder, self._reporter, journal, metrics, clock
        )
        self._starter = Starter(
            client, self._roster, self._recorder, settlement, clock, may_act, settings
        )
        self._scheduler = Scheduler(
            self._queue,
            self._starter,
            settlement,
            self._recorder,
            self._reporter,
            journal,
            metrics,
            slack_s=settings.slack_s,
        )
        self._enrolment = Enrolment(
            self._roster,
            self._queue,
            self._scheduler,
            self._starter,
            self._recorder,
            self._reporter,
            journal,
            clock,
            may_act,
        )
        self._jobs = Jobs(
            self._roster,
            self._scheduler,
            self._starter,
            self._recorder,
            self._history,
            lambda: self._enrolment.is_leading,
        )
        self._reflectors = list(self._make_reflectors(client))
        metrics.gauges |= {
            "kron_kronjobs": ("KronJobs that are known.", lambda: len(self._roster)),
            "kron_queue_length": ("KronJobs that wait for their time.", self._waiting),
            "kron_statuses_waiting": (
                "Statuses that are to be written.",
                lambda: self._recorder.waiting,
            ),
        }

    async def run(self) -> None:
        """Watch, and lead whenever the lease is to be had, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for reflector in self._reflectors:
                group.create_task(reflector.run())
            group.create_task(self._campaign())

    async def _campaign(self) -> None:
        """Stand for election once everything is read: another may be able to begin at once."""
        for reflector in self._reflectors:
            await reflector.synced.wait()
        await self._election.run(self._lead)

    @property
    def starting(self) -> int:
        """How many Jobs are being made."""
        return sum(len(member.starting) for member in self._roster)

    def _waiting(self) -> int:
        return sum(member.wake_s is not None for member in self._roster)

    def why_not_ready(self) -> str:
        """What is still to be read before this replica could lead; '' if nothing is."""
        is_read = all(reflector.synced.is_set() for reflector in self._reflectors)
        return "" if is_read else "KronJobs and Jobs are not read yet; the log says why"

    async def _lead(self) -> None:
        """Act, until cancelled. What another leader wrote has to be known before that."""
        await self._read_again()
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.TaskGroup() as group:
                self._starter.begin(group)
                group.create_task(self._recorder.run())
                group.create_task(self._reporter.run())
                group.create_task(self._history.run())
                try:
                    await self._act()
                finally:  # before anybody waits: what comes due from now on is the next leader's
                    self._enrolment.takes_up = False
                    loop.remove_reader(self._timer.fileno())
                    await self._recorder.flush()
        finally:
            await self._starter.settle()
            self._enrolment.reset()

    async def _act(self) -> None:
        """Take everything up, and then whatever comes due or changes."""
        self._enrolment.is_leading = self._enrolment.takes_up = True
        self._offset_ns = self._clock_offset_ns()  # who did not lead was not told of changes
        await self._take_up()
        self._journal.event(Event.READY, version=kron.__version__, jobs=len(self._roster))
        asyncio.get_running_loop().add_reader(self._timer.fileno(), self._timer_fired)
        while True:
            self._arm()
            await self._enrolment.changed.wait()
            self._enrolment.changed.clear()

    async def _read_again(self) -> None:
        """Read everything as it is now: a watch may lag behind what the last leader did."""
        tries = 0
        while True:
            try:
                await asyncio.gather(*(reflector.refresh() for reflector in self._reflectors))
            except ApiError as error:
                self._journal.error("read everything", str(error), level=Level.WARN)
                await asyncio.sleep(retry_delay_s(error, tries))
                tries += 1
            else:
                return

    async def _take_up(self) -> None:
        for number, member in enumerate(self._roster):
            if number % AT_ONCE == 0:
                await asyncio.sleep(0)
            if self._roster.find(member.key) is member:
                if member.invalid:
                    self._enrolment.tell_invalid(member)
                self._scheduler.take_up(member, self._clock.now_ns())

    def _see(self, kronjob: dict[str, Any]) -> None:
        self._enrolment.put(kronjob)

    def _status_stored(self, member: Member) -> None:
        self._history.touch(member)
        self._starter.changed(member)

    def _timer_fired(self) -> None:
        is_in_time = self._timer.read()
        if not self._election.may_act():
            return  # it was asleep, and another may lead by now
        if not is_in_time:
            self._clock_changed()
        self._armed_s = None
        now_ns = self._clock.now_ns()
        self._step(self._queue.due(now_ns // SECOND_NS), now_ns)
        self._arm()

    def _step(self, due: list[Member], now_ns: int) -> None:
        """Step some of those who are due, and have their Jobs asked for before the others' turn.

        It is one wake for all of them: none is late because of the others.
        """
        self._scheduler.step(filter(self._is_to_step, due[:AT_ONCE]), now_ns)
        if len(due) > AT_ONCE:
            asyncio.get_running_loop().call_soon(self._step_if_leading, due[AT_ONCE:], now_ns)

    def _is_to_step(self, member: Member) -> bool:
        """Whether it is still there, and nothing has brought it up since it came due."""
        return member.wake_s is None and self._roster.find(member.key) is member

    def _step_if_leading(self, due: list[Member], now_ns: int) -> None:
        if self._enrolment.takes_up and self._election.may_act():
            self._step(due, now_ns)
            self._arm()

    def _arm(self) -> None:
        next_s = self._queue.next_s()
        if next_s != self._armed_s or next_s is None:
            self._armed_s = next_s
            self._timer.arm(None if next_s is None else next_s * SECOND_NS)

    def _clock_changed(self) -> None:
        """The clock was set: say by how much and, if it was set back, look at everything again."""
        before_ns, self._offset_ns = self._offset_ns, self._clock_offset_ns()
        shift_s = round((self._offset_ns - before_ns) / SECOND_NS, 3)
        now_ns = self._clock.now_ns()
        self._journal.event(Event.CLOCK_CHANGED, now=to_text(now_ns // SECOND_NS), shift_s=shift_s)
        if shift_s < 0:
            self._scheduler.step(self._roster, now_ns)

    def _clock_offset_ns(self) -> int:
        return self._clock.now_ns() - self._clock.monotonic_ns()

    def _tell_leader(self, leads: bool) -> None:
        self._metrics.is_leader = leads
        self._journal.event(Event.LEADER, identity=self._settings.identity, leads=leads)

    def _tell_lease_trouble(self, trouble: str) -> None:
        self._journal.error("hold the lease", trouble, level=Level.WARN)

    def _make_reflectors(self, client: Client) -> Iterator[Reflector]:
        for namespace in self._settings.namespaces or (None,):
            for resource, sink, selector in (
                (KRONJOBS, self._enrolment, ""),
                (JOBS, self._jobs, NAME_LABEL),
            ):
                yield self._reflector(client, resource, namespace, sink, selector)

    def _reflector(
        self,
        client: Client,
        resource: Resource,
        namespace: str | None,
        sink: Sink,
        selector: str,
    ) -> Reflector:
        def observe(reason: str) -> None:
            if reason == "end":
                return  # the API server ends every watch after some minutes
            self._metrics.watch_restarted(resource.plural)
            self._journal.error(f"watch {resource.plural}", reflector.trouble, level=Level.WARN)

        reflector = Reflector(
            client,
            resource,
            namespace,
            sink,
            selector=selector,
            silence_s=self._settings.watch_silence_s,
            observe_restart=observe,
        )
        return reflector
