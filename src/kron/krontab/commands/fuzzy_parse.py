"""`krontab fuzzy parse`: what a fuzzy schedule means."""

from __future__ import annotations

from argparse import Namespace

from kron.console.parser import Parser, add_format
from kron.console.terminal import Terminal
from kron.fuzzy import parse
from kron.krontab.fuzzy import show_result

DESCRIPTION = """\
Read a fuzzy schedule and print its placeholder. With an identifier, krontab fuzzy scatter turns the
placeholder into a cron expression. Warnings go to standard error."""
EXAMPLES = (
    ("krontab fuzzy parse 'daily around 14:00 utc+9'", "FUZZY:DAILY_AROUND:5:0 * * *"),
    ("krontab fuzzy parse 'weekly on monday' --format json", "for a script"),
)


def add_arguments(parser: Parser) -> None:
    parser.add_argument("expression", metavar="EXPR", help="a fuzzy schedule, as one word")
    add_format(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    expression = parse(arguments.expression)
    fields: dict[str, object] = {
        "schema": "krontab.fuzzy.parse/1",
        "expression": arguments.expression,
        "placeholder": expression.placeholder,
    }
    show_result(expression.placeholder, fields, expression.warnings, arguments, terminal)
    return 0
