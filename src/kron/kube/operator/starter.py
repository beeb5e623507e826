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

from kron.core.decision import Decision
from kron.core.duration import SECOND_NS, format_duration
from kron.engine.actions import LATE, SUPERSEDED, Outcome
from kron.kube.client.client import Client
from kron.kube.client.errors import MALFORMED, ApiError, no_answer
from kron.kube.client.resources import JOBS
from kron.kube.operator.answers import Answer, judge, reason_word, retry_delay_s
from kron.kube.operator.condition import Trouble
from kron.kube.operator.member import Member
from kron.kube.operator.metrics import Metrics
from kron.kube.operator.pending import Pending
from kron.kube.operator.recorder import Recorder
from kron.kube.operator.reporter import Reporter
from kron.kube.operator.roster import Roster
from kron.kube.resource.run import Run, job_name, read_run, run_manifest
from kron.logs.event import Component, Event, Level
from kron.logs.journal import Journal
from kron.waking.clock import Clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_AT_ONCE = 24
"""How many creations are under way at the same time, fewer than the client has connections. More
would not be quicker: each connection that is not there yet costs as much as eight requests."""
_GONE = 404
_MOST_JITTER = 0.2
NOT_ASKED_FOR = ApiError(0, "it was given up before it was asked for")


class NotLeadingError(Exception):
    """Another operator may be leading by now, so nothing may be written."""


class Starter:
    """Makes Jobs, replaces them, and settles periods whose Job could not be made."""

    def __init__(
        self,
        client: Client,
        roster: Roster,
        recorder: Recorder,
        reporter: Reporter,
        journal: Journal,
        metrics: Metrics,
        clock: Clock,
        may_act: Callable[[], bool],
        *,
        slack_s: int,
        replace_timeout_s: int,
        creation_s: float,
    ) -> None:
        self._client = client
        self._roster = roster
        self._recorder = recorder
        self._reporter = reporter
        self._journal = journal
        self._metrics = metrics
        self._clock = clock
        self._may_act = may_act
        self._slack_s = slack_s
        self._replace_timeout_s = replace_timeout_s
        self._creation_s = creation_s
        self._slots = asyncio.Semaphore(MOST_AT_ONCE)
        self._group: asyncio.TaskGroup | None = None
        self._under_way: set[asyncio.Future[dict[str, Any]]] = set()
        self._changed: dict[Member, set[asyncio.Event]] = {}

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
        member.starting.append(pending)
        self._recorder.hold()
        assert self._group is not None  # only a leader is asked
        pending.task = self._group.create_task(self._run(pending, before))

    def give_up(self, member: Member, reason: str) -> None:
        """Make no more Jobs for it, apart from those that are being made at this moment."""
        for pending in member.starting:
            pending.given_up = pending.given_up or (Outcome.MISSED, reason)
        self.changed(member)

    def forget(self, member: Member) -> None:
        """It is gone, and so is all that was to be done for it."""
        for pending in member.starting:
            if pending.task is not None:
                pending.task.cancel()

    def changed(self, member: Member) -> None:
        """Something about it has changed: whoever waits for that should look."""
        for event in self._changed.get(member, ()):
            event.set()

    async def settle(self) -> None:
        """Wait for the answers to what was asked: only then may another operator begin."""
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=self._creation_s)

    def ended_without(
        self, member: Member, decision: Decision, outcome: Outcome, reason: str
    ) -> None:
        """Tell that a period that was decided on has ended without a Job; the ledger has it."""
        kronjob = member.kronjob
        if kronjob is None:
            return
        if outcome is Outcome.SKIPPED:
            self._journal.skipped(kronjob, decision.period_id, active_job="")
        else:
            now_s = self._clock.now_ns() // SECOND_NS
            self._journal.missed(
                kronjob, decision.period_id, now_s, reason, chosen_s=decision.chosen_s
            )
        self._metrics.ended(outcome)
        self._reporter.not_started(member, decision, outcome, reason)
        self._recorder.touch(member)

    async def _run(self, pending: Pending, before: list[Pending]) -> None:
        member = pending.member
        try:
            if pending.replaces:
                self._let_go(pending)
                self._recorder.touch(member)  # it may take a while, and a crash must not forget it
                await asyncio.gather(
                    *(other.task for other in before if other.task), return_exceptions=True
                )
                if not await self._replace(pending):
                    return
            await self._create(pending)
        except NotLeadingError:
            pass  # the next leader sees to it
        finally:
            self._let_go(pending)
            if pending in member.starting:
                member.starting.remove(pending)
            self._recorder.touch(member)

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
                if pending.is_doubtful and await self._settle_existing(pending):
                    return
                self._failed(pending, error)
                self._end(pending, Outcome.MISSED, str(error))
                return
            if tries == 0:
                self._waits(pending, error)
            delay_s = retry_delay_s(error, tries) * (1 + _MOST_JITTER * random.random())  # noqa: S311
            tries += 1
            if not await self._pause(pending, delay_s):
                await self._give_up(pending, error)
                return

    async def _try(self, pending: Pending) -> ApiError | None:
        """Ask for the Job once; None: it is there."""
        member = pending.member
        async with self._slots:
            kronjob = member.kronjob
            if pending.given_up or kronjob is None:
                return NOT_ASKED_FOR
            self._check_leading()
            manifest = run_manifest(kronjob, pending.decision, self._slack_s)
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
        self._started(pending, run)
        return None

    def _answered(self, creation: asyncio.Future[dict[str, Any]]) -> None:
        self._under_way.discard(creation)
        if not creation.cancelled():
            creation.exception()  # nobody may be left to take it, and asyncio would complain

    def _started(self, pending: Pending, run: Run) -> None:
        member, decision = pending.member, pending.decision
        chosen_s = decision.chosen_s
        kronjob = member.kronjob
        assert member.ledger is not None and chosen_s is not None  # noqa: PT018 - it was decided on
        late_ns = self._clock.now_ns() - chosen_s * SECOND_NS
        self._metrics.started(late_ns / SECOND_NS)
        self._roster.put_run(run)
        member.ledger = member.ledger.with_started(decision.nominal_s)
        member.trouble = None
        if kronjob is not None:
            self._journal.of_job(
                Event.JOB_CREATED,
                kronjob,
                period=pending.period,
                job=run.name,
                uid=run.uid,
                chosen=decision.chosen_time,
            )
        self._reporter.started(member, run)

    async def _settle_existing(self, pending: Pending) -> bool:
        """A Job of that name is there: ours, or another's. False: it is gone by now."""
        member = pending.member
        name = job_name(member.metadata.name, pending.period)
        run = await self._look(pending, name)
        if run is None:
            return False
        kronjob = member.kronjob
        if run.owner_uid != member.metadata.uid or run.period != pending.period:
            message = f"a Job named {name} is there already, and belongs to somebody else"
            self._trouble(pending, Trouble("ForeignJob", message))
            self._end(pending, Outcome.MISSED, message)
            return True
        self._roster.put_run(run)
        assert member.ledger is not None
        member.ledger = member.ledger.with_started(pending.decision.nominal_s)
        member.trouble = None
        self._metrics.ended(Outcome.EXECUTED)
        if kronjob is not None:
            self._journal.of_job(
                Event.JOB_EXISTS, kronjob, period=pending.period, job=run.name, uid=run.uid
            )
        return True

    async def _look(self, pending: Pending, name: str) -> Run | None:
        """The Job of that name, once the API server has answered; None if there is none."""
        tries = 0
        while True:
            try:
                found = await self._client.get(JOBS, pending.member.metadata.namespace, name)
                return read_run(found)
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
        self._end(pending, outcome, reason)

    def _end(self, pending: Pending, outcome: Outcome, reason: str) -> None:
        member = pending.member
        assert member.ledger is not None
        nominal_s = pending.decision.nominal_s
        member.ledger = member.ledger.with_start_given_up(nominal_s, outcome, reason)
        self.ended_without(member, pending.decision, outcome, reason)

    async def _pause(self, pending: Pending, delay_s: float) -> bool:
        """Wait for the next try; False if there is to be none."""
        if self._is_over(pending):
            return False
        left_s = (pending.latest_s + 1) - self._clock.now_ns() / SECOND_NS
        await self._change(pending.member, min(delay_s, left_s))
        return not self._is_over(pending)

    def _is_over(self, pending: Pending) -> bool:
        return bool(pending.given_up) or self._clock.now_ns() // SECOND_NS > pending.latest_s

    async def _change(self, member: Member, timeout_s: float) -> None:
        """Wait until something about the member has changed, or so long."""
        event = asyncio.Event()
        waiting = self._changed.setdefault(member, set())
        waiting.add(event)
        try:
            async with asyncio.timeout(timeout_s):
                await event.wait()
        except TimeoutError:
            pass
        finally:
            waiting.discard(event)
            if not waiting:
                self._changed.pop(member, None)

    async def _replace(self, pending: Pending) -> bool:
        """Delete the active Jobs and wait until they are gone; False if they do not go."""
        member = pending.member
        loop = asyncio.get_running_loop()
        until_s = loop.time() + self._replace_timeout_s
        deleted: set[str] = set()
        tries = 0
        while active := member.active_runs():
            if pending.given_up:
                self._end(pending, *pending.given_up)
                return False
            left_s = until_s - loop.time()
            if left_s <= 0:
                waited = format_duration(self._replace_timeout_s * SECOND_NS)
                message = f"the Job {active[0].name} was to be replaced and is there after {waited}"
                self._trouble(pending, Trouble("NotReplaced", message))
                self._end(pending, Outcome.MISSED, message)
                return False
            for run in active:
                if run.uid not in deleted and await self._delete(pending, run):
                    deleted.add(run.uid)
            if all(run.uid in deleted for run in member.active_runs()):
                await self._change(member, left_s)
            else:
                await asyncio.sleep(min(left_s, 0.25 * 2 ** min(tries, 5)))
                tries += 1
        return True

    async def _delete(self, pending: Pending, run: Run) -> bool:
        """Have an active Job deleted; False if the API server did not take the request."""
        member = pending.member
        self._check_leading()
        try:
            await self._client.delete(
                JOBS, run.namespace, run.name, uid=run.uid, propagation="Foreground"
            )
        except ApiError as error:
            if error.status != _GONE:
                self._waits(pending, error)
                return False
            self._roster.drop_run(run.namespace, run.name, run.kronjob)
        if member.kronjob is not None:
            new_job = job_name(member.metadata.name, pending.period)
            self._journal.of_job(
                Event.REPLACED_JOB,
                member.kronjob,
                period=pending.period,
                old_job=run.name,
                new_job=new_job,
            )
            self._reporter.replaced(member, run, new_job)
        return True

    def _check_leading(self) -> None:
        if not self._may_act():
            raise NotLeadingError

    def _waits(self, pending: Pending, error: ApiError) -> None:
        """Say that the Job cannot be made yet, and why."""
        if error is NOT_ASKED_FOR:
            return
        self._trouble(pending, Trouble(reason_word(error), str(error)), Level.WARN)
        self._recorder.touch(pending.member)

    def _failed(self, pending: Pending, error: ApiError) -> None:
        self._trouble(pending, Trouble(reason_word(error), str(error)))

    def _trouble(self, pending: Pending, trouble: Trouble, level: Level = Level.ERROR) -> None:
        member = pending.member
        member.trouble = trouble
        if member.kronjob is not None:
            self._journal.error(
                "create job",
                trouble.message,
                member.kronjob,
                period=pending.period,
                level=level,
                component=Component.EXECUTOR,
            )
        self._reporter.trouble(member, pending.period, trouble)
