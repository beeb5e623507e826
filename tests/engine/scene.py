"""A scene for the period engine: one job, one ledger, and a clock that only the test moves."""

from __future__ import annotations

import json

import kron
from kron.core.instant import from_text, to_text
from kron.engine import (
    Job,
    Ledger,
    Plan,
    Reschedule,
    Settle,
    SettleMany,
    Start,
    Step,
    ledger_from_json,
    ledger_to_json,
    step,
)

IDENTITY = "/etc/krond.d/test.kron:job"


class Scene:
    """Plays the adapter: it commits every ledger as JSON text and starts what it is told to."""

    def __init__(self, schedule: str, first_seen: str, *, slack_s: int = 0) -> None:
        self.job = Job(IDENTITY, kron.parse_schedule(schedule))
        self.ledger: Ledger | None = None
        self.plan: Plan | None = None
        self.slack_s = slack_s
        self.last = self.at(first_seen)

    def at(self, now: str, *, active: bool = False) -> list[str]:
        """Step at this instant, as a loop that has been awake since the last step."""
        result = step(
            self.job,
            self.ledger,
            from_text(now),
            active=active,
            plan=self.plan,
            slack_s=self.slack_s,
        )
        self.plan = result.plan
        self.wake = None if result.wake_s is None else to_text(result.wake_s)
        self.step = result
        ledger = result.ledger
        for intent in ledger.starting:
            ledger = ledger.with_started(intent.nominal_s)
        self.ledger = through_json(ledger)
        return told(result)

    def restart(self) -> None:
        """The adapter was down: the plan is gone."""
        self.plan = None

    def edit(self, schedule: str) -> None:
        """Another schedule for the same job."""
        self.job = Job(IDENTITY, kron.parse_schedule(schedule))


def through_json(ledger: Ledger) -> Ledger:
    """The ledger after a round trip through a file."""
    return ledger_from_json(json.loads(json.dumps(ledger_to_json(ledger))))


def told(result: Step) -> list[str]:
    """The actions of a step in words, short enough for a table."""
    words = []
    for action in result.actions:
        match action:
            case Start(decision, _, replaces):
                words.append(f"{'replace' if replaces else 'start'} {decision.period_id}")
            case Settle(decision, outcome, _):
                words.append(f"{outcome} {decision.period_id}")
            case SettleMany(count, first_s, last_s):
                words.append(f"missed {count} {to_text(first_s)} {to_text(last_s)}")
            case Reschedule(decision, previous_s, lapsed):
                previous = "none" if previous_s is None else to_text(previous_s)
                chosen = "none" if decision.chosen_s is None else to_text(decision.chosen_s)
                words.append(f"{'lapsed' if lapsed else 'moved'} {previous} {chosen}")
    return words
