"""`kronctl resume`: let suspended KronJobs start runs again."""

from __future__ import annotations

from argparse import Namespace

from kron.console.terminal import Terminal
from kron.kube.kronctl.commands.suspend import add_arguments, change_all

__all__ = ["DESCRIPTION", "EXAMPLES", "add_arguments", "run"]

DESCRIPTION = """\
Resume suspended KronJobs. Of the periods that were due meanwhile, only the latest may still run, if
its deadline allows. This removes what `kronctl suspend` has set, spec.policy.suspend, and sets
nothing. If the schedule text or a manifest that is applied again sets suspend, edit it there."""
EXAMPLES = (
    ("kronctl resume prod/backup", "one KronJob"),
    ("kronctl resume -n prod backup report", "two of one namespace"),
    ("kronctl resume -n prod --all", "all of a namespace"),
)


def run(arguments: Namespace, terminal: Terminal) -> int:
    return change_all(arguments, terminal, schema="kronctl.resume/1", suspended=False)
