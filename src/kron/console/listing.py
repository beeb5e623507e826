"""A listing: many jobs, each with its next run, in the order that is asked for.

What else a row holds, such as a file or the last outcome, is the command's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kron.console.progress import Progress
from kron.console.terminal import Terminal
from kron.console.times import distance
from kron.core.decision import Decision
from kron.core.instant import to_text
from kron.engine.agenda import next_run
from kron.engine.job import Job

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import _ActionsContainer

NEXT_RUN, IN = "NEXT RUN (UTC)", "IN"


def add_sorting(parser: _ActionsContainer, orders: Sequence[str]) -> None:
    """`--sort`, which the first of the orders is the default of, and `--reverse`."""
    first = orders[0]
    parser.add_argument(
        "--sort", choices=tuple(orders), default=first, help=f"the order; default: {first}"
    )
    parser.add_argument("--reverse", action="store_true", help="the other way round")


def next_runs(jobs: Sequence[Job], at_s: int, terminal: Terminal) -> Iterator[Decision | None]:
    """The next run of each job; None for one that is suspended or has none soon."""
    with Progress(terminal, "looking ahead", len(jobs)) as progress:
        for job in jobs:
            yield None if job.schedule.policy.suspend else next_run(job, at_s)
            progress.advance()


def next_first(decision: Decision | None) -> tuple[bool, int]:
    """What to sort by so that the next run comes first, and what has none last."""
    chosen_s = None if decision is None else decision.chosen_s
    return chosen_s is None, chosen_s or 0


def next_cells(job: Job, decision: Decision | None, at_s: int) -> tuple[str, str]:
    """The cells NEXT_RUN and IN of a row."""
    if decision is None or decision.chosen_s is None:
        return "suspended" if job.schedule.policy.suspend else "none soon", ""
    return to_text(decision.chosen_s), distance(decision.chosen_s - at_s)


def next_fields(decision: Decision | None) -> dict[str, str | None]:
    """The same for JSON."""
    chosen_s = None if decision is None else decision.chosen_s
    return {
        "next_period": None if decision is None else decision.period_id,
        "next_run": None if chosen_s is None else to_text(chosen_s),
    }
