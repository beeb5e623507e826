"""The operator: puts the parts together, and lets them work while it leads.

Decisions are made in callbacks that do not wait, so nothing happens in between. Tasks wait for the
API server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial
from itertools import count

import kron
from kron.core.duration import SECOND_NS
from kron.kube.api_object import Object
from kron.kube.client.client import Client
from kron.kube.client.election import Election
from kron.kube.client.errors import ApiError, retry_delay_s
from kron.kube.client.reflector import Reflector, Sink
from kron.kube.client.resources import JOBS, KRONJOBS, Resource
from kron.kube.operator.enrolment import ClusterEnrolment, Jobs
from kron.kube.operator.event_sender import EventSender
from kron.kube.operator.job_cleanup import JobCleanup
from kron.kube.operator.kronjob_metrics import KronJobMetrics
from kron.kube.operator.member import ClusterMember
from kron.kube.operator.metrics import Metrics
from kron.kube.operator.outcomes import Outcomes
from kron.kube.operator.pending import PendingJob
from kron.kube.operator.recorder import ResultRecorder
from kron.kube.operator.roster import ClusterRoster
from kron.kube.operator.settings import OperatorSettings
from kron.kube.operator.starter import JobStarter
from kron.kube.operator.status_writer import StatusWriter
from kron.kube.resource.run import NAME_LABEL
from kron.logs.event import Event, Level
from kron.logs.journal import Journal
from kron.runtime.scheduler import Scheduler
from kron.waking.clock import Clock
from kron.waking.timer import WallTimer

AT_ONCE = 100
"""How many members are dealt with before requests, the lease and the watches get their turn."""


class Operator:
    def __init__(
        self,
        settings: OperatorSettings,
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
        self._roster = roster = ClusterRoster()
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
            observe_trouble=partial(journal.error, "hold the lease", level=Level.WARN),
        )
        may_act = self._election.may_act
        self._cleanup = cleanup = JobCleanup(client, roster, may_act)
        self._statuses = statuses = StatusWriter(
            client, journal, clock, may_act, self._see, self._status_stored
        )
        self._events = events = EventSender(
            client, metrics, clock, may_act, statuses.is_idle, identity=settings.identity
        )
        outcomes = Outcomes(roster, statuses, events, journal, metrics, clock)
        self._starter = starter = JobStarter(
            client, roster, statuses, outcomes, clock, may_act, settings
        )
        # No committer, since the name of a Job is the lock: see `Committer`.
        scheduler: Scheduler[ClusterMember, PendingJob] = Scheduler(
            statuses, None, starter, outcomes, clock, slack_s=settings.slack_s
        )
        self._scheduler = scheduler
        recorder = ResultRecorder(statuses, events, journal, metrics, clock)
        self._enrolment = ClusterEnrolment(
            roster, scheduler, starter, statuses, recorder, events, journal, clock, may_act
        )
        self._jobs = Jobs(roster, starter, statuses, recorder, cleanup, self._enrolment)
        self._reflectors = list(self._make_reflectors(client))
        metrics.gauges |= {
            "kron_kronjobs": ("KronJobs that are known.", lambda: len(roster)),
            "kron_queue_length": ("KronJobs that wait for their time.", self._waiting),
            "kron_statuses_waiting": ("Statuses that are to be written.", statuses.waiting),
        }
        metrics.more = KronJobMetrics(roster, metrics, settings.kronjob_metrics).lines

    async def run(self) -> None:
        """Watch, and lead whenever this replica gets the lease, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for reflector in self._reflectors:
                group.create_task(reflector.run())
            group.create_task(self._campaign())

    async def _campaign(self) -> None:
        """Stand for election once everything is read: another replica may be ready sooner."""
        for reflector in self._reflectors:
            await reflector.synced.wait()
        await self._election.run(self._lead)

    @property
    def starting(self) -> int:
        """How many Jobs are being made."""
        return sum(len(member.pending) for member in self._roster)

    def _waiting(self) -> int:
        return sum(member.wake_s is not None for member in self._roster)

    def why_not_ready(self) -> str:
        """What is still to be read before this replica could lead; '' if nothing is."""
        is_read = all(reflector.synced.is_set() for reflector in self._reflectors)
        return "" if is_read else "KronJobs and Jobs are not read yet; the log says why"

    async def _lead(self) -> None:
        """Act until cancelled. First read what another leader wrote."""
        await self._read_again()
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.TaskGroup() as group:
                self._starter.begin(group)
                group.create_task(self._statuses.run())
                group.create_task(self._events.run())
                group.create_task(self._cleanup.run())
                try:
                    await self._act()
                finally:  # before anybody waits: what comes due from now on is the next leader's
                    self._enrolment.takes_up = False
                    loop.remove_reader(self._timer.fileno())
                    await self._statuses.flush()
        finally:
            await self._starter.drain()
            self._enrolment.reset()

    async def _act(self) -> None:
        """Take up all KronJobs, then deal with what comes due or changes."""
        self._enrolment.is_leading = self._enrolment.takes_up = True
        self._scheduler.watch_clock()  # a replica that does not lead does not follow it
        await self._take_up()
        self._journal.event(Event.READY, version=kron.__version__, jobs=len(self._roster))
        asyncio.get_running_loop().add_reader(self._timer.fileno(), self._timer_fired)
        while True:
            self._arm()
            await self._enrolment.wake.wait()
            self._enrolment.wake.clear()

    async def _read_again(self) -> None:
        """Read everything as it is now: a watch may lag behind what the last leader did."""
        for tries in count():
            try:
                await asyncio.gather(*(reflector.refresh() for reflector in self._reflectors))
                return
            except ApiError as error:
                self._journal.error("read everything", str(error), level=Level.WARN)
                await asyncio.sleep(retry_delay_s(error, tries))

    async def _take_up(self) -> None:
        for number, member in enumerate(self._roster):
            if number % AT_ONCE == 0:
                await asyncio.sleep(0)
            if self._roster.get(member.key) is member:
                if member.invalid:
                    self._enrolment.tell_invalid(member)
                self._enrolment.take_up(member)

    def _see(self, kronjob: Object) -> None:
        self._enrolment.put(kronjob)

    def _status_stored(self, member: ClusterMember) -> None:
        self._cleanup.touch(member)
        self._starter.wake(member)

    def _timer_fired(self) -> None:
        is_in_time = self._timer.read()
        self._armed_s = None  # also for the time when this replica leads again
        if not self._election.may_act():
            return  # it was asleep, and another may lead by now
        now_ns = self._clock.now_ns()
        if not is_in_time:
            self._scheduler.clock_changed(self._roster, now_ns)
        self._step(self._scheduler.due(now_ns), now_ns)
        self._arm()

    def _step(self, due: list[ClusterMember], now_ns: int) -> None:
        """Step some of the jobs that are due, and have their Jobs asked for before the others.

        It is one wake for all of them: none is late because of the others.
        """
        self._scheduler.step(filter(self._is_to_step, due[:AT_ONCE]), now_ns)
        if len(due) > AT_ONCE:
            asyncio.get_running_loop().call_soon(self._step_if_leading, due[AT_ONCE:], now_ns)

    def _is_to_step(self, member: ClusterMember) -> bool:
        """Whether it still exists and was not stepped since it came due."""
        return member.wake_s is None and self._roster.get(member.key) is member

    def _step_if_leading(self, due: list[ClusterMember], now_ns: int) -> None:
        if self._enrolment.takes_up and self._election.may_act():
            self._step(due, now_ns)
            self._arm()

    def _arm(self) -> None:
        next_s = self._scheduler.queue.next_s()
        if next_s != self._armed_s or next_s is None:
            self._armed_s = next_s
            self._timer.arm(None if next_s is None else next_s * SECOND_NS)

    def _tell_leader(self, leads: bool) -> None:
        self._metrics.is_leader = leads
        self._journal.event(Event.LEADER, identity=self._settings.identity, leads=leads)

    def _make_reflectors(self, client: Client) -> Iterator[Reflector]:
        watched: tuple[tuple[Resource, Sink, str], ...] = (
            (KRONJOBS, self._enrolment, ""),
            (JOBS, self._jobs, NAME_LABEL),
        )
        for namespace in self._settings.namespaces or (None,):
            for resource, sink, selector in watched:
                yield Reflector(
                    client,
                    resource,
                    namespace,
                    sink,
                    selector=selector,
                    silence_s=self._settings.watch_silence_s,
                    observe_failure=partial(self._watch_failed, resource),
                )

    def _watch_failed(self, resource: Resource, error: ApiError) -> None:
        self._metrics.watch_restarts[resource.plural] += 1
        self._journal.error(f"watch {resource.plural}", str(error), level=Level.WARN)
