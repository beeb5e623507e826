"""`kronctl explain`: one decision in full, as a person reads it or as JSON."""

from __future__ import annotations

from kron.console.explanation import (
    add_all_draws,
    explain,
    explanation_document,
    explanation_lines,
)
from kron.console.parser import Parser, add_at, add_format
from kron.console.terminal import Terminal
from kron.kube.kronctl.kronjobs import add_source, find_subject
from kron.kube.kronctl.moment import moment_s

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

DESCRIPTION = """\
Say why a KronJob runs when it runs: what its schedule means, the window, the seed and its hash,
every draw and why it was taken or rejected. What it says is what kron-operator does.

A moment (--at) means, in this order: the period with that nominal instant, the period chosen for
that second, the period open then (the latest, if there are several), the next period."""
EXAMPLES = (
    ("kronctl explain prod/backup", "the period that is open now, or the next one"),
    ("kronctl explain backup -n prod --at 2026-03-01T02:32:20Z", "why at that second?"),
    ("kronctl explain -f backup.yaml", "a manifest, without a cluster"),
)


def add_arguments(parser: Parser) -> None:
    """The arguments of the command."""
    parser.add_argument(
        "name", metavar="JOB", nargs="?", help="a KronJob's name, or NAMESPACE/NAME"
    )
    add_at(parser, "the moment whose period is explained")
    add_all_draws(parser)
    add_format(parser)
    add_source(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Run the command."""
    explanation = explain(find_subject(arguments, terminal), moment_s(arguments))
    if arguments.format == "json":
        document = {"schema": "kronctl.explain/1", **explanation_document(explanation)}
        terminal.print_json(document)
        return 0
    for line in explanation_lines(explanation, terminal, all_draws=arguments.all_draws):
        terminal.print(line)
    return 0
