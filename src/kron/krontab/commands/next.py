"""`krontab next`: the next runs of a job."""

from __future__ import annotations

from argparse import Namespace

from kron.console.parser import Parser, add_at, add_format
from kron.console.questions import add_count, show_coming
from kron.console.terminal import Terminal
from kron.krontab.jobs import add_source, find_subject

DESCRIPTION = """\
Show when a job runs next: its coming periods in the order in which krond will run them. A period
without a chosen time is shown with the reason."""
EXAMPLES = (
    ("krontab next backup", "the next five runs of the job `backup`"),
    ("krontab next backup --count 20 --at 2026-12-24", "twenty runs from Christmas Eve on"),
    (
        "krontab next --schedule '0 2 * * * @win(after,3h)' --identity prod/db-backup",
        "try a schedule without a file",
    ),
)


def add_arguments(parser: Parser) -> None:
    parser.add_argument("job", metavar="JOB", nargs="?", help="a job's name, or <path>:<name>")
    add_count(parser)
    add_at(parser, "the moment to look ahead from")
    add_format(parser)
    add_source(parser, identity=True)


def run(arguments: Namespace, terminal: Terminal) -> int:
    subject = find_subject(arguments, terminal)
    return show_coming(subject, arguments, terminal, schema="krontab.next/1")
