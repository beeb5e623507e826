"""What an adapter brings: where jobs are stored, what starts their runs, what tells people.

Types only. The clock is `kron.waking.clock.Clock`, which tests replace.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import AbstractContextManager
    from typing import Any, Protocol, TypeVar

    from kron.core.decision import Decision
    from kron.core.schedule import Schedule
    from kron.engine.actions import Outcome, Reschedule, Settle, SettleMany
    from kron.engine.ledger import Intent
    from kron.engine.recovery import Conclude, Sighting
    from kron.runtime.tracked import Pending, TrackedJob

    Job_contra = TypeVar("Job_contra", bound=TrackedJob[Any], contravariant=True)
    Waiting = TypeVar("Waiting", bound=Pending)

    class LoggedJob(Protocol):
        """A job as its log lines name it."""

        @property
        def namespace(self) -> str: ...
        @property
        def name(self) -> str: ...
        @property
        def uid(self) -> str: ...
        @property
        def schedule(self) -> Schedule: ...
        @property
        def schedule_text(self) -> str: ...

    class Store(Protocol[Job_contra]):
        """Where ledgers survive the process."""

        def changed(self, job: Job_contra, *, is_proven: bool = False) -> None:
            """Store the job soon. `is_proven`: what changed can be found again without that."""

    class Committer(Protocol[Job_contra]):
        """A store that makes intents safe before their runs start.

        krond has one: nothing but the intent on disk keeps the next krond from starting a run
        again. kron-operator has none: it creates the Job first and writes the status after, because
        the API server refuses a second Job of the same name (decision record 0015).
        """

        def commit(self, jobs: Iterable[Job_contra], *, starts: bool = False) -> bool:
            """Store these jobs now. False: that failed; nothing may start, and no end is announced.

            `starts`: runs wait for it.
            """

        def flush(self) -> bool:
            """Store every job that has changed, now. False: that failed, and is tried again."""

    class Executor(Protocol[Job_contra, Waiting]):
        """What starts runs. It calls `TrackedJob.started` or `gave_up` once for each intent."""

        def prepare(
            self, job: Job_contra, intent: Intent, latest_s: int, *, replaces: bool
        ) -> Waiting:
            """The run of this intent, which is not requested yet."""

        def request(self, job: Job_contra, pending: Waiting) -> None:
            """Take the run, the last of `job.pending`, to be started as soon as it can start."""

        def go(self) -> None:
            """Start the runs that were requested and can start, if `request` did not."""

        def give_up(self, job: Job_contra, pending: Waiting, outcome: Outcome, reason: str) -> None:
            """Do not start the run, unless it has begun already."""

        def adopt(self, job: Job_contra, run: Sighting) -> None:
            """A run was found whose period counts as executed from now on: watch it, log it."""

        def conclude(self, job: Job_contra, end: Conclude) -> None:
            """A run that another process decided on is over, or never starts: `end.outcome`.

            Log it once the job is stored.
            """

    class Announcer(Protocol[Job_contra]):
        """What tells people. No end may be announced before it is stored: a crash in between could
        lead to another one. With a committer, an end is stored when `settled` is called; an adapter
        without one holds the announcement back until its store has the job."""

        def held(self, jobs: int) -> AbstractContextManager[None]:
            """Where this many jobs are due at once, announce them after their runs have started."""

        def clock_changed(self, now_s: int, shift_s: float) -> None: ...
        def waits_for_clock(self, job: Job_contra, now_s: int) -> None: ...
        def decided(
            self, job: Job_contra, decisions: Iterable[Decision], schedule_text: str = ""
        ) -> None: ...
        def triggered(self, job: Job_contra, intent: Intent, now_s: int) -> None: ...
        def settled(self, job: Job_contra, end: Settle, now_s: int) -> None: ...
        def settled_many(self, job: Job_contra, end: SettleMany, now_s: int) -> None: ...
        def moved(self, job: Job_contra, move: Reschedule) -> None: ...
        def suspended(self, job: Job_contra, *, suspend: bool) -> None: ...
