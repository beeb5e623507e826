"""What the commands that ask about jobs share: their options, and how their answers are printed.

The answers themselves are in `kron.answers`. Each `show_` function imports the one that it prints,
so that `next` does not load what `diff` needs, and returns the exit code.
"""

from __future__ import annotations

from argparse import Namespace, _ActionsContainer
from collections.abc import Iterator, Mapping, Sequence

from kron.answers.subject import Subject
from kron.console.parser import add_number, moment_s
from kron.console.progress import Progress
from kron.console.terminal import Terminal
from kron.core.decision import Decision
from kron.engine.job import Job

Jobs = Mapping[str, Job]

SHOWN_DRAWS = 12
"""How many draws of a decision are shown without `--all-draws`."""
SHOWN_RUNS = 5
"""How many runs of a job that differ are shown without `--all`."""


def add_count(parser: _ActionsContainer) -> None:
    add_number(parser, "--count", "how many", most=100_000, default=5)


def show_coming(subject: Subject, arguments: Namespace, terminal: Terminal, *, schema: str) -> int:
    from kron.answers.listing import coming_document, coming_table

    at_s = moment_s(arguments)
    if arguments.format == "json":
        document = coming_document(subject, at_s, arguments.count)
        terminal.print_json({"schema": schema, **document})
        return 0
    head, rows = coming_table(subject, at_s, arguments.count)
    styles = {"RUNS AT (UTC)": "bold"}
    terminal.print(*terminal.table(head, rows, right=("IN",), styles=styles))
    if subject.schedule.is_at_boot:
        terminal.error("note: no clock says when: krond runs it when it first starts in a boot")
    if subject.schedule.policy.suspend:
        terminal.error("note: the job is suspended, so none of these will run")
    return 0


def add_all_draws(parser: _ActionsContainer) -> None:
    parser.add_argument(
        "--all-draws",
        action="store_true",
        help=f"show every draw, not only the first {SHOWN_DRAWS}",
    )


def show_explanation(
    subject: Subject, arguments: Namespace, terminal: Terminal, *, schema: str
) -> int:
    from kron.answers.boot import boot_document, boot_lines
    from kron.answers.explanation import explain, explanation_document, explanation_lines

    if subject.schedule.is_at_boot:
        if arguments.format == "json":
            terminal.print_json({"schema": schema, **boot_document(subject, moment_s(arguments))})
        else:
            terminal.print(*boot_lines(subject, terminal.styled))
        return 0
    explanation = explain(subject, moment_s(arguments))
    if arguments.format == "json":
        terminal.print_json({"schema": schema, **explanation_document(explanation)})
        return 0
    most_draws = None if arguments.all_draws else SHOWN_DRAWS
    terminal.print(*explanation_lines(explanation, terminal.styled, most_draws=most_draws))
    return 0


def add_comparison_options(parser: _ActionsContainer) -> None:
    add_number(parser, "--days", "how far to look ahead", most=366, default=7)
    parser.add_argument(
        "--all", action="store_true", help=f"show every run, not {SHOWN_RUNS} a job"
    )


def show_comparison(
    before: Jobs, after: Jobs, arguments: Namespace, terminal: Terminal, *, schema: str
) -> bool:
    """Print what changes if `after` replaces `before`: whether anything does."""
    from kron.answers.comparison import compare, comparison_document, comparison_lines

    at_s = moment_s(arguments)
    with Progress(terminal, "comparing", len(before.keys() | after.keys())) as progress:
        comparison = compare(before, after, at_s, arguments.days, progress.advance)
    if arguments.format == "json":
        terminal.print_json({"schema": schema, **comparison_document(comparison)})
    else:
        most_runs = None if arguments.all else SHOWN_RUNS
        terminal.print(*comparison_lines(comparison, terminal.styled, most_runs=most_runs))
    return bool(comparison.changes)


def add_sorting(parser: _ActionsContainer, orders: Sequence[str]) -> None:
    """`--sort`, with the first of the orders as its default, and `--reverse`."""
    first = orders[0]
    parser.add_argument(
        "--sort", choices=tuple(orders), default=first, help=f"the order; default: {first}"
    )
    parser.add_argument("--reverse", action="store_true", help="reverse the order")


def next_runs(jobs: Sequence[Job], at_s: int, terminal: Terminal) -> Iterator[Decision | None]:
    """The next run of each job, with a progress bar while they are computed."""
    from kron.answers.listing import next_of

    with Progress(terminal, "looking ahead", len(jobs)) as progress:
        for job in jobs:
            yield next_of(job, at_s)
            progress.advance()
