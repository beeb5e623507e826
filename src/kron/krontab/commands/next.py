"""`krontab next`: the coming runs of a job."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from kron.console.parser import Parser, add_at, add_format, number_up_to
from kron.console.table import table
from kron.console.terminal import Terminal
from kron.console.times import distance, local_text
from kron.core.decision import Decision
from kron.core.instant import to_seconds, to_text
from kron.engine.agenda import agenda
from kron.engine.survey import due_s
from kron.krontab.jobs import Subject, add_source, find_subject, moment_of
from kron.krontab.periods import why_unschedulable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

DESCRIPTION = """\
Show when a job runs next: its coming periods in the order in which they come due, as krond will
run them. A period for which no time was found is shown with the reason."""
EXAMPLES = (
    ("krontab next backup", "the next five runs of the job `backup`"),
    ("krontab next backup --count 20 --at 2026-12-24", "twenty runs from Christmas Eve on"),
    (
        "krontab next --schedule '0 2 * * * @win(after,3h)' --identity prod/db-backup",
        "try a schedule before it is in a file",
    ),
)


def add_arguments(parser: Parser) -> None:
    """The arguments of the command."""
    parser.add_argument("job", metavar="JOB", nargs="?", help="a job's name, or <path>:<name>")
    parser.add_argument(
        "--count", type=number_up_to(100_000), default=5, metavar="N", help="how many; default: 5"
    )
    add_at(parser, "the moment to look ahead from")
    add_format(parser)
    add_source(parser, identity=True)


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Run the command."""
    subject = find_subject(arguments, terminal)
    at_s = to_seconds(moment_of(arguments))
    decisions = islice(agenda(subject.job, at_s), arguments.count)
    if arguments.format == "json":
        terminal.print_json(_document(subject, at_s, decisions))
        return 0
    rows = [_row(subject, decision, at_s) for decision in decisions]
    head = ("PERIOD", "RUNS AT (UTC)", f"LOCAL ({subject.schedule.zone.key})", "IN")
    for line in table(terminal, head, rows, right=("IN",), styles={"RUNS AT (UTC)": "bold"}):
        terminal.print(line)
    if subject.schedule.policy.suspend:
        terminal.error("note: the job is suspended; nothing runs until that is lifted")
    return 0


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


def _document(subject: Subject, at_s: int, decisions: Iterable[Decision]) -> dict[str, Any]:
    return {
        "schema": "krontab.next/1",
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
            for decision in decisions
        ],
    }
