"""`kronctl explain`: one decision in full, for people or as JSON."""

from __future__ import annotations

from argparse import Namespace

from kron.console.parser import Parser, add_at, add_format
from kron.console.questions import add_all_draws, show_explanation
from kron.console.terminal import Terminal
from kron.kube.kronctl.kronjobs import add_source, find_subject

DESCRIPTION = """\
Explain why a KronJob runs when it runs: what its schedule means, the window, the seed and its hash,
every draw and why it was accepted or rejected. kron-operator decides in exactly this way.

A moment (--at) means, in this order: the period with that nominal instant, the period chosen for
that second, the period open then (the latest, if there are several), the next period."""
EXAMPLES = (
    ("kronctl explain prod/backup", "the period that is open now, or the next one"),
    ("kronctl explain backup -n prod --at 2026-03-01T02:32:20Z", "why at that second?"),
    ("kronctl explain -f backup.yaml", "a manifest, without a cluster"),
)


def add_arguments(parser: Parser) -> None:
    parser.add_argument(
        "name", metavar="JOB", nargs="?", help="a KronJob: NAME, NAMESPACE/NAME or kj/NAME"
    )
    add_at(parser, "the moment whose period is explained")
    add_all_draws(parser)
    add_format(parser)
    add_source(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    subject = find_subject(arguments, terminal)
    return show_explanation(subject, arguments, terminal, schema="kronctl.explain/1")
