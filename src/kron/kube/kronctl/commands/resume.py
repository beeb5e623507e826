"""`kronctl resume`: let suspended KronJobs start runs again."""

from __future__ import annotations

from kron.console.parser import Parser
from kron.console.terminal import Terminal
from kron.kube.kronctl.suspension import add_names, change_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

DESCRIPTION = """\
Resume KronJobs that are suspended. Of the periods that came due meanwhile only the latest may still
run, if its deadline allows. It takes spec.policy.suspend away; a KronJob whose schedule text says
suspend itself has to be edited there."""
EXAMPLES = (
    ("kronctl resume prod/backup", "one of them"),
    ("kronctl resume -n prod backup report", "two of one namespace"),
)


def add_arguments(parser: Parser) -> None:
    """The arguments of the command."""
    add_names(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Run the command."""
    return change_all(arguments, terminal, suspended=False)
