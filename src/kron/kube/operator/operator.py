"""The operator: puts the parts together, and lets them work while it leads.

Decisions are made in callbacks that do not wait, so nothing happens in between. Tasks wait for the
API server.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from functools import partial
from secrets import token_hex

import kron
from kron.core.duration import SECOND_NS
from kron.kube.api_object import Object
from kron.kube.client.client import Client
from kron.kube.client.election import Election, Predecessor, Vigil
from kron.kube.client.errors import NOT_FOUND, ApiError
from kron.kube.client.lease import Holder
from kron.kube.client.reflector import Reflector, Sink
from kron.kube.client.resources import JOBS, KRONJOBS, Resource
from kron.kube.client.server_clock import ServerClock
from kron.kube.operator.condition import NOT_READY, why_not_ready
from kron.kube.operator.doubts import Doubts
from kron.kube.operator.enrolment import ClusterEnrolment, Jobs
from kron.kube.operator.event_sender import EventSender
from kron.kube.operator.fences import Fences
from kron.kube.operator.handover import Handover
from kron.kube.operator.job_cleanup import JobCleanup
from kron.kube.operator.kronjob_metrics import KronJobMetrics
from kron.kube.operator.member import ClusterMember
from kron.kube.operator.metrics import Metrics
from kron.kube.operator.outcomes import Outcomes
from kron.kube.operator.pending import PendingJob
from kron.kube.operator.recorder import ResultRecorder
from kron.kube.operator.rehearsal import Rehearsal
from kron.kube.operator.roster import ClusterRoster
from kron.kube.operator.settings import OperatorSettings
from kron.kube.operator.starter import JobStarter
from kron.kube.operator.status_writer import TIDY_DELAY_S, StatusWriter
from kron.kube.operator.takeover import BATCH, Takeover
from kron.kube.resource.run import NAME_LABEL
from kron.kube.resource.schema.definition import INSTALL
from kron.logs.event import Event, Level
from kron.logs.journal import Journal
from kron.runtime.scheduler import Scheduler
from kron.waking.clock import Clock
from kron.waking.timer import WallTimer

MOST_SETTLED_S = 1.0
"""How long a leader that stops waits for answers and statuses, so that the next one has them."""
_LOOK_S = 0.01
_SAME_TROUBLE_S = 90.0
"""A watch that fails again within this is not logged again: it is tried every few seconds."""


class Operator:
    def __init__(
        self,
        settings: OperatorSettings,
        client: Client,
        journal: Journal,
        metrics: Metrics,
        clock: Clock,
        timer: WallTimer,
        server_clock: ServerClock,
        vigil: Vigil | None = None,
    ) -> None:
        self.instance = token_hex(8)
        self._settings = settings
        self._journal = journal
        self._metrics = metrics
        self._clock = clock
        self._timer = timer
        self._server_clock = server_clock
        self._armed_s: int | None = None
        self._roster = roster = ClusterRoster()
        self._election = Election(
            client,
            settings.lease_namespace,
            settings.lease_name,
            Holder(settings.identity, self.instance, settings.peer, settings.namespaces),
            clock=clock,
            duration_s=settings.lease_duration_s,
            deadline_s=settings.act_s,
            renew_s=settings.act_s / 5,
            observe=self._tell_leader,
            observe_trouble=partial(journal.error, "hold the lease", level=Level.WARN),
            why_not=self._why_not_lead,
            handover=self._take_mark,
            vigil=vigil,
        )
        self._follows = asyncio.Event()
        """Set while this replica does not lead."""
        self._follows.set()
        self._mark: Object | None = None
        """What is left for the next leader, if this one has ended well."""
        may_act = self._election.may_act
        self._cleanup = cleanup = JobCleanup(client, roster, may_act)
        self._statuses = statuses = StatusWriter(
            client, journal, clock, may_act, self._see, self._may_lose_more
        )
        self._events = events = EventSender(
            client, metrics, clock, may_act, statuses.is_idle, identity=settings.identity
        )
        self._doubts = doubts = Doubts(settings, clock, self._doubt_is_over)
        self._fences = fences = Fences(client, may_act, settings)
        outcomes = Outcomes(roster, statuses, events, journal, metrics, clock, doubts)
        self._starter = starter = JobStarter(
            client, roster, statuses, outcomes, doubts, fences, clock, may_act, settings
        )
        self._rehearsal = Rehearsal(client, statuses, events, journal, clock, may_act)
        # No committer, since the name of a Job is the lock: see `Committer`.
        scheduler: Scheduler[ClusterMember, PendingJob] = Scheduler(
            statuses, None, starter, outcomes, clock, slack_s=settings.slack_s
        )
        self._scheduler = scheduler
        recorder = ResultRecorder(statuses, events, journal, metrics, clock)
        self._enrolment = ClusterEnrolment(
            *(roster, scheduler, starter, statuses, recorder, events, doubts, self._rehearsal),
            *(journal, clock, may_act, settings.default_deadline_s),
        )
        self._jobs = Jobs(roster, starter, statuses, outcomes, recorder, cleanup, fences)
        self._reflectors = list(self._make_reflectors(client))
        self._troubles: dict[tuple[str, str | None], tuple[str, float]] = {}
        """How each watch failed last, and when, by the loop's clock."""
        self._handover = handover = Handover(self._reflectors)
        statuses.wrote = starter.wrote = handover.wrote
        self._takeover = Takeover(
            *(settings, client, roster, self._reflectors, handover),
            *(self._enrolment, fences, journal, clock, may_act),
        )
        self._enrolment.take = self._takeover.take
        metrics.gauges |= {
            "kron_kronjobs": ("KronJobs that are known.", lambda: len(roster)),
            "kron_queue_length": ("KronJobs that wait for their time.", self._waiting),
            "kron_statuses_waiting": ("Statuses that are to be written.", statuses.waiting),
            "kron_clock_ahead_seconds": (
                "How much the clock is ahead of the API server's, at the least.",
                lambda: server_clock.ahead_s,
            ),
        }
        metrics.failing_watches = self._failing_watches
        metrics.not_ready = self._not_ready
        metrics.more = KronJobMetrics(roster, metrics, settings.kronjob_metrics).lines

    async def run(self) -> None:
        """Watch, and lead whenever this replica gets the lease, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for reflector in self._reflectors:
                group.create_task(reflector.run())
            group.create_task(self._campaign())

    async def _campaign(self) -> None:
        """Stand for election once everything is read: another replica may be ready sooner.

        A namespace that cannot be read does not keep the others from their runs.
        """
        while self._why_unread():
            await asyncio.sleep(10 * _LOOK_S)
        await self._election.run(self._lead)

    async def wait_until_it_follows(self) -> None:
        """Wait until this replica does not lead."""
        await self._follows.wait()

    @property
    def starting(self) -> int:
        """How many Jobs are being made."""
        return sum(len(member.pending) for member in self._roster)

    def _waiting(self) -> int:
        return sum(member.wake_s is not None for member in self._roster)

    def why_not_ready(self) -> str:
        """Why this replica could not lead, or not for long; '' if it could."""
        return self._why_unread() or self._why_not_lead() or self._election.trouble

    def _why_unread(self) -> str:
        """Why nothing is known of any namespace; '' if everything is known of one at least."""
        unread = [each for each in self._reflectors if not each.synced.is_set()]
        if any(each.trouble is None for each in unread):
            return "KronJobs and Jobs are not read yet"
        failing = {each.namespace for each in self._reflectors if each.trouble is not None}
        if len(failing) < len({each.namespace for each in self._reflectors}):
            return ""
        return "\n".join(
            dict.fromkeys(_trouble(each.resource, each.trouble) for each in self._reflectors)
        ).strip()

    async def _lead(self, predecessor: Predecessor | None) -> None:
        """Act until cancelled, then leave everything in order for the next leader."""
        loop = asyncio.get_running_loop()
        self._mark = None
        is_in_order = False
        try:
            async with asyncio.TaskGroup() as group:
                self._starter.begin(group)
                group.create_task(self._statuses.run())
                group.create_task(self._events.run())
                group.create_task(self._cleanup.run())
                group.create_task(self._fences.run())
                group.create_task(self._rehearsal.run())
                try:
                    await self._act(group, predecessor)
                finally:  # before anybody waits: what comes due from now on is the next leader's
                    self._enrolment.takes_up = False
                    loop.remove_reader(self._timer.fileno())
                    is_in_order = await self._settle()
        except asyncio.CancelledError:  # and not by an error of ours
            if is_in_order:
                self._mark = self._handover.mark()
            raise
        finally:
            self._doubts.end()
            self._takeover.end()
            self._enrolment.reset()

    async def _settle(self) -> bool:
        """Wait for a moment for what is under way.

        True if everything is known, answered and stored: the next leader may rely on it.
        """
        is_known = self._takeover.is_complete and self._doubts.are_stored
        self._statuses.hurry()
        loop = asyncio.get_running_loop()
        until_s = loop.time() + MOST_SETTLED_S
        while self._election.may_act() and loop.time() < until_s:
            await asyncio.sleep(_LOOK_S)
            if not self._starter.is_asking and not self._statuses.waiting():
                return is_known
        return False

    async def _act(self, group: asyncio.TaskGroup, predecessor: Predecessor | None) -> None:
        """Take up all KronJobs, then deal with what comes due or changes."""
        self._doubts.begin(is_handed_over=predecessor is None or predecessor.handover is not None)
        self._scheduler.watch_clock()  # a replica that does not lead does not follow it
        await self._takeover.begin(group, predecessor)
        self._enrolment.awake_since_s = self._takeover.awake_since_s
        self._enrolment.takes_up = True
        for member in self._roster:
            self._scheduler.queue.put(member, member.first_look_s())
        self._journal.event(Event.READY, version=kron.__version__, jobs=len(self._roster))
        asyncio.get_running_loop().add_reader(self._timer.fileno(), self._timer_fired)
        group.create_task(self._takeover.run())
        while True:
            self._arm()
            await self._enrolment.wake.wait()
            self._enrolment.wake.clear()

    def _see(self, kronjob: Object) -> None:
        self._enrolment.put(kronjob)

    def _doubt_is_over(self, member: ClusterMember) -> None:
        self._may_lose_more(member)
        self._statuses.touch(member, TIDY_DELAY_S)  # it names the period still

    def _may_lose_more(self, member: ClusterMember) -> None:
        """Jobs that had to be kept may be deleted now: its status is stored, or a doubt is over."""
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
        ours: list[ClusterMember] = []
        for member in filter(self._is_to_step, due[:BATCH]):
            if member.is_ours:
                ours.append(member)
            else:
                self._takeover.take(member, now_ns)
        self._scheduler.step(ours, now_ns)
        if len(due) > BATCH:
            asyncio.get_running_loop().call_soon(self._step_if_leading, due[BATCH:], now_ns)

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
        (self._follows.clear if leads else self._follows.set)()
        self._journal.event(Event.LEADER, identity=self._settings.identity, leads=leads)

    def _take_mark(self) -> Object | None:
        mark, self._mark = self._mark, None
        return mark

    def _why_not_lead(self) -> str:
        """Why this replica must not lead, even if it gets the lease."""
        ahead_s, most_s = self._server_clock.ahead_s, self._settings.max_skew_s
        if not most_s or abs(ahead_s) <= most_s:
            return ""
        where = "ahead of" if ahead_s > 0 else "behind"
        return (
            f"the clock is at least {abs(ahead_s):.0f} s {where} the API server's, and "
            f"{most_s} s are allowed (--max-clock-skew): synchronise the clocks of the nodes"
        )

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
                    observe_failure=partial(self._watch_failed, resource, namespace),
                )

    def _watch_failed(self, resource: Resource, namespace: str | None, error: ApiError) -> None:
        self._metrics.watch_restarts[resource.plural] += 1
        message, key = _trouble(resource, error), (resource.plural, namespace)
        before, failed_s = self._troubles.get(key, ("", 0.0))
        now_s = asyncio.get_running_loop().time()
        self._troubles[key] = message, now_s
        if message != before or now_s - failed_s > _SAME_TROUBLE_S:
            where = "" if namespace is None else f" of the namespace {namespace}"
            operation = f"watch {resource.plural}{where}"
            self._journal.error(operation, message, level=Level.WARN)

    def _not_ready(self) -> dict[str, int]:
        """How many KronJobs are not ready, by why. Only the leader knows."""
        found = Counter(map(why_not_ready, self._roster) if self._metrics.is_leader else ())
        return {reason: found[reason] for reason in NOT_READY}

    def _failing_watches(self) -> dict[tuple[str, str], int]:
        """Whether each watch fails at present, by resource and namespace ('' for all)."""
        return {
            (each.resource.plural, each.namespace or ""): int(each.trouble is not None)
            for each in self._reflectors
        }


def _trouble(resource: Resource, error: ApiError | None) -> str:
    """Why a watch fails, and what to do about it."""
    if error is not None and resource is KRONJOBS and error.status == NOT_FOUND:
        return f"the API server knows no KronJobs: install their definition, {INSTALL}"
    return "" if error is None else str(error)
