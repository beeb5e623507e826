"""A pending run of the operator: decided on, and its Job is not known to exist."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from kron.engine.actions import Outcome
from kron.engine.ledger import Intent
from kron.kube.resource.run import JobRun, job_name
from kron.runtime.tracked import Pending

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kron.kube.operator.member import ClusterMember


class PendingJob(Pending):
    __slots__ = (
        *("generation", "given_up", "gone", "intent", "is_doubtful", "is_new"),
        *("latest_s", "member", "seen", "task", "wake"),
    )

    def __init__(
        self, member: ClusterMember, intent: Intent, latest_s: int, *, replaces: bool
    ) -> None:
        super().__init__(intent.run_id, replaces=replaces)
        self.member = member
        self.intent = intent
        self.latest_s = latest_s
        """The last second in which it may be made."""
        self.generation = member.metadata.generation
        """The generation of the spec that its last try went by."""
        self.is_new = True
        """It was not tried yet."""
        self.is_doubtful = intent.nominal_s in member.doubts
        """A try got no answer that says whether the Job was made, or one of an earlier leader."""
        self.gone: frozenset[str] = frozenset()
        """The uids of Jobs of the KronJob that went meanwhile: its own may be among them."""
        self.seen: JobRun | None = None
        """Its Job, once the watch has shown it. It may have gone since."""
        self.given_up: tuple[Outcome, str] | None = None
        """How its period ends, if the Job is not made by the try that is under way."""
        self.wake = asyncio.Event()
        """Set when something about the KronJob or its Jobs changes."""
        self.task: asyncio.Task[None] | None = None

    @property
    def nominal_s(self) -> int:
        return self.intent.nominal_s

    @property
    def period(self) -> str:
        """Its period, as logs have it."""
        return self.intent.period

    @property
    def job_name(self) -> str:
        return job_name(self.member.metadata.name, self.period)

    async def wait_for_change(self, timeout_s: float) -> None:
        """Wait until something about the KronJob or its Jobs changes, at most this long."""
        self.wake.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self.wake.wait()
