"""The takeover: what a new leader finds out about a KronJob before it decides about it.

Watches have shown this replica everything, but they may lag behind what the last leader did. If
that one handed over, they need only show all that it knew. If it did not, a KronJob that comes due
is read first, with the Jobs that the last leader may have made for it, and everything else is
listed meanwhile. A period that the last leader may have asked for, and that is to end without a
Job, gets a fence.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from itertools import count
from math import ceil

from kron.core.decision import Decision
from kron.core.duration import SECOND_NS
from kron.engine.actions import Settle, SettleMany
from kron.engine.job import Job
from kron.engine.ledger import Intent
from kron.engine.recovery import Conclude, Restart, recover
from kron.engine.step import Plan, step
from kron.engine.survey import chosen_between
from kron.kube.api_object import Object
from kron.kube.client.client import Client
from kron.kube.client.election import Predecessor
from kron.kube.client.errors import ApiError, is_gone, malformed, retry_delay_s
from kron.kube.client.reflector import Reflector
from kron.kube.client.resources import KRONJOBS
from kron.kube.operator.enrolment import ClusterEnrolment
from kron.kube.operator.fences import Fences, NotLeadingError
from kron.kube.operator.handover import Handover
from kron.kube.operator.member import ClusterMember
from kron.kube.operator.roster import ClusterRoster
from kron.kube.operator.settings import OperatorSettings
from kron.kube.resource.kronjob import read_metadata
from kron.kube.resource.run import job_name
from kron.logs.event import Level
from kron.logs.journal import Journal
from kron.waking.clock import Clock

BATCH = 100
"""How many members are taken up before requests, the lease and the watches get their turn."""
MOST_BEHIND_S = 1.0
"""How long the watches may take to show what the last leader knew. Then everything is read."""
_LOOK_S = 0.01
_BACK_S = 60
"""What came due longer than this before the last word of a leader, it has recorded."""


class Takeover:
    def __init__(
        self,
        settings: OperatorSettings,
        client: Client,
        roster: ClusterRoster,
        reflectors: Sequence[Reflector],
        handover: Handover,
        enrolment: ClusterEnrolment,
        fences: Fences,
        journal: Journal,
        clock: Clock,
        may_act: Callable[[], bool],
    ) -> None:
        self._client = client
        self._roster = roster
        self._reflectors = reflectors
        self._handover = handover
        self._enrolment = enrolment
        self._fences = fences
        self._journal = journal
        self._clock = clock
        self._may_act = may_act
        self._slack_s = settings.slack_s
        self._acts_s = ceil(settings.act_s) + settings.max_skew_s
        """How long after its last word a leader may act, and by what clock."""
        self._arrives_s = settings.act_s + settings.dead_s
        """How long after its last word the requests of a leader may arrive."""
        self._namespaces = settings.namespaces or (None,)
        self._sure: set[str | None] = set()
        """The namespaces (None: all) of which we know all that the last leader did."""
        self._reading: set[ClusterMember] = set()
        self._group: asyncio.TaskGroup | None = None
        self._predecessor: Predecessor | None = None
        self._dead_s = settings.dead_s
        self._dead_at_s = 0.0
        """When, by the loop's clock, no request of the last leader can arrive any more."""
        self._is_taken = False
        """Whether every namespace was gone through."""

    async def begin(self, group: asyncio.TaskGroup, predecessor: Predecessor | None) -> None:
        """Find out how much is known. Everything else goes on in this group of tasks."""
        self._group, self._predecessor = group, predecessor
        self._dead_at_s = asyncio.get_running_loop().time() + self._dead_s
        self._is_taken = False
        if predecessor is None:
            self._sure.update(self._namespaces)  # nobody has done anything yet
        elif predecessor.handover is not None:
            await self._catch_up(predecessor.handover)

    def end(self) -> None:
        self._group = None
        self._sure.clear()
        self._reading.clear()

    @property
    def is_complete(self) -> bool:
        """Whether this leader knows as much as the one before."""
        return self._is_taken and not self._reading

    @property
    def awake_since_s(self) -> int | None:
        """Since when somebody has looked after everything, but for moments; None: nobody has.

        What came due before the last word of a leader came due while that one was awake.
        """
        last = self._predecessor
        return None if last is None else last.last_word_s - self._slack_s

    async def run(self) -> None:
        """Take up every member, those that come due first before the others."""
        async with asyncio.TaskGroup() as group:
            for namespace in self._namespaces:
                group.create_task(self._take_all(namespace))
        self._is_taken = True

    def take(self, member: ClusterMember, now_ns: int) -> None:
        """Take a member up, now or as soon as enough is known of it."""
        if member in self._reading or self._group is None:
            return
        is_known = self._is_known(member)
        if is_known and not self._open_ends(member, now_ns // SECOND_NS):
            self._enrolment.take_up(member, now_ns)
        else:
            self._reading.add(member)
            self._group.create_task(self._find_out(member, is_known=is_known))

    def _is_known(self, member: ClusterMember) -> bool:
        return not self._sure.isdisjoint((None, member.metadata.namespace))

    async def _catch_up(self, mark: Object) -> None:
        loop = asyncio.get_running_loop()
        until_s = loop.time() + MOST_BEHIND_S
        while True:
            for namespace in self._namespaces:
                if self._handover.is_reached(mark, namespace):
                    self._sure.add(namespace)
            if len(self._sure) == len(self._namespaces) or loop.time() >= until_s:
                return
            await asyncio.sleep(_LOOK_S)

    async def _take_all(self, namespace: str | None) -> None:
        if namespace not in self._sure:
            await self._list(namespace)
            self._sure.add(namespace)
        members = [m for m in self._roster if namespace in (None, m.metadata.namespace)]
        members.sort(key=lambda member: member.stored.next_chosen_s or 0)
        for number, member in enumerate(members):
            if number % BATCH == 0:
                await asyncio.sleep(0)
            is_left = not member.is_ours and self._roster.get(member.key) is member
            if is_left and self._enrolment.takes_up and self._may_act():
                self.take(member, self._clock.now_ns())
        self._enrolment.wake.set()

    async def _list(self, namespace: str | None) -> None:
        """Read everything of a namespace as it is now."""
        reflectors = [each for each in self._reflectors if each.namespace == namespace]
        for tries in count():
            try:
                for reflector in reflectors:
                    await reflector.refresh()
                return
            except ApiError as error:
                if not tries:
                    self._journal.error("read everything", str(error), level=Level.WARN)
                await asyncio.sleep(retry_delay_s(error, tries))

    async def _find_out(self, member: ClusterMember, *, is_known: bool) -> None:
        """Find out what became of a member's latest periods, and take it up."""
        try:
            if not is_known:
                if not await self._see(member):
                    return
                await self._look_for_jobs(member)
            fenced: set[int] = set()
            now_ns = self._clock.now_ns()
            while ends := self._open_ends(member, now_ns // SECOND_NS, fenced):
                found = await asyncio.gather(
                    *(self._fences.put_up(member, intent, self._dead_at_s) for intent in ends)
                )
                fenced.update(intent.nominal_s for intent in ends)
                for run in filter(None, found):
                    self._roster.put_found(run)
                now_ns = self._clock.now_ns()
            # The same look at the clock, and nothing waits in between: nothing else ends now.
            is_left = not member.is_ours and not member.is_gone
            if is_left and self._enrolment.takes_up and self._may_act():
                self._enrolment.take_up(member, now_ns)
                self._enrolment.wake.set()
        except NotLeadingError:
            pass  # the next leader sees to it
        finally:
            self._reading.discard(member)

    async def _see(self, member: ClusterMember) -> bool:
        for tries in count():
            try:
                seen = await self._client.get(KRONJOBS, *member.key)
                found = read_metadata(seen)
                if (found.namespace, found.name) != member.key:
                    raise malformed("get kronjobs", "the answer is not what was asked for")
            except ApiError as error:
                if is_gone(error):
                    return False  # the watch will show it
                await asyncio.sleep(retry_delay_s(error, tries))
                if self._is_known(member):
                    return not member.is_gone  # the list has shown it meanwhile
                continue
            self._enrolment.put(seen)
            return not member.is_gone
        raise AssertionError("unreachable")

    async def _look_for_jobs(self, member: ClusterMember) -> None:
        """Find the Jobs that the last leader made, and that no watch has shown yet."""
        for intent in self._recent(member, self._clock.now_ns() // SECOND_NS):
            await self._look_for_job(member, job_name(member.metadata.name, intent.period))
        for run in member.stored.active:
            await self._look_for_job(member, run.name)

    async def _look_for_job(self, member: ClusterMember, name: str) -> None:
        run = None if name in member.runs else await self._fences.look(member, name)
        if run is not None and not run.is_fence:
            self._roster.put_found(run)

    def _recent(self, member: ClusterMember, now_s: int) -> list[Intent]:
        """The periods that the last leader dealt with last."""
        job, last = member.job, self._predecessor
        if job is None or last is None:
            return []
        until_s = min(now_s, last.last_word_s + self._acts_s)
        return _intents(member, job, chosen_between(job, last.last_word_s - _BACK_S, until_s))

    def _asked_for(self, member: ClusterMember, now_s: int) -> list[Intent]:
        """The periods for which a request of the last leader may still arrive."""
        last = self._predecessor
        if last is None or last.silent_s > self._arrives_s:
            return []
        recent = self._recent(member, now_s)
        if last.handover is None:
            return recent
        named = member.stored.unanswered_s  # of all others, the last leader had the answers
        return [intent for intent in recent if intent.nominal_s in named]

    def _open_ends(
        self, member: ClusterMember, now_s: int, fenced: AbstractSet[int] = frozenset()
    ) -> list[Intent]:
        """The periods that would end without a Job if the member were taken up now, although a
        request for it may still arrive: but for those that are fenced."""
        asked_for = [
            each for each in self._asked_for(member, now_s) if each.nominal_s not in fenced
        ]
        job, ledger = member.job, member.ledger
        if not asked_for or job is None or ledger is None:
            return []  # one that is seen for the first time owes nothing from before
        recovery = recover(job, ledger, member.sightings(), now_s, slack_s=self._slack_s)
        is_restarted = any(isinstance(each, Restart) for each in recovery.actions)
        result = step(
            *(job, recovery.ledger, now_s),
            active=bool(member.active_run) or is_restarted,
            plan=Plan(self.awake_since_s or now_s, ()),
            slack_s=self._slack_s,
        )
        ends = {each.intent.nominal_s for each in recovery.actions if isinstance(each, Conclude)}
        ends |= {each.decision.nominal_s for each in result.actions if isinstance(each, Settle)}
        many = [each for each in result.actions if isinstance(each, SettleMany)]
        return [
            intent
            for intent in asked_for
            if intent.nominal_s in ends
            or (
                any(each.first_s <= intent.nominal_s <= each.last_s for each in many)
                and not ledger.is_handled(intent.nominal_s)
            )
        ]


def _intents(member: ClusterMember, job: Job, recent: Iterable[Decision]) -> list[Intent]:
    """The periods that the last leader may have asked for: those it says, and the recent ones."""
    stored = member.ledger.starting if member.ledger is not None else ()
    known = {intent.nominal_s for intent in stored}
    return [
        *stored,
        *(
            Intent(each.nominal_s, each.chosen_s, job.run_id(each.period_id), job.text)
            for each in recent
            if each.nominal_s not in known and each.chosen_s is not None
        ),
    ]
