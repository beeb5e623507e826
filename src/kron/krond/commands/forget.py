"""`krond forget`: discard the stored state of a job."""

from __future__ import annotations

from argparse import Namespace

from kron.console.parser import Parser
from kron.console.terminal import Terminal
from kron.krond.control.client import ask
from kron.krond.directories import add_state_dir, state_dir_of

DESCRIPTION = """\
Discard the stored state of a job. It starts without a past: nothing from before this moment is
caught up. Use it after the clock was wrong: a job that ran at a time in the future does not run
again until the clock gets there, because no period runs twice. Active runs go on.

A job that is no longer configured has a state too, for 30 days. It can be discarded unless a run of
the job goes on."""
EXAMPLES = (
    ("krond forget backup", "the clock was a year ahead, and `backup` ran"),
    ("krond forget /etc/krond.d/old.kron:backup", "a job that was removed"),
    ("krond forget --all-ahead", "every job that waits for a clock that was ahead"),
)


def add_arguments(parser: Parser) -> None:
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument(
        "job", metavar="JOB", nargs="?", help="a name, or <absolute path of its file>:<name>"
    )
    which.add_argument(
        "--all-ahead",
        action="store_true",
        help="every job that ended periods by a clock that was ahead, and waits for it",
    )
    add_state_dir(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    if arguments.all_ahead:
        answer = ask(state_dir_of(arguments), {"command": "forget", "all_ahead": True}, 30)
        for identity in answer["identities"]:
            terminal.print(f"forgotten: {identity}")
        if not answer["identities"]:
            terminal.error("no job waits for the clock, so nothing was forgotten")
        return 0
    answer = ask(state_dir_of(arguments), {"command": "forget", "job": arguments.job}, 30)
    terminal.print(f"forgotten: {answer['identity']}")
    return 0
