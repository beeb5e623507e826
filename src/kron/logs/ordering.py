"""The ordering guarantees of seed 002, checked on a log: what comes first for a job and period.

For a log from its beginning, as tests have one. A log that was rotated begins in the middle of
things, and a period decided in the file before looks like one that was not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kron.core.frozen import Frozen
from kron.logs.event import Event
from kron.logs.record import Record

_FINAL = (Event.DECISION, Event.CONSTRAINT_UNSATISFIABLE)
_AFTER_TRIGGER = (Event.JOB_CREATED, Event.STARTED)


class Violation(Frozen):
    """A line that stands where it must not, and the rule that says so."""

    line: int
    event: str
    namespace: str
    name: str
    period: str
    rule: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.event} of {self.namespace} {self.name}, {self.rule}"


class _Progress:
    """How far a period has come."""

    __slots__ = ("decided", "rejects", "seeded", "triggered")

    def __init__(self) -> None:
        self.seeded = False
        self.decided = False
        self.triggered = False
        self.rejects: list[Violation] = []
        """The rejected candidates that no decision has followed yet."""


def violations(lines: Iterable[tuple[int, Record]]) -> Iterator[Violation]:
    """The lines that break a guarantee. `lines` are records with their line numbers, in order.

    A period may be decided again, after a restart or an edit: its seed is computed anew then.
    """
    periods: dict[tuple[str, ...], _Progress] = {}
    for number, record in lines:
        namespace, name, period = (record.get(key) for key in ("namespace", "name", "period"))
        if namespace is None or name is None or not period:
            continue
        progress = periods.setdefault((namespace, name, period), _Progress())
        rule = _broken(record.event, progress)
        here = Violation(number, record.event, namespace, name, period, rule or "")
        if rule:
            yield here
        if record.event == Event.TRIGGER:
            yield from progress.rejects
        _advance(record.event, progress, here)
    for progress in periods.values():
        yield from progress.rejects


def _broken(event: str, progress: _Progress) -> str | None:
    """The guarantee that this event breaks, coming now."""
    if event == Event.TRIGGER and not progress.decided:
        return "decision must appear before trigger"
    starts_or_skips = event in _AFTER_TRIGGER or event.startswith("skipped_")
    if starts_or_skips and not progress.triggered:
        return "trigger must appear before job_created, started or skipped_*"
    if event == Event.SAMPLE and not progress.seeded:
        return "seed_computed must appear before sample"
    return None


def _advance(event: str, progress: _Progress, here: Violation) -> None:
    if event == Event.SEED_COMPUTED:
        progress.seeded = True
    elif event == Event.CONSTRAINT_REJECT:
        rule = "constraint_reject must appear before the decision is final"
        progress.rejects.append(here.replace(rule=rule))
    elif event in _FINAL:
        progress.seeded = False
        progress.decided = event == Event.DECISION
        progress.rejects = []
    elif event == Event.TRIGGER:
        progress.triggered = True
        progress.rejects = []
