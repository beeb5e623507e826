"""Fences: Jobs that never run, and hold the names of periods which are to end without a Job.

A try that got no answer may be delivered late and make the Job of a period that was given up
meanwhile. So before such a period ends, its name is taken: the API server refuses either the fence,
because the Job exists, or the late request. A fence is deleted when no request can arrive any more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import count

from kron.engine.ledger import Intent
from kron.kube.client.client import Client
from kron.kube.client.errors import ApiError, is_gone, malformed, retry_delay_s
from kron.kube.client.reflector import Key
from kron.kube.client.resources import JOBS
from kron.kube.operator.create_verdict import Verdict, judge
from kron.kube.operator.member import ClusterMember
from kron.kube.operator.settings import OperatorSettings
from kron.kube.resource.run import JobRun, fence_manifest, job_name, read_run

_AGAIN_S = 5.0
"""How long after a fence could not be deleted that is tried again."""


class NotLeadingError(Exception):
    """Another operator may be leading by now, or the KronJob is gone: nothing may be written."""


class Fences:
    def __init__(
        self, client: Client, may_act: Callable[[], bool], settings: OperatorSettings
    ) -> None:
        self._client = client
        self._may_act = may_act
        self._creation_s = settings.creation_s
        self._dead_s = settings.dead_s
        self._seen: dict[Key, tuple[JobRun, float]] = {}
        """The fences that stand, and since when we know, by the loop's clock."""
        self._changed = asyncio.Event()

    # What the watch shows

    def put(self, fence: JobRun) -> None:
        key = fence.namespace, fence.name
        known = self._seen.get(key)
        is_new = known is None or known[0].uid != fence.uid
        since_s = asyncio.get_running_loop().time() if known is None or is_new else known[1]
        self._seen[key] = fence, since_s
        if is_new:
            self._changed.set()

    def drop(self, namespace: str, name: str) -> None:
        self._seen.pop((namespace, name), None)

    def keep(self, names: set[Key], namespace: str | None) -> None:
        """Forget the fences that are not among these."""
        gone = [k for k in self._seen if namespace in (None, k[0]) and k not in names]
        for key in gone:
            del self._seen[key]

    # What a leader does

    async def put_up(
        self, member: ClusterMember, intent: Intent, dead_at_s: float | None = None
    ) -> JobRun | None:
        """Take the name of a period's Job, or find out who has it.

        None: the period has no Job and never will. If the server takes no fence, that is certain
        only when no request can arrive any more: at `dead_at_s` of the loop's clock, if given.
        """
        kronjob, name = member.kronjob, job_name(member.metadata.name, intent.period)
        until_s = dead_at_s or asyncio.get_running_loop().time() + self._dead_s
        for tries in count():
            left_s = until_s - asyncio.get_running_loop().time()
            if not self._may_act() or member.is_gone:
                raise NotLeadingError
            if kronjob is None or left_s <= 0:
                break
            try:
                await self._client.create(
                    JOBS,
                    kronjob.namespace,
                    fence_manifest(kronjob, intent),
                    is_brief=True,
                    timeout_s=self._creation_s,
                )
                return None
            except ApiError as error:
                verdict = judge(error)
                if verdict is Verdict.EXISTS:
                    run = await self.look(member, name)
                    if run is not None:
                        return None if run.is_fence else run
                elif verdict is Verdict.NEVER:
                    break
                await asyncio.sleep(min(left_s, retry_delay_s(error, tries)))
        await asyncio.sleep(until_s - asyncio.get_running_loop().time())
        run = await self.look(member, name)
        return None if run is None or run.is_fence else run

    async def look(self, member: ClusterMember, name: str) -> JobRun | None:
        """The Job or the fence of that name, once the API server has answered; None: neither."""
        metadata = member.metadata
        for tries in count():
            if member.is_gone:
                raise NotLeadingError
            try:
                run = read_run(await self._client.get(JOBS, metadata.namespace, name))
                if run.name != name:
                    raise malformed("get jobs", "the answer is not the Job that was asked for")
                return run
            except ApiError as error:
                if is_gone(error):
                    return None
                await asyncio.sleep(retry_delay_s(error, tries))
        raise AssertionError("unreachable")

    async def run(self) -> None:
        """Delete fences that are no longer needed, until cancelled."""
        while True:
            self._changed.clear()
            now_s = asyncio.get_running_loop().time()
            for fence, since_s in list(self._seen.values()):
                if since_s + self._dead_s <= now_s and not fence.pods:
                    await self._delete(fence)
            first_s = min((since_s for _, since_s in self._seen.values()), default=None)
            wait_s = None if first_s is None else max(_AGAIN_S, first_s + self._dead_s - now_s)
            try:
                async with asyncio.timeout(wait_s):
                    await self._changed.wait()
            except TimeoutError:
                pass

    async def _delete(self, fence: JobRun) -> None:
        if not self._may_act():
            return
        try:
            await self._client.delete(JOBS, fence.namespace, fence.name, uid=fence.uid)
        except ApiError as error:
            if not is_gone(error):
                return  # the next look leads to another try
        self.drop(fence.namespace, fence.name)
