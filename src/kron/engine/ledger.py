"""The ledger: which periods of a job have ended. What is in it never runs again.

Windows may overlap, so periods end out of order, and "the last handled period" would lose some or
repeat some. The ledger is a watermark, up to which everything is handled, and the periods handled
above it. It stays small: a period above the watermark is open together with the first one that is
not handled, and their number is bounded.
"""

from __future__ import annotations

from collections.abc import Iterable

from kron.core.decision import Decision, decide_at
from kron.core.errors import KronError
from kron.core.frozen import Frozen
from kron.core.instant import to_text
from kron.core.parser import parse_schedule
from kron.engine.actions import Outcome
from kron.engine.job import Job

MAX_HANDLED = 20_000
"""Twice what may be open at once, for the periods of the schedule before an edit."""


class Intent(Frozen):
    """A period whose run is about to start. It is handled: nothing else may start it."""

    nominal_s: int
    chosen_s: int
    run_id: str
    schedule: str
    """The canonical text of the schedule that chose the time: the job may be edited before the run
    starts, and its log line must still show the decision as it was made."""

    @property
    def period(self) -> str:
        """Its period, as logs have it."""
        return to_text(self.nominal_s)

    def decision(self, job: Job) -> Decision | None:
        """The decision that this intent came from, made again; None if it does not come out so.

        That happens to a ledger of an older version whose job was edited since, or a damaged one.
        """
        try:
            schedule = job.timing if self.schedule == job.text else parse_schedule(self.schedule)
            decision = decide_at(schedule, job.identity, self.nominal_s)
        except KronError:
            return None
        return decision if decision.chosen_s == self.chosen_s else None


class Handled(Frozen):
    """A period that has ended, for people to see. A period in bulk has no chosen time."""

    nominal_s: int
    chosen_s: int | None
    outcome: Outcome
    reason: str = ""


class Ledger(Frozen):
    """What is known of a job's past. Every change makes a new ledger."""

    schedule: str
    """The canonical text that the job had when it was last looked at, by which edits show."""
    since_s: int
    """Nothing chosen before this instant is owed: the job did not exist, or had another
    schedule."""
    handled_through_s: int | None = None
    """The watermark: every period up to this nominal instant is handled."""
    handled_s: frozenset[int] = frozenset()
    """The nominal instants above the watermark that are handled too."""
    starting: tuple[Intent, ...] = ()
    last: Handled | None = None

    @property
    def last_handled_s(self) -> int:
        """The latest nominal instant that is handled; 0 if none is."""
        return max(self.handled_through_s or 0, *self.handled_s, 0)

    def is_handled(self, nominal_s: int) -> bool:
        """Whether the period has ended or is starting, so that it must not start again."""
        through_s = self.handled_through_s
        return nominal_s in self.handled_s or (through_s is not None and nominal_s <= through_s)

    def with_handled(self, nominals_s: Iterable[int], through_s: int | None = None) -> Ledger:
        """These periods are handled and, if given, everything up to `through_s` is."""
        watermarks = [mark for mark in (self.handled_through_s, through_s) if mark is not None]
        handled_s = self.handled_s.union(nominals_s)
        if len(handled_s) == len(self.handled_s) and through_s in (None, self.handled_through_s):
            return self  # as most steps leave it: nothing was due
        if len(handled_s) > MAX_HANDLED:
            # Better to lose an old period than to run one twice.
            watermarks.append(sorted(handled_s)[-MAX_HANDLED])
        if not watermarks:
            return self.replace(handled_s=handled_s)
        watermark_s = max(watermarks)
        handled_s = frozenset(nominal_s for nominal_s in handled_s if nominal_s > watermark_s)
        return self.replace(handled_through_s=watermark_s, handled_s=handled_s)

    def merged(self, other: Ledger) -> Ledger:
        """This ledger, and everything that has ended according to another ledger of the same job.

        What the other was about to start has not ended: it comes up again or, if the watermark has
        passed it, is about to start here too. Two ledgers of the same schedule without intents that
        merge each other become equal, so that two writers do not overwrite each other for ever.
        """
        starting_s = {intent.nominal_s for intent in other.starting}
        ledger = self.with_handled(other.handled_s - starting_s, other.handled_through_s)
        passed = tuple(
            intent
            for intent in other.starting
            if ledger.is_handled(intent.nominal_s) and not self.is_handled(intent.nominal_s)
        )
        last = max(filter(None, (self.last, other.last)), key=_order, default=None)
        since_s = self.since_s
        if self.schedule == other.schedule:
            since_s = max(since_s, other.since_s)
        if (last, since_s) == (ledger.last, ledger.since_s) and not passed:
            return ledger
        return ledger.replace(starting=ledger.starting + passed, last=last, since_s=since_s)

    def retired(self) -> Ledger:
        """The ledger of a job that is no longer configured.

        Should it come back, it counts as edited: it owes nothing from before.
        """
        return self.replace(schedule="") if self.schedule else self

    def with_started(self, nominal_s: int, reason: str = "") -> Ledger:
        """The run of this intent has started: the period is executed."""
        return self._with_end(nominal_s, Outcome.EXECUTED, reason)

    def with_start_given_up(self, nominal_s: int, outcome: Outcome, reason: str) -> Ledger:
        """The run of this intent never started and never will."""
        return self._with_end(nominal_s, outcome, reason)

    def intent(self, nominal_s: int) -> Intent:
        """The intent for this period; it is an error to ask for one that is not there."""
        for intent in self.starting:
            if intent.nominal_s == nominal_s:
                return intent
        raise ValueError(f"the period {to_text(nominal_s)} is not about to start")

    def _with_end(self, nominal_s: int, outcome: Outcome, reason: str) -> Ledger:
        intent = self.intent(nominal_s)
        return self.replace(
            starting=tuple(other for other in self.starting if other is not intent),
            last=Handled(nominal_s, intent.chosen_s, outcome, reason),
        )


def _order(handled: Handled) -> tuple[int, str, int, str]:
    """The later period counts; of two ends of one, the same on every machine."""
    return handled.nominal_s, handled.outcome.value, handled.chosen_s or 0, handled.reason
