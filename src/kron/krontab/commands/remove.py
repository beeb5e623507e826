"""`krontab remove`: remove a job from a file."""

from __future__ import annotations

from argparse import Namespace

from kron.console.parser import Parser, add_format
from kron.console.terminal import Terminal
from kron.krontab.target import add_target, change_file

DESCRIPTION = """\
Remove the line of a job from a file. The rest of the file does not change by a byte. krond reads it
at its next reload."""
EXAMPLES = (
    ("krontab remove backup", "remove `backup` from the default file"),
    ("krontab remove backup --file jobs.kron --dry-run", "show what would change"),
)


def add_arguments(parser: Parser) -> None:
    parser.add_argument("job", metavar="JOB", help="the job's name")
    add_format(parser)
    add_target(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    name = arguments.job
    return change_file("remove", [name], lambda file: file.without(name), arguments, terminal)
