"""`krontab man`: print a manual page."""

from __future__ import annotations

from argparse import Namespace

from kron.console.parser import Parser
from kron.console.share import shared_text
from kron.console.terminal import Terminal
from kron.core.errors import visible
from kron.krontab.program import COMMANDS

DESCRIPTION = """\
Print the manual page of krontab, or of one of its commands, for man(1). The page and --help are
generated from the same source. `krontab man 5` prints that of the krontab file: all its fields."""
EXAMPLES = (
    ("krontab man | man -l -", "read the manual of krontab"),
    ("krontab man 5 | man -l -", "read about the krontab file and its fields"),
    ("krontab man next > krontab-next.1", "a page to install"),
)
FILE_FORMAT = "5"
"""The section of the manual that is about files."""


def add_arguments(parser: Parser) -> None:
    parser.add_argument(
        "name",
        metavar="COMMAND",
        nargs="*",
        help="a command of krontab, or 5 for its file; default: krontab itself",
    )


def run(arguments: Namespace, terminal: Terminal) -> int:
    name = " ".join(arguments.name)
    if name == FILE_FORMAT:
        terminal.output.write(shared_text("man/man5/krontab.5"))
        return 0
    if name and name not in COMMANDS:
        terminal.error(f"krontab man: unknown command {visible(name)}")
        return 1
    terminal.output.write(shared_text(f"man/man1/{'-'.join(['krontab', *arguments.name])}.1"))
    return 0
