"""`kronctl suspend`: let KronJobs start no more runs."""

from __future__ import annotations

from kron.console.parser import Parser
from kron.console.terminal import Terminal
from kron.kube.kronctl.suspension import add_names, change_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

DESCRIPTION = """\
Suspend KronJobs: they start no more runs until `kronctl resume`. Jobs that are active go on. It
sets spec.policy.suspend; a KronJob whose schedule text says suspend has to be edited there."""
EXAMPLES = (
    ("kronctl suspend prod/backup", "one of them"),
    ("kronctl suspend -n prod backup report", "two of one namespace"),
)


def add_arguments(parser: Parser) -> None:
    """The arguments of the command."""
    add_names(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Run the command."""
    return change_all(arguments, terminal, suspended=True)
