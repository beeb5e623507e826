"""`kron-operator crd`: the definition of the KronJob resource."""

from __future__ import annotations

from kron.console.parser import Parser
from kron.console.terminal import Terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

DESCRIPTION = """\
Print the CustomResourceDefinition of this version of Kron, as JSON, for `kubectl apply`."""
EXAMPLES = (("kron-operator crd | kubectl apply -f -", "install or renew it"),)


def add_arguments(_: Parser) -> None:
    """The arguments of the command."""


def run(_: Namespace, terminal: Terminal) -> int:
    """Run the command."""
    from kron.kube.resource.definition import definition

    terminal.print_json(definition())
    return 0
