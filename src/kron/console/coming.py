"""What is coming: the next runs of a subject, as a table or as JSON."""

from __future__ import annotations

from itertools import islice

from kron.console.parser import number_up_to
from kron.console.periods import why_unschedulable
from kron.console.subject import Subject
from kron.console.table import table
from kron.console.terminal import Terminal
from kron.console.times import distance, local_text
from kron.core.decision import Decision
from kron.core.instant import to_text
from kron.engine.agenda import agenda
from kron.engine.survey import due_s

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import _ActionsContainer
    from typing import Any


def add_count(parser: _ActionsContainer) -> None:
    """`--count`."""
    parser.add_argument(
        "--count", type=number_up_to(100_000), default=5, metavar="N", help="how many; default: 5"
    )


def print_coming(subject: Subject, at_s: int, count: int, terminal: Terminal) -> None:
    """The next runs as a table."""
    rows = [_row(subject, decision, at_s) for decision in islice(agenda(subject.job, at_s), count)]
    head = ("PERIOD", "RUNS AT (UTC)", f"LOCAL ({subject.schedule.zone.key})", "IN")
    for line in table(terminal, head, rows, right=("IN",), styles={"RUNS AT (UTC)": "bold"}):
        terminal.print(line)
    if subject.schedule.policy.suspend:
        terminal.error("note: the job is suspended; nothing runs until that is lifted")


def _row(subject: Subject, decision: Decision, at_s: int) -> tuple[str, str, str, str]:
    if decision.chosen_s is None:
        return decision.period_id, "unschedulable", why_unschedulable(decision), ""
    zone = subject.schedule.zone
    return (
        decision.period_id,
        to_text(decision.chosen_s),
        local_text(decision.chosen_s, zone),
        distance(decision.chosen_s - at_s),
    )


def coming_document(subject: Subject, at_s: int, count: int) -> dict[str, Any]:
    """The same for scripts, but for the schema's name, which is the command's."""
    return {
        "at": to_text(at_s),
        "job": subject.name,
        "identity": subject.identity,
        "schedule": subject.schedule_text,
        "timezone": subject.schedule.zone.key,
        "suspended": subject.schedule.policy.suspend,
        "runs": [
            {
                "period": decision.period_id,
                "window_start": to_text(decision.window_start_s),
                "window_end": to_text(decision.window_end_s),
                "chosen": None if decision.chosen_s is None else to_text(decision.chosen_s),
                "local": None
                if decision.chosen_s is None
                else local_text(decision.chosen_s, subject.schedule.zone, rfc3339=True),
                "in_seconds": due_s(decision) - at_s,
                "unschedulable": decision.unschedulable,
                "reason": why_unschedulable(decision) if decision.unschedulable else "",
            }
            for decision in islice(agenda(subject.job, at_s), count)
        ],
    }
