"""The rehearsal: asks the API server whether it would take the Job of a new generation of a spec.

A dry run creates nothing. If the API server refuses the template, the condition Ready and an Event
report it at once, and not only when the first period is due. It is no reason to start nothing:
webhooks and policies change, so periods are tried all the same. An answer that is not about the
template (no right, no quota, no answer, a webhook that cannot do dry runs) says nothing.

It is never urgent. Jobs that are due come first, then statuses; but a status that would say Ready
waits for the answer for a moment, as long as few are edited at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from kron.core.duration import SECOND_NS
from kron.engine.ledger import Intent
from kron.kube.client.client import Client
from kron.kube.client.errors import LONGEST_RETRY_S, ApiError, retry_delay_s
from kron.kube.client.resources import JOBS
from kron.kube.operator.allowance import Allowance
from kron.kube.operator.condition import Trouble
from kron.kube.operator.create_verdict import (
    DENIED,
    INVALID_TEMPLATE,
    Verdict,
    is_transient,
    judge,
    reason_word,
    refuses_template,
)
from kron.kube.operator.event_sender import EventSender
from kron.kube.operator.member import ClusterMember
from kron.kube.operator.status_writer import TIDY_DELAY_S, StatusWriter
from kron.kube.resource.kronjob import KronJob
from kron.kube.resource.run import run_manifest
from kron.logs.event import Component, Level
from kron.logs.journal import Journal
from kron.waking.clock import Clock

A_SECOND = 50
BURST = 20
AT_ONCE = 4
MOST_AWAITED = 16
"""How many statuses wait for their rehearsal. More than that were not edited by hand."""
LONGEST_S = 5.0
"""How long the API server, and the webhooks that it asks, may take."""
TRIES = 3
_LOOK_S = 0.1


class Rehearsal:
    def __init__(
        self,
        client: Client,
        statuses: StatusWriter,
        events: EventSender,
        journal: Journal,
        clock: Clock,
        may_act: Callable[[], bool],
    ) -> None:
        self._client = client
        self._statuses = statuses
        self._events = events
        self._journal = journal
        self._clock = clock
        self._may_act = may_act
        self._awaited: dict[ClusterMember, None] = {}
        """Those whose statuses wait for the answer."""
        self._others: dict[ClusterMember, None] = {}
        self._work = asyncio.Event()
        self._allowance = Allowance(a_second=A_SECOND, burst=BURST)

    def touch(self, member: ClusterMember) -> None:
        """Rehearse it, if the API server's answer to this generation of its spec is not known."""
        if not _is_unknown(member) or member in self._awaited:
            return
        if len(self._awaited) < MOST_AWAITED:
            self._others.pop(member, None)
            self._awaited[member] = None
            self._statuses.keep_back(member)
        else:
            self._others[member] = None
        self._work.set()

    async def run(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(AT_ONCE):
                    group.create_task(self._work_on())
        finally:
            self._awaited.clear()
            self._others.clear()

    async def _work_on(self) -> None:
        while True:
            await self._work.wait()
            await self._statuses.is_idle.wait()
            await self._allowance.wait()
            # From here to the request nothing waits.
            if not self._awaited and not self._others:
                self._work.clear()
            elif not self._awaited and self._statuses.urgent():
                await asyncio.sleep(_LOOK_S)
            else:
                waiting = self._awaited or self._others
                member = next(iter(waiting))
                del waiting[member]
                self._allowance.take()
                await self._rehearse(member)

    async def _rehearse(self, member: ClusterMember) -> None:
        """Ask until the answer says something of the template, a few times at most."""
        try:
            for tries in range(TRIES):
                kronjob, generation = member.kronjob, member.metadata.generation
                if kronjob is None or not _is_unknown(member) or not self._may_act():
                    return
                error = await self._ask(kronjob)
                if member.metadata.generation != generation:
                    return  # it was edited meanwhile, and is rehearsed again
                if error is None or judge(error) is Verdict.EXISTS:
                    member.accepted = generation
                    self._statuses.touch(member, TIDY_DELAY_S)
                    return
                if refuses_template(error):
                    self._refused(member, kronjob, generation, error)
                    return
                if not is_transient(error):
                    return
                await asyncio.sleep(min(retry_delay_s(error, tries), LONGEST_RETRY_S))
        finally:
            if member not in self._awaited:
                self._statuses.release(member)

    async def _ask(self, kronjob: KronJob) -> ApiError | None:
        """Ask once; None: the API server would create the Job."""
        now_s = self._clock.now_ns() // SECOND_NS
        intent = Intent(now_s, now_s, "", kronjob.job.text)
        manifest = run_manifest(kronjob, intent, 0)
        try:
            await self._client.dry_run(JOBS, kronjob.namespace, manifest, timeout_s=LONGEST_S)
        except ApiError as error:
            return error
        return None

    def _refused(
        self, member: ClusterMember, kronjob: KronJob, generation: int, error: ApiError
    ) -> None:
        reason, message = reason_word(error), f"the Job would be refused: {error.answer}"
        member.trouble = Trouble(reason, message, generation)
        self._statuses.touch(member)
        self._journal.error(
            "rehearse job", message, kronjob, level=Level.WARN, component=Component.EXECUTOR
        )
        self._events.say(member, "Warning", reason, message[:1].upper() + message[1:])


def _is_unknown(member: ClusterMember) -> bool:
    """Whether the API server was not asked about this generation of its spec yet."""
    generation, trouble = member.metadata.generation, member.trouble
    if member.is_gone or member.job is None or member.accepted == generation:
        return False
    if trouble is None or trouble.generation != generation:
        return True
    return trouble.reason not in (DENIED, INVALID_TEMPLATE)
