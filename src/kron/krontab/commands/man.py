"""`krontab man`: print a manual page."""

from __future__ import annotations

from kron.console.manual import page
from kron.console.parser import Parser
from kron.console.terminal import Terminal
from kron.krontab.program import COMMANDS, KRONTAB

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

DESCRIPTION = """\
Print the manual page of krontab, or of one of its commands, for man(1). The page is made from the
same source as --help."""
EXAMPLES = (
    ("krontab man | man -l -", "read the manual of krontab"),
    ("krontab man next > krontab-next.1", "a page to install"),
)


def add_arguments(parser: Parser) -> None:
    """The arguments of the command."""
    parser.add_argument(
        "name", metavar="COMMAND", nargs="*", help="a command of krontab; default: krontab itself"
    )


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Run the command."""
    name = " ".join(arguments.name)
    if name and name not in COMMANDS:
        terminal.error(f"krontab man: there is no command {name}")
        return 1
    terminal.output.write(page(KRONTAB, name))
    return 0
