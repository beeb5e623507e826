"""`krond reload`: make the daemon read its configuration again."""

from __future__ import annotations

from argparse import Namespace

from kron.console.parser import Parser
from kron.console.report import many
from kron.console.terminal import Terminal
from kron.krond.control.client import ask
from kron.krond.directories import add_state_dir, state_dir_of

DESCRIPTION = """\
Make the daemon read its configuration again. If it has an error, the daemon refuses all of it and
nothing changes. Active runs go on; an edit takes effect from the next period, and nothing runs for
a time that has passed. The daemon also opens its log file again."""
EXAMPLES = (("krond reload", "after an edit; check it first with krontab lint"),)


def add_arguments(parser: Parser) -> None:
    add_state_dir(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    answer = ask(state_dir_of(arguments), {"command": "reload"}, 120)
    terminal.print(f"reloaded: {many(answer['total'], 'job')}")
    return 0
