"""`kronctl completion`: print the completion script of a shell."""

from __future__ import annotations

from argparse import Namespace

from kron.console.completion import add_arguments, examples, print_script
from kron.console.terminal import Terminal

__all__ = ["DESCRIPTION", "EXAMPLES", "add_arguments", "run"]

DESCRIPTION = """\
Print a script with which a shell completes kronctl's commands, options, files, contexts, and the
names of KronJobs and namespaces, for which it asks the cluster: for two seconds at most, and
silently if it cannot be reached. Package managers install it; otherwise see the examples.

`kubectl kron` needs no script: kubectl's own completion calls kubectl_complete-kron, which is
installed beside kronctl."""
EXAMPLES = examples("kronctl")


def run(arguments: Namespace, terminal: Terminal) -> int:
    return print_script("kronctl", arguments, terminal)
