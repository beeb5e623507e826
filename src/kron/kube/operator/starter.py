"""The starter: makes the Job of a period, however often it has to ask, and at most one.

Each run is a task of its own. It first deletes the Jobs that its own replaces, and waits until they
are gone. The name of its Job follows from the period, so the API server refuses a second one, and a
try that got no answer can be made again without harm. Every try asks first whether this operator
still leads.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from itertools import count

from kron.core.duration import SECOND_NS, format_duration
from kron.engine.actions import GIVEN_UP_BEFORE, LATE, Outcome
from kron.engine.ledger import Intent
from kron.engine.recovery import Conclude, Sighting
from kron.kube.api_object import Object
from kron.kube.client.client import Client
from kron.kube.client.errors import ApiError, is_gone, malformed, retry_delay_s
from kron.kube.client.resources import JOBS, Resource
from kron.kube.operator.condition import Trouble
from kron.kube.operator.create_verdict import Verdict, judge, reason_word
from kron.kube.operator.doubts import Doubts
from kron.kube.operator.fences import Fences, NotLeadingError
from kron.kube.operator.member import ClusterMember
from kron.kube.operator.outcomes import Outcomes
from kron.kube.operator.pending import PendingJob
from kron.kube.operator.roster import ClusterRoster
from kron.kube.operator.settings import OperatorSettings
from kron.kube.operator.status_writer import StatusWriter
from kron.kube.resource.kronjob import read_metadata
from kron.kube.resource.run import JobRun, fence_patch, read_run, run_manifest
from kron.waking.clock import Clock

MOST_AT_ONCE = 100
"""How many creations are under way at the same time. The Job controller takes up the first Jobs
while others are still asked for, so with few at a time their Pods wait: measured for a
thousand, 24 took a quarter longer, 200 as long as 100."""
NOT_ASKED_FOR = ApiError(0, "it was given up before it was asked for")
_MOST_JITTER = 0.2


class JobStarter:
    def __init__(
        self,
        client: Client,
        roster: ClusterRoster,
        statuses: StatusWriter,
        outcomes: Outcomes,
        doubts: Doubts,
        fences: Fences,
        clock: Clock,
        may_act: Callable[[], bool],
        settings: OperatorSettings,
    ) -> None:
        self._client = client
        self._roster = roster
        self._statuses = statuses
        self._outcomes = outcomes
        self._doubts = doubts
        self._fences = fences
        self._clock = clock
        self._may_act = may_act
        self._spare_s = settings.slack_s + settings.dead_s
        self._creation_s = settings.creation_s
        self._replace_timeout_s = settings.replace_timeout_s
        self._slots = asyncio.Semaphore(MOST_AT_ONCE)
        self._group: asyncio.TaskGroup | None = None
        self.wrote: Callable[[Resource, str, str], None] = lambda *_: None
        """Gets the version of each Job that is made."""
        self._under_way: set[asyncio.Future[Object]] = set()

    def begin(self, group: asyncio.TaskGroup) -> None:
        """Make Jobs in this group of tasks, which ends when this operator leads no more."""
        self._group = group

    # The executor of `kron.runtime`

    def prepare(
        self, job: ClusterMember, intent: Intent, latest_s: int, *, replaces: bool
    ) -> PendingJob:
        return PendingJob(job, intent, latest_s, replaces=replaces)

    def request(self, job: ClusterMember, pending: PendingJob) -> None:
        """Make this Job as soon as possible. First delete the Jobs that it replaces."""
        before = [other for other in job.pending if other is not pending]
        assert self._group is not None  # only a leader is asked
        task = self._group.create_task(self._run(pending, before))
        task.add_done_callback(lambda _: self._over(pending))  # even if it never began
        pending.task = task
        self._statuses.hold()

    def go(self) -> None:
        """The tasks go by themselves."""

    def give_up(
        self, job: ClusterMember, pending: PendingJob, outcome: Outcome, reason: str
    ) -> None:
        """Do not make the Job, unless the try that is under way makes it."""
        pending.given_up = pending.given_up or (outcome, reason)
        self.wake(job)

    def adopt(self, job: ClusterMember, run: Sighting) -> None:
        self._outcomes.adopted(job, run)

    def conclude(self, job: ClusterMember, end: Conclude) -> None:
        self._outcomes.concluded(job, end)

    # Tasks

    def forget(self, member: ClusterMember) -> None:
        """The KronJob is gone: cancel what was to be done for it."""
        for pending in member.pending:
            if pending.task is not None:
                pending.task.cancel()

    def wake(self, member: ClusterMember) -> None:
        """Something about it or its Jobs has changed: wake the tasks that wait for that."""
        for pending in member.pending:
            pending.wake.set()

    @property
    def is_asking(self) -> bool:
        """Whether a creation has no answer yet."""
        return bool(self._under_way)

    async def _run(self, pending: PendingJob, before: list[PendingJob]) -> None:
        try:
            if pending.replaces:
                self._let_go(pending)
                # It may take a while, and a crash must not forget it.
                self._statuses.touch(pending.member)
                tasks = [other.task for other in before if other.task is not None]
                await asyncio.gather(*tasks, return_exceptions=True)
                if not await self._make_room(pending):
                    return
            await self._create(pending)
        except NotLeadingError:
            pass  # the next leader sees to it

    def _over(self, pending: PendingJob) -> None:
        """Its task has ended: done, failed or cancelled."""
        self._let_go(pending)
        if pending in pending.member.pending:
            pending.member.pending.remove(pending)
        self._statuses.touch(pending.member)

    def _let_go(self, pending: PendingJob) -> None:
        """It was tried once, so statuses need not wait for it any longer."""
        if pending.is_new:
            pending.is_new = False
            self._statuses.let_go()

    async def _make_room(self, pending: PendingJob) -> bool:
        """Delete the Jobs that are active now and wait until they are gone.

        False: its period has ended. Jobs that become active meanwhile are left alone.
        """
        member = pending.member
        replaced = {run.uid for run in member.active_runs()}
        loop = asyncio.get_running_loop()
        until_s = loop.time() + self._replace_timeout_s
        deleted: set[str] = set()
        tries = 0
        while active := [run for run in member.active_runs() if run.uid in replaced]:
            left_s = until_s - loop.time()
            if pending.given_up:
                if not await self._may_exist(pending):
                    self._outcomes.ended(pending, *pending.given_up)
                return False
            if left_s <= 0:
                waited = format_duration(self._replace_timeout_s * SECOND_NS)
                name = active[0].name
                message = f"the Job {name} was to be replaced and still exists after {waited}"
                if not await self._may_exist(pending):
                    self._outcomes.failed(pending, Trouble("NotReplaced", message))
                return False
            present = [run for run in active if run.uid not in deleted and member.has_stored(run)]
            if not present:
                await pending.wait_for_change(left_s)
                continue
            error = await self._stop(pending, present[0])
            if error is None:
                deleted.add(present[0].uid)
            else:
                await asyncio.sleep(min(left_s, retry_delay_s(error, tries)))
                tries += 1
        return True

    async def _stop(self, pending: PendingJob, run: JobRun) -> ApiError | None:
        """Delete a Job or, if its name must stay taken, make a fence of it."""
        self._check_leading()
        try:
            if pending.member.may_lose(run):
                await self._client.delete(
                    JOBS, run.namespace, run.name, uid=run.uid, propagation="Foreground"
                )
            elif not run.is_fence:
                await self._client.patch(
                    JOBS, run.namespace, run.name, fence_patch(run), is_brief=True
                )
        except ApiError as error:
            if not is_gone(error):
                self._outcomes.waits(pending, error)
                return error
            self._roster.drop_run(run)
        self._outcomes.replaced(pending, run)
        return None

    async def _create(self, pending: PendingJob) -> None:
        """Try until the Job exists, or will not be made."""
        announced = -1
        for tries in count():
            if pending.seen is not None:  # the answer was lost, and the Job may have gone since
                self._take(pending, pending.seen)
                return
            error = await self._try(pending)
            self._let_go(pending)
            if error is None:
                return
            if error.may_have_happened:
                pending.is_doubtful = True
                self._doubts.unanswered(pending.member, pending.nominal_s)
                self._statuses.touch(pending.member)
            verdict = judge(error)
            if verdict is Verdict.EXISTS:
                if await self._take_existing(pending):
                    return
                verdict = Verdict.AGAIN  # it is gone again
            if verdict is Verdict.NEVER:
                if not await self._may_exist(pending):
                    self._outcomes.failed(pending, Trouble(reason_word(error), str(error)))
                return
            if error is not NOT_ASKED_FOR and announced != pending.generation:
                announced = pending.generation
                self._outcomes.waits(pending, error)
            delay_s = retry_delay_s(error, tries) * (1 + _MOST_JITTER * random.random())  # noqa: S311
            if not await self._pause(pending, delay_s):
                await self._give_up(pending, error)
                return

    async def _try(self, pending: PendingJob) -> ApiError | None:
        """Ask for the Job once; None: a Job of that name exists."""
        async with self._slots:
            kronjob = pending.member.kronjob
            if pending.given_up or kronjob is None:
                return NOT_ASKED_FOR
            self._check_leading()
            pending.generation = pending.member.metadata.generation
            manifest = run_manifest(kronjob, pending.intent, self._spare_s)
            creation = asyncio.ensure_future(
                self._client.create(
                    JOBS, kronjob.namespace, manifest, is_brief=True, timeout_s=self._creation_s
                )
            )
            self._under_way.add(creation)
            creation.add_done_callback(self._answered)
            try:
                made = await asyncio.shield(creation)
            except ApiError as error:
                return error
        run = read_run(made)
        if run.name != manifest["metadata"]["name"]:
            why = "the answer is not the Job that was asked for"
            return malformed("create jobs", why, is_sent=True)
        self._outcomes.created(pending, run)
        return None

    def _answered(self, creation: asyncio.Future[Object]) -> None:
        self._under_way.discard(creation)
        # If no task is left to take its error, asyncio would complain.
        if not creation.cancelled() and creation.exception() is None:
            made = read_metadata(creation.result())
            self.wrote(JOBS, made.namespace, made.resource_version)

    async def _take_existing(self, pending: PendingJob) -> bool:
        """A Job of that name exists: ours or another's. False: it is gone by now."""
        run = await self._fences.look(pending.member, pending.job_name)
        if run is not None:
            self._take(pending, run)
        return run is not None

    def _take(self, pending: PendingJob, run: JobRun) -> None:
        """The name of its Job is taken: by itself, by a fence, or by another's Job."""
        is_ours = run.owner_uid == pending.member.metadata.uid and run.period == pending.period
        if is_ours and run.is_fence:
            self._outcomes.ended(pending, Outcome.MISSED, GIVEN_UP_BEFORE)
        elif is_ours:
            self._outcomes.found(pending, run)
        else:
            message = f"a Job named {run.name} exists already and does not belong to this KronJob"
            self._outcomes.failed(pending, Trouble("ForeignJob", message))

    async def _give_up(self, pending: PendingJob, error: ApiError) -> None:
        """Try no more: the period ends, once it is certain that no Job exists."""
        outcome, reason = pending.given_up or (Outcome.MISSED, f"{LATE}: {error}")
        if not await self._may_exist(pending):
            self._outcomes.ended(pending, outcome, reason)

    async def _may_exist(self, pending: PendingJob) -> bool:
        """Whether its Job exists after all, and was taken. False: it never will."""
        if pending.is_doubtful:
            run = await self._fences.put_up(pending.member, pending.intent)
            if run is not None:
                self._take(pending, run)
                return True
        return False

    async def _pause(self, pending: PendingJob, delay_s: float) -> bool:
        """Wait until the next try; False: no further try is made."""
        loop = asyncio.get_running_loop()
        # In whole nanoseconds: a float of the wall clock ends early, and the last try would be
        # made again and again until its second is over.
        possible_s = ((pending.latest_s + 1) * SECOND_NS - self._clock.now_ns()) / SECOND_NS
        until_s = loop.time() + min(delay_s, possible_s)
        while not pending.given_up and self._clock.now_ns() // SECOND_NS <= pending.latest_s:
            left_s = until_s - loop.time()
            if left_s <= 0:
                return True
            await pending.wait_for_change(left_s)
        return False

    def _check_leading(self) -> None:
        if not self._may_act():
            raise NotLeadingError
