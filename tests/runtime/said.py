"""A journal that keeps what the simulation asks about, and writes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kron.core.decision import Decision
from kron.core.instant import from_text
from kron.logs.event import Component, Event, Level
from kron.logs.journal import Journal
from kron.logs.record import Value
from kron.testing.clock import FakeClock
from kron.testing.world import Said, Seen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kron.runtime.ports import LoggedJob


class SilentJournal(Journal):
    """Periods that ended without a run go into what was seen; all else is dropped.

    `happened` is called for each: people have read it, so a crash cannot undo it.
    """

    def __init__(self, clock: FakeClock, seen: Seen, happened: Callable[[], None]) -> None:
        # Not the journal's own: it would open a file.
        self.path, self.lost = "", 0
        self._clock, self._held = clock, None
        self._seen = seen
        self._happened = happened
        self.errors: list[str] = []
        self.is_silent = False
        """Its program is gone: nobody hears what it still says."""

    def event(
        self,
        event: Event,
        level: Level | None = None,
        component: Component | None = None,
        /,
        at_ns: int | None = None,
        **values: Value,
    ) -> None:
        if event is Event.ERROR:
            self.errors.append(str(values.get("error")))

    def reopen(self) -> None:
        """Nothing is open."""

    def decisions(
        self, entry: LoggedJob, decisions: Iterable[Decision], *, schedule_text: str = ""
    ) -> None:
        if not self.is_silent:
            self._seen.decided.update(decisions)

    def trigger(self, entry: LoggedJob, nominal_s: int, chosen_s: int, now_s: int) -> None:
        if not self.is_silent:
            self._seen.triggered.add((entry.name, nominal_s))

    def skipped(self, entry: LoggedJob, period: str, *, active_job: str) -> None:
        self._say(entry, period, "skipped", "", None)

    def missed(
        self,
        entry: LoggedJob,
        period: str,
        now_s: int,
        reason: str,
        *,
        chosen_s: int | None = None,
        count: int | None = None,
        first_period: str | None = None,
    ) -> None:
        if count is not None and not self.is_silent:
            first_s = from_text(first_period or period)
            self._seen.said_many.append((entry.name, first_s, from_text(period)))
            self._happened()
        if count is None:
            self._say(entry, period, "missed", reason, chosen_s, now_s)

    def _say(
        self,
        entry: LoggedJob,
        period: str,
        outcome: str,
        reason: str,
        chosen_s: int | None,
        now_s: int = 0,
    ) -> None:
        if self.is_silent:
            return
        nominal_s = from_text(period)
        self._seen.said.append(Said(entry.name, nominal_s, outcome, reason, now_s, chosen_s))
        self._happened()
