"""Job clean-up: deletes finished Jobs that a KronJob no longer wants to keep."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from kron.kube.client.client import Client
from kron.kube.client.errors import NOT_FOUND, ApiError, is_gone, retry_delay_s
from kron.kube.client.resources import JOBS
from kron.kube.operator.member import ClusterMember
from kron.kube.operator.roster import ClusterRoster
from kron.kube.resource.run import JobRun


def surplus(member: ClusterMember) -> list[JobRun]:
    """The finished Jobs beyond the limits that may be deleted, the oldest first."""
    kronjob = member.kronjob
    if kronjob is None:
        return []
    finished = [run for run in member.own_runs() if run.is_finished and not run.is_deleting]
    finished.sort(key=lambda run: (run.finished_s or 0, run.created_s, run.name))
    failed = [run for run in finished if run.is_failed]
    successful = [run for run in finished if not run.is_failed]
    found = [
        *successful[: max(0, len(successful) - kronjob.successful_limit)],
        *failed[: max(0, len(failed) - kronjob.failed_limit)],
    ]
    return [run for run in found if member.may_lose(run)]


class JobCleanup:
    """Deletes the Jobs beyond the limits, one after the other."""

    def __init__(self, client: Client, roster: ClusterRoster, may_act: Callable[[], bool]) -> None:
        self._client = client
        self._roster = roster
        self._may_act = may_act
        self._waiting: dict[ClusterMember, None] = {}
        self._work = asyncio.Event()

    def touch(self, member: ClusterMember) -> None:
        if surplus(member):
            self._waiting[member] = None
            self._work.set()

    async def run(self) -> None:
        try:
            while True:
                await self._work.wait()
                while self._waiting:
                    member = next(iter(self._waiting))
                    del self._waiting[member]
                    for run in surplus(member):
                        await self._delete(run)
                self._work.clear()
        finally:
            self._waiting.clear()

    async def _delete(self, run: JobRun) -> None:
        tries = 0
        while self._may_act():
            try:
                await self._client.delete(
                    JOBS, run.namespace, run.name, uid=run.uid, propagation="Background"
                )
            except ApiError as error:
                if not is_gone(error):
                    if error.status not in {0, NOT_FOUND, 429} and error.status < 500:
                        return  # the next Job that finishes leads to another try
                    await asyncio.sleep(retry_delay_s(error, tries))
                    tries += 1
                    continue
            self._roster.drop_run(run)
            return
