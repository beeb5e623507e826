"""The replacer: deletes the Jobs that another one replaces, and waits until they are gone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from kron.core.duration import SECOND_NS, format_duration
from kron.engine.actions import Outcome
from kron.kube.client.client import Client
from kron.kube.client.errors import NOT_FOUND, ApiError
from kron.kube.client.resources import JOBS
from kron.kube.operator.condition import Trouble
from kron.kube.operator.create_verdict import retry_delay_s
from kron.kube.operator.outcomes import Outcomes
from kron.kube.operator.pending import PendingJob
from kron.kube.operator.roster import ClusterRoster
from kron.kube.resource.run import JobRun


class Replacer:
    """Makes room for a Job, within a bound."""

    def __init__(
        self,
        client: Client,
        roster: ClusterRoster,
        outcomes: Outcomes,
        check_leading: Callable[[], None],
        *,
        timeout_s: int,
    ) -> None:
        self._client = client
        self._roster = roster
        self._outcomes = outcomes
        self._check_leading = check_leading
        self._timeout_s = timeout_s

    async def make_room(self, pending: PendingJob) -> bool:
        """Delete the Jobs that are active now and wait until they are gone.

        False: its period has ended. Jobs that become active meanwhile are left alone.
        """
        member = pending.member
        replaced = {run.uid for run in member.active_runs()}
        loop = asyncio.get_running_loop()
        until_s = loop.time() + self._timeout_s
        deleted: set[str] = set()
        tries = 0
        while active := [run for run in member.active_runs() if run.uid in replaced]:
            left_s = until_s - loop.time()
            if pending.given_up:
                self._outcomes.ended(pending, *pending.given_up)
                return False
            if left_s <= 0:
                self._stays(pending, active[0])
                return False
            present = [run for run in active if run.uid not in deleted and member.has_stored(run)]
            if not present:
                await pending.wait_for_change(left_s)
                continue
            error = await self._delete(pending, present[0])
            if error is None:
                deleted.add(present[0].uid)
            else:
                await asyncio.sleep(min(left_s, retry_delay_s(error, tries)))
                tries += 1
        return True

    async def _delete(self, pending: PendingJob, run: JobRun) -> ApiError | None:
        """Have an active Job deleted."""
        self._check_leading()
        try:
            await self._client.delete(
                JOBS, run.namespace, run.name, uid=run.uid, propagation="Foreground"
            )
        except ApiError as error:
            if error.status != NOT_FOUND:
                self._outcomes.waits(pending, error)
                return error
            self._roster.drop_run(run)
        self._outcomes.replaced(pending, run)
        return None

    def _stays(self, pending: PendingJob, run: JobRun) -> None:
        waited = format_duration(self._timeout_s * SECOND_NS)
        message = f"the Job {run.name} was to be replaced and still exists after {waited}"
        self._outcomes.in_trouble(pending, Trouble("NotReplaced", message))
        self._outcomes.ended(pending, Outcome.MISSED, message)
