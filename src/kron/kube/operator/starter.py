"""The starter: makes the Job of a period, however often it has to ask, and at most one.

Each run is a task of its own. The name of its Job follows from the period, so the API server
refuses a second one, and a try that got no answer can be made again without harm. Every try asks
first whether this operator still leads.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable

from kron.core.duration import SECOND_NS
from kron.engine.actions import LATE, SUPERSEDED, Outcome
from kron.kube.client.client import Client
from kron.kube.client.errors import MALFORMED, ApiError, no_answer
from kron.kube.client.resources import JOBS
from kron.kube.operator.answers import Answer, judge, retry_delay_s
from kron.kube.operator.changes import Changes
from kron.kube.operator.condition import Trouble
from kron.kube.operator.member import Member
from kron.kube.operator.pending import Pending
from kron.kube.operator.recorder import Recorder
from kron.kube.operator.replacer import Replacer
from kron.kube.operator.roster import Roster
from kron.kube.operator.settings import Settings
from kron.kube.operator.settlement import Settlement
from kron.kube.resource.run import Run, job_name, read_run, run_manifest
from kron.waking.clock import Clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_AT_ONCE = 100
"""How many creations are under way at the same time. The Job controller takes up the first Jobs
while others are still asked for, so who asks for few at a time waits for its Pods: measured for a
thousand, 24 took a quarter longer, 200 as long as 100."""
NOT_ASKED_FOR = ApiError(0, "it was given up before it was asked for")
_GONE = 404
_MOST_JITTER = 0.2


class NotLeadingError(Exception):
    """Another operator may be leading by now, so nothing may be written."""


class Starter:
    """Makes Jobs, as long as it takes or makes sense."""

    def __init__(
        self,
        client: Client,
        roster: Roster,
        recorder: Recorder,
        settlement: Settlement,
        clock: Clock,
        may_act: Callable[[], bool],
        settings: Settings,
    ) -> None:
        self._client = client
        self._recorder = recorder
        self._settlement = settlement
        self._clock = clock
        self._may_act = may_act
        self._slack_s = settings.slack_s
        self._creation_s = settings.creation_s
        self._changes = Changes()
        self._replacer = Replacer(
            client,
            roster,
            settlement,
            self._changes,
            self._check_leading,
            timeout_s=settings.replace_timeout_s,
        )
        self._slots = asyncio.Semaphore(MOST_AT_ONCE)
        self._group: asyncio.TaskGroup | None = None
        self._under_way: set[asyncio.Future[dict[str, Any]]] = set()

    def begin(self, group: asyncio.TaskGroup) -> None:
        """Make Jobs in this group of tasks, which ends when this operator leads no more."""
        self._group = group

    def request(self, pending: Pending) -> None:
        """Make this Job as soon as it can be. First delete those that it replaces."""
        member = pending.member
        before = list(member.starting)
        if pending.replaces:
            for other in before:
                other.given_up = (Outcome.SKIPPED, SUPERSEDED)
            self._changes.tell(member)
        assert self._group is not None  # only a leader is asked
        task = self._group.create_task(self._run(pending, before))
        task.add_done_callback(lambda _: self._over(pending))  # even if it never began
        pending.task = task
        member.starting.append(pending)
        self._recorder.hold()

    def give_up(self, member: Member, reason: str) -> None:
        """Make no more Jobs for it, apart from those that are being made at this moment."""
        for pending in member.starting:
            pending.given_up = pending.given_up or (Outcome.MISSED, reason)
        self._changes.tell(member)

    def forget(self, member: Member) -> None:
        """It is gone, and so is all that was to be done for it."""
        for pending in member.starting:
            if pending.task is not None:
                pending.task.cancel()

    def changed(self, member: Member) -> None:
        """Something about its Jobs has changed."""
        self._changes.tell(member)

    async def settle(self) -> None:
        """Wait for the answers to what was asked: only then may another operator begin."""
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=self._creation_s)

    async def _run(self, pending: Pending, before: list[Pending]) -> None:
        try:
            if pending.replaces:
                self._let_go(pending)
                # It may take a while, and a crash must not forget it.
                self._recorder.touch(pending.member)
                tasks = [other.task for other in before if other.task is not None]
                await asyncio.gather(*tasks, return_exceptions=True)
                if not await self._replacer.make_room(pending):
                    return
            await self._create(pending)
        except NotLeadingError:
            pass  # the next leader sees to it

    def _over(self, pending: Pending) -> None:
        """Its task has ended, in whatever way."""
        self._let_go(pending)
        if pending in pending.member.starting:
            pending.member.starting.remove(pending)
        self._recorder.touch(pending.member)

    def _let_go(self, pending: Pending) -> None:
        """It was tried once, so statuses need not wait for it any longer."""
        if pending.is_new:
            pending.is_new = False
            self._recorder.let_go()

    async def _create(self, pending: Pending) -> None:
        """Try until there is a Job, or there will be none."""
        tries = 0
        while True:
            error = await self._try(pending)
            self._let_go(pending)
            if error is None:
                return
            pending.is_doubtful = pending.is_doubtful or error.may_have_happened
            answer = judge(error)
            if answer is Answer.EXISTS:
                if await self._settle_existing(pending):
                    return
                answer = Answer.AGAIN  # it is gone again
            if answer is Answer.NEVER:
                if not (pending.is_doubtful and await self._settle_existing(pending)):
                    self._settlement.refused(pending, error)
                return
            if tries == 0 and error is not NOT_ASKED_FOR:
                self._settlement.waits(pending, error)
            delay_s = retry_delay_s(error, tries) * (1 + _MOST_JITTER * random.random())  # noqa: S311
            tries += 1
            if not await self._pause(pending, delay_s):
                await self._give_up(pending, error)
                return

    async def _try(self, pending: Pending) -> ApiError | None:
        """Ask for the Job once; None: it is there."""
        async with self._slots:
            kronjob = pending.member.kronjob
            if pending.given_up or kronjob is None:
                return NOT_ASKED_FOR
            self._check_leading()
            manifest = run_manifest(
                kronjob, pending.decision, self._slack_s, schedule_text=pending.schedule_text
            )
            body = json.dumps(manifest, separators=(",", ":")).encode()
            creation = asyncio.ensure_future(
                self._client.create(
                    JOBS, kronjob.namespace, body, is_brief=True, timeout_s=self._creation_s
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
            return no_answer("create jobs", why, reason=MALFORMED, is_sent=True)
        self._settlement.created(pending, run)
        return None

    def _answered(self, creation: asyncio.Future[dict[str, Any]]) -> None:
        self._under_way.discard(creation)
        if not creation.cancelled():
            creation.exception()  # nobody may be left to take it, and asyncio would complain

    async def _settle_existing(self, pending: Pending) -> bool:
        """A Job of that name is there: ours, or another's. False: it is gone by now."""
        member = pending.member
        name = job_name(member.metadata.name, pending.period)
        run = await self._look(member.metadata.namespace, name)
        if run is None:
            return False
        if run.owner_uid == member.metadata.uid and run.period == pending.period:
            self._settlement.found(pending, run)
        else:
            message = f"a Job named {name} is there already, and belongs to somebody else"
            self._settlement.in_trouble(pending, Trouble("ForeignJob", message))
            self._settlement.ended(pending, Outcome.MISSED, message)
        return True

    async def _look(self, namespace: str, name: str) -> Run | None:
        """The Job of that name, once the API server has answered; None if there is none."""
        tries = 0
        while True:
            try:
                return read_run(await self._client.get(JOBS, namespace, name))
            except ApiError as error:
                if error.status == _GONE:
                    return None
                await asyncio.sleep(retry_delay_s(error, tries))
                tries += 1

    async def _give_up(self, pending: Pending, error: ApiError) -> None:
        """There will be no further try: the period ends, once it is clear that there is no Job."""
        outcome, reason = pending.given_up or (Outcome.MISSED, f"{LATE}: {error}")
        if pending.is_doubtful:
            await asyncio.sleep(self._creation_s)  # so long a creation may still be under way
            if await self._settle_existing(pending):
                return
        self._settlement.ended(pending, outcome, reason)

    async def _pause(self, pending: Pending, delay_s: float) -> bool:
        """Wait for the next try, whatever becomes of its other Jobs; False: there is to be none."""
        loop = asyncio.get_running_loop()
        possible_s = (pending.latest_s + 1) - self._clock.now_ns() / SECOND_NS
        until_s = loop.time() + min(delay_s, possible_s)
        while not self._is_over(pending):
            left_s = until_s - loop.time()
            if left_s <= 0:
                return True
            await self._changes.wait(pending.member, left_s)
        return False

    def _is_over(self, pending: Pending) -> bool:
        return bool(pending.given_up) or self._clock.now_ns() // SECOND_NS > pending.latest_s

    def _check_leading(self) -> None:
        if not self._may_act():
            raise NotLeadingError
