"""`krontab fuzzy parse`: what a fuzzy schedule means."""

from __future__ import annotations

from kron.console.parser import Parser, add_format
from kron.console.terminal import Terminal
from kron.fuzzy import Expression, parse
from kron.krontab.fuzzy import print_warnings, warning_documents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

DESCRIPTION = """\
Read a fuzzy schedule and print the placeholder that it stands for. An identifier turns that into a
cron expression: see krontab fuzzy scatter. Warnings go to standard error."""
EXAMPLES = (
    ("krontab fuzzy parse 'daily around 14:00 utc+9'", "FUZZY:DAILY_AROUND:5:0 * * *"),
    ("krontab fuzzy parse 'weekly on monday' --format json", "for a script"),
)


def add_arguments(parser: Parser) -> None:
    """The arguments of the command."""
    parser.add_argument("expression", metavar="EXPR", help="a fuzzy schedule, as one word")
    add_format(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Run the command."""
    expression: Expression = parse(arguments.expression)
    if arguments.format == "json":
        terminal.print_json(
            {
                "schema": "krontab.fuzzy.parse/1",
                "expression": arguments.expression,
                "placeholder": expression.placeholder,
                "warnings": warning_documents(expression.warnings),
            }
        )
        return 0
    terminal.print(expression.placeholder)
    print_warnings(expression.warnings, terminal)
    return 0
