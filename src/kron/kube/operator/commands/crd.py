"""`kron-operator crd`: the definition of the KronJob resource."""

from __future__ import annotations

from argparse import Namespace

from kron.console.parser import Parser
from kron.console.terminal import Terminal

DESCRIPTION = """\
Print the CustomResourceDefinition of this version of Kron, as JSON, for `kubectl apply`.
--force-conflicts also updates one that `kubectl apply -k` or Helm has applied."""
EXAMPLES = (
    (
        "kron-operator crd | kubectl apply --server-side --force-conflicts -f -",
        "install or update it",
    ),
)


def add_arguments(_: Parser) -> None:
    """The arguments of the command."""


def run(_: Namespace, terminal: Terminal) -> int:
    from kron.kube.resource.schema.definition import definition

    terminal.print_json(definition())
    return 0
