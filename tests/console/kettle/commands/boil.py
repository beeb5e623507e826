"""`kettle boil`: it fails in the way that it is asked to."""

from __future__ import annotations

from argparse import Namespace

from kron.console.parser import Parser, UsageError, add_insecure_config, add_node_id, number_up_to
from kron.console.terminal import Terminal
from kron.core.errors import Code, KronError
from kron.jobs.configuration import ConfigurationError
from kron.jobs.document import read_document

DESCRIPTION = "Boil water."
EXAMPLES = (("kettle boil --cups 2", "for two"),)


def add_arguments(parser: Parser) -> None:
    parser.add_argument("job", metavar="JOB", nargs="?", help="whose tea it is")
    parser.add_argument("--cups", type=number_up_to(4), metavar="N", help="how many")
    parser.add_argument("--raise", dest="how", choices=tuple(_ERRORS), help="fail like this")
    add_insecure_config(parser)
    add_node_id(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    if arguments.how:
        raise _ERRORS[arguments.how]
    terminal.print(f"{terminal.styled('hot', 'red')} {arguments.node_id or ''}".rstrip())
    return 0


_ERRORS = {
    "state": KronError(Code.STATE, "the kettle is empty", fix="fill it"),
    "running": KronError(Code.RUNNING, "it boils already"),
    "usage": UsageError(Code.STATE, "hot and cold are two answers to one question"),
    "configuration": ConfigurationError(
        read_document(b"0 25 * * * name=x command=y\n", "/etc/kettle").findings, 3
    ),
    "system": OSError(5, "no power", "/dev/socket"),
    "interrupt": KeyboardInterrupt(),
}
