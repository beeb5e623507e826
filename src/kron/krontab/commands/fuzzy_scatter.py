"""`krontab fuzzy scatter`: the cron expression of a fuzzy schedule for an identifier."""

from __future__ import annotations

from argparse import Namespace

from kron.console.parser import Parser, add_format
from kron.console.terminal import Terminal
from kron.core.parser import parse_schedule
from kron.core.words import describe
from kron.fuzzy import scattered
from kron.krontab.fuzzy import show_result

DESCRIPTION = """\
Turn a fuzzy schedule, or its placeholder, into the cron expression for an identifier. The same
identifier always gets the same expression; different identifiers are spread out."""
EXAMPLES = (
    (
        "krontab fuzzy scatter 'daily between 9:00 and 17:00' --id owner/repo/report.md",
        "one workflow",
    ),
    ("krontab fuzzy scatter 'FUZZY:DAILY * * *' --id owner/repo/report.md", "from a placeholder"),
)


def add_arguments(parser: Parser) -> None:
    parser.add_argument("expression", metavar="EXPR", help="a fuzzy schedule or a placeholder")
    parser.add_argument(
        "--id", required=True, metavar="ID", help="the identifier, such as owner/repo/path.md"
    )
    add_format(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    result = scattered(arguments.expression, arguments.id)
    fields: dict[str, object] = {
        "schema": "krontab.fuzzy.scatter/1",
        "expression": arguments.expression,
        "id": arguments.id,
        "cron": result.cron,
        "meaning": describe(parse_schedule(result.cron)),
    }
    show_result(result.cron, fields, result.warnings, arguments, terminal)
    return 0
