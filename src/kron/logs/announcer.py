"""The announcer of `kron.runtime`: what happens to periods becomes lines of the journal."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext

from kron.core.decision import Decision
from kron.core.generic import Generic
from kron.core.instant import optional_text, to_text
from kron.engine.actions import Reschedule, Settle, SettleMany
from kron.engine.ledger import Intent
from kron.logs.event import Event
from kron.logs.journal import Journal
from kron.runtime.scheduler import Tracked

EDITED = "the schedule was edited"
LAPSED = "the schedule was edited, and the new time has already passed"
MANY = 16
"""From this many jobs on, their lines are logged after their runs have started."""


class JournalAnnouncer(Generic[Tracked]):
    """Logs what the scheduler decides. An adapter that has more to say adds to it."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def held(self, jobs: int) -> AbstractContextManager[None]:
        return self._journal.held() if jobs >= MANY else nullcontext()

    def clock_changed(self, now_s: int, shift_s: float) -> None:
        self._journal.event(Event.CLOCK_CHANGED, now=to_text(now_s), shift_s=shift_s)

    def waits_for_clock(self, job: Tracked, now_s: int) -> None:
        """The clock is behind what the job's ledger has: it does not run until it catches up."""
        self._journal.of_job(Event.CLOCK_CHANGED, job.entry, now=to_text(now_s))

    def decided(self, job: Tracked, decisions: Iterable[Decision], schedule_text: str = "") -> None:
        """Times were chosen, by `schedule_text` if the job was edited since."""
        self._journal.decisions(job.entry, decisions, schedule_text=schedule_text)

    def triggered(self, job: Tracked, intent: Intent, now_s: int) -> None:
        self._journal.trigger(job.entry, intent.nominal_s, intent.chosen_s, now_s)

    def settled(self, job: Tracked, end: Settle, now_s: int) -> None:
        self._journal.settled(job.entry, end, now_s, active_job=job.active_run)

    def settled_many(self, job: Tracked, end: SettleMany, now_s: int) -> None:
        self._journal.settled_many(job.entry, end, now_s)

    def moved(self, job: Tracked, move: Reschedule) -> None:
        self._journal.of_job(
            Event.RESCHEDULE,
            job.entry,
            period=move.decision.period_id,
            previous_chosen=optional_text(move.previous_chosen_s),
            new_chosen=optional_text(move.decision.chosen_s),
            reason=LAPSED if move.lapsed else EDITED,
        )

    def suspended(self, job: Tracked, *, suspend: bool) -> None:
        self._journal.of_job(Event.SUSPENDED, job.entry, suspend=suspend)
