"""A journal that keeps what the simulation asks about, and writes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kron.core.decision import Decision
from kron.core.instant import from_text
from kron.logs.event import Component, Event, Level
from kron.logs.journal import Journal
from kron.logs.record import Value
from kron.testing.clock import FakeClock
from kron.testing.world import Exited, Said, Seen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    from kron.runtime.ports import LoggedJob

    Line = TypeVar("Line")


class SilentJournal(Journal):
    """How periods and runs ended goes into what was seen; all else is dropped.

    `happened` is called for each end without a run: people have read it, so a crash cannot undo it.
    `is_gone`: the journal's program has crashed, so nobody hears what it still says.
    """

    def __init__(
        self,
        clock: FakeClock,
        seen: Seen,
        happened: Callable[[], None],
        is_gone: Callable[[], bool],
    ) -> None:
        # Not the journal's own: it would open a file.
        self.path, self.lost = "", 0
        self._clock, self._held = clock, None
        self._seen = seen
        self._happened = happened
        self._is_gone = is_gone
        self.errors: list[str] = []

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
        elif event is Event.EXITED:
            period = values["period"]
            nominal_s = None if period is None else from_text(str(period))
            exited = Exited(str(values["name"]), nominal_s, str(values["run_id"]))
            self._do(lambda: self._seen.exited.append(exited))

    def reopen(self) -> None:
        """Nothing is open."""

    def decisions(
        self, entry: LoggedJob, decisions: Iterable[Decision], *, schedule_text: str = ""
    ) -> None:
        decided = list(decisions)
        self._do(lambda: self._seen.decided.update(decided))

    def trigger(self, entry: LoggedJob, nominal_s: int, chosen_s: int, now_s: int) -> None:
        self._do(lambda: self._seen.triggered.add((entry.name, nominal_s)))

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
        if count is None:
            self._say(entry, period, "missed", reason, chosen_s, now_s)
        else:
            many = entry.name, from_text(first_period or period), from_text(period)
            self._do(lambda: self._hear(self._seen.said_many, many))

    def _say(
        self,
        entry: LoggedJob,
        period: str,
        outcome: str,
        reason: str,
        chosen_s: int | None,
        now_s: int = 0,
    ) -> None:
        nominal_s, era = from_text(period), self._seen.era(entry.name)
        said = Said(entry.name, nominal_s, outcome, reason, now_s, chosen_s, era)
        self._do(lambda: self._hear(self._seen.said, said))

    def _hear(self, heard: list[Line], line: Line) -> None:
        heard.append(line)
        self._happened()

    def _do(self, write: Callable[[], None]) -> None:
        super()._do(lambda: None if self._is_gone() else write())
