"""The order of events, checked on a log: which event of a job and period must come first.

The log must be complete from its beginning, as in a test. After a rotation a period that was
decided in the file before looks as if it had not been decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kron.core.frozen import Frozen
from kron.logs.event import Event
from kron.logs.record import Record

_FINAL = (Event.DECISION, Event.CONSTRAINT_UNSATISFIABLE)
_TRIGGER_FIRST: tuple[str, str] = (
    Event.TRIGGER,
    "trigger must appear before job_created, started or skipped_*",
)
_FIRST: dict[str, tuple[str, str]] = {
    Event.TRIGGER: (Event.DECISION, "decision must appear before trigger"),
    Event.SAMPLE: (Event.SEED_COMPUTED, "seed_computed must appear before sample"),
    Event.JOB_CREATED: _TRIGGER_FIRST,
    Event.STARTED: _TRIGGER_FIRST,
}
"""The event that must come before another one, and the rule in words."""


class Violation(Frozen):
    """A line in the wrong place, and the rule that it breaks."""

    line: int
    event: str
    namespace: str
    name: str
    period: str
    rule: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.event} of {self.namespace} {self.name}, {self.rule}"


def violations(lines: Iterable[tuple[int, Record]]) -> Iterator[Violation]:
    """The lines that break a guarantee. `lines` are records with their line numbers, in order.

    A period may be decided again, after a restart or an edit: its seed is then computed again.
    """
    seen: dict[tuple[str, ...], set[str]] = {}
    rejects: dict[tuple[str, ...], list[Violation]] = {}
    for number, record in lines:
        event = record.event
        namespace, name, period = (record.get(key) for key in ("namespace", "name", "period"))
        if namespace is None or name is None or not period:
            continue
        key = (namespace, name, period)
        before = seen.setdefault(key, set())
        is_skip = event.startswith("skipped_")
        first, rule = _TRIGGER_FIRST if is_skip else _FIRST.get(event, (event, ""))
        if rule and first not in before:
            yield Violation(number, event, *key, rule)
        if event == Event.CONSTRAINT_REJECT:
            rule = "constraint_reject must appear before the decision is final"
            rejects.setdefault(key, []).append(Violation(number, event, *key, rule))
        elif event == Event.TRIGGER:
            yield from rejects.pop(key, ())
        elif event in _FINAL:
            rejects.pop(key, None)
            before -= {Event.SEED_COMPUTED, Event.DECISION}
        before.add(event)
    for late in rejects.values():
        yield from late
