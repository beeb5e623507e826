"""`kettle import`: a word that no Python module can be called."""

from __future__ import annotations

from argparse import Namespace

from kron.console.parser import Parser
from kron.console.terminal import Terminal

DESCRIPTION = "Import tea."
EXAMPLES = (("kettle import", "from afar"),)


def add_arguments(_: Parser) -> None:
    pass


def run(_: Namespace, terminal: Terminal) -> int:
    terminal.print("tea")
    return 0
