"""`krontab completion`: print the completion script of a shell."""

from __future__ import annotations

from argparse import Namespace

from kron.console.completion import add_arguments, examples, print_script
from kron.console.terminal import Terminal

__all__ = ["DESCRIPTION", "EXAMPLES", "add_arguments", "run"]

DESCRIPTION = """\
Print a script with which a shell completes krontab's commands, options, files and names of jobs.
Package managers install it; otherwise see the examples."""
EXAMPLES = examples("krontab")


def run(arguments: Namespace, terminal: Terminal) -> int:
    return print_script("krontab", arguments, terminal)
