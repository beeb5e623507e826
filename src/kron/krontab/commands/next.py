"""`krontab next`: the coming runs of a job."""

from __future__ import annotations

from kron.console.coming import add_count, coming_document, print_coming
from kron.console.parser import Parser, add_at, add_format
from kron.console.terminal import Terminal
from kron.core.instant import to_seconds
from kron.krontab.jobs import add_source, find_subject, moment_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

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
    add_count(parser)
    add_at(parser, "the moment to look ahead from")
    add_format(parser)
    add_source(parser, identity=True)


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Run the command."""
    subject = find_subject(arguments, terminal)
    at_s = to_seconds(moment_of(arguments))
    if arguments.format == "json":
        document = coming_document(subject, at_s, arguments.count)
        terminal.print_json({"schema": "krontab.next/1", **document})
        return 0
    print_coming(subject, at_s, arguments.count, terminal)
    return 0
