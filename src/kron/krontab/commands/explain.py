"""`krontab explain`: one decision in full, as a person reads it or as JSON."""

from __future__ import annotations

from kron.console.explanation import (
    add_all_draws,
    explain,
    explanation_document,
    explanation_lines,
)
from kron.console.parser import Parser, add_at, add_format
from kron.console.terminal import Terminal
from kron.core.instant import to_seconds
from kron.krontab.jobs import add_source, find_subject, moment_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

DESCRIPTION = """\
Say why a job runs when it runs: what its schedule means, the window, the seed and its hash, every
draw and why it was taken or rejected. It uses krond's identity for the job, so what it says is
what krond does.

A moment (--at) means, in this order: the period with that nominal instant, the period chosen for
that second, the period open then (the latest, if there are several), the next period."""
EXAMPLES = (
    ("krontab explain backup", "the period that is open now, or the next one"),
    ("krontab explain backup --at 2026-03-01T02:32:20Z", "why did it run at that second?"),
    (
        "krontab explain --schedule '0 0 * * * @win(after,3h) @seed(stable,salt=backup)' \\\n"
        "      --identity prod/db-backup --at 2026-03-01",
        "a schedule and an identity, without a file",
    ),
)


def add_arguments(parser: Parser) -> None:
    """The arguments of the command."""
    parser.add_argument("job", metavar="JOB", nargs="?", help="a job's name, or <path>:<name>")
    add_at(parser, "the moment whose period is explained")
    add_all_draws(parser)
    add_format(parser)
    add_source(parser, identity=True)


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Run the command."""
    subject = find_subject(arguments, terminal)
    explanation = explain(subject, to_seconds(moment_of(arguments)))
    if arguments.format == "json":
        document = {"schema": "krontab.explain/1", **explanation_document(explanation)}
        terminal.print_json(document)
        return 0
    for line in explanation_lines(explanation, terminal, all_draws=arguments.all_draws):
        terminal.print(line)
    return 0
