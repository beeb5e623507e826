"""`krond upgrade`: make the daemon go on as the program that is installed now."""

from __future__ import annotations

from argparse import Namespace

from kron.console.parser import Parser
from kron.console.report import many
from kron.console.terminal import Terminal
from kron.krond.control.client import ask
from kron.krond.directories import add_state_dir, state_dir_of

DESCRIPTION = """\
Make the daemon execute the program that is installed now, with the options that it was started
with. Its process stays, and with it the active runs and their exit codes: nothing is late or lost.
If the new program cannot read the configuration or the state, the daemon goes on as it is. This
command ends when the new program is ready."""
EXAMPLES = (("krond upgrade", "after pip install --upgrade, or apt upgrade"),)
_PATIENCE_S = 180
"""The trial has a minute, and so has a hook; a start with very many jobs takes some seconds."""


def add_arguments(parser: Parser) -> None:
    add_state_dir(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    answer = ask(state_dir_of(arguments), {"command": "upgrade"}, _PATIENCE_S)
    before, after, jobs = answer["upgraded_from"], answer["version"], many(answer["total"], "job")
    terminal.print(f"upgraded from {before} to {after}: {jobs}")
    return 0
