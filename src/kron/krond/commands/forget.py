"""`krond forget`: let a job be as if it had never been seen."""

from __future__ import annotations

from kron.console.parser import Parser
from kron.console.terminal import Terminal
from kron.krond.client import ask
from kron.krond.place import add_state_dir, state_dir_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

DESCRIPTION = """\
Let a job be as if it had never been seen: it owes nothing from before this moment, and what it did
is forgotten. That is the way out when the clock was wrong: a job that ran at a time in the future
does not run again until the clock gets there, since no period runs twice. Its runs go on."""
EXAMPLES = (("krond forget backup", "the clock was a year ahead, and `backup` ran"),)


def add_arguments(parser: Parser) -> None:
    """The arguments of the command."""
    parser.add_argument("job", metavar="JOB", help="a name, or <absolute path of its file>:<name>")
    add_state_dir(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Run the command."""
    answer = ask(state_dir_of(arguments), {"command": "forget", "job": arguments.job}, 30)
    terminal.print(f"forgotten: {answer['identity']}")
    return 0
