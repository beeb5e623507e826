"""`krontab remove`: take a job out of a file."""

from __future__ import annotations

from kron.console.parser import Parser, add_format
from kron.console.terminal import Terminal
from kron.krontab.target import add_target, change_file, report_change

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

DESCRIPTION = """\
Take the line of a job out of a file. Everything else in the file stays as it is, byte for byte.
krond notices at its next reload."""
EXAMPLES = (
    ("krontab remove backup", "take `backup` out of the default file"),
    ("krontab remove backup --file jobs.kron --dry-run", "show what would change"),
)


def add_arguments(parser: Parser) -> None:
    """The arguments of the command."""
    parser.add_argument("job", metavar="JOB", help="the job's name")
    add_format(parser)
    add_target(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Run the command."""
    change = change_file(arguments, lambda document: document.without(arguments.job), creates=False)
    report_change(change, "remove", [arguments.job], arguments, terminal)
    return 0
