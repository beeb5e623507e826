"""`kronctl next`: the coming runs of a KronJob."""

from __future__ import annotations

from kron.console.coming import add_count, coming_document, print_coming
from kron.console.parser import Parser, add_at, add_format
from kron.console.terminal import Terminal
from kron.kube.kronctl.kronjobs import add_source, find_subject
from kron.kube.kronctl.moment import moment_s

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

DESCRIPTION = """\
Show when a KronJob runs next: its coming periods in the order in which they come due, as
kron-operator will run them. A period for which no time was found is shown with the reason."""
EXAMPLES = (
    ("kronctl next prod/backup", "the next five runs"),
    ("kronctl next backup -n prod --count 20 --at 2026-12-24", "twenty from Christmas Eve on"),
    ("kronctl next -f backup.yaml", "before it is applied"),
)


def add_arguments(parser: Parser) -> None:
    """The arguments of the command."""
    parser.add_argument(
        "name", metavar="JOB", nargs="?", help="a KronJob's name, or NAMESPACE/NAME"
    )
    add_count(parser)
    add_at(parser, "the moment to look ahead from")
    add_format(parser)
    add_source(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Run the command."""
    subject = find_subject(arguments, terminal)
    at_s = moment_s(arguments)
    if arguments.format == "json":
        document = coming_document(subject, at_s, arguments.count)
        terminal.print_json({"schema": "kronctl.next/1", **document})
        return 0
    print_coming(subject, at_s, arguments.count, terminal)
    return 0
