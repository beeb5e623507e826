"""`krond reload`: let the daemon read its configuration again."""

from __future__ import annotations

from kron.console.parser import Parser
from kron.console.report import many
from kron.console.terminal import Terminal
from kron.krond.client import ask
from kron.krond.place import add_state_dir, state_dir_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

DESCRIPTION = """\
Let the daemon read its configuration again. If anything is wrong with it, it is refused whole and
nothing changes. Runs that are going on stay; an edit takes effect from the next period on, and
nothing is run for a time that has passed. The log is opened anew, too."""
EXAMPLES = (("krond reload", "after an edit; krontab lint says before whether it is right"),)


def add_arguments(parser: Parser) -> None:
    """The arguments of the command."""
    add_state_dir(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Run the command."""
    answer = ask(state_dir_of(arguments), {"command": "reload"}, 120)
    terminal.print(f"reloaded: {many(answer['total'], 'job')}")
    return 0
