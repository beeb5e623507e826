"""`kronctl next`: the coming runs of a KronJob."""

from __future__ import annotations

from argparse import Namespace

from kron.console.parser import Parser, add_at, add_format
from kron.console.questions import add_count, show_coming
from kron.console.terminal import Terminal
from kron.kube.kronctl.kronjobs import add_source, find_subject

DESCRIPTION = """\
Show when a KronJob runs next: its coming periods in the order in which they are due, as
kron-operator will run them. A period for which no time was found is shown with the reason."""
EXAMPLES = (
    ("kronctl next prod/backup", "the next five runs"),
    ("kronctl next backup -n prod --count 20 --at 2026-12-24", "twenty from Christmas Eve on"),
    ("kronctl next -f backup.yaml", "before it is applied"),
)


def add_arguments(parser: Parser) -> None:
    parser.add_argument(
        "name", metavar="JOB", nargs="?", help="a KronJob: NAME, NAMESPACE/NAME or kj/NAME"
    )
    add_count(parser)
    add_at(parser, "the moment to look ahead from")
    add_format(parser)
    add_source(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    subject = find_subject(arguments, terminal)
    return show_coming(subject, arguments, terminal, schema="kronctl.next/1")
