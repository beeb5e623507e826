"""`krontab fuzzy scatter`: the cron expression that an identifier gets."""

from __future__ import annotations

from kron.console.parser import Parser, add_format
from kron.console.terminal import Terminal
from kron.core.parser import parse_schedule
from kron.core.words import describe
from kron.fuzzy import scattered
from kron.krontab.fuzzy import print_warnings, warning_documents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

DESCRIPTION = """\
Turn a fuzzy schedule, or its placeholder, into the cron expression that an identifier gets. The
same identifier always gets the same one; different identifiers are spread out."""
EXAMPLES = (
    (
        "krontab fuzzy scatter 'daily between 9:00 and 17:00' --id owner/repo/report.md",
        "one workflow",
    ),
    ("krontab fuzzy scatter 'FUZZY:DAILY * * *' --id owner/repo/report.md", "from a placeholder"),
)


def add_arguments(parser: Parser) -> None:
    """The arguments of the command."""
    parser.add_argument("expression", metavar="EXPR", help="a fuzzy schedule or a placeholder")
    parser.add_argument(
        "--id", required=True, metavar="ID", help="who gets the time, such as owner/repo/path.md"
    )
    add_format(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Run the command."""
    result = scattered(arguments.expression, arguments.id)
    if arguments.format == "json":
        terminal.print_json(
            {
                "schema": "krontab.fuzzy.scatter/1",
                "expression": arguments.expression,
                "id": arguments.id,
                "cron": result.cron,
                "meaning": describe(parse_schedule(result.cron)),
                "warnings": warning_documents(result.warnings),
            }
        )
        return 0
    terminal.print(result.cron)
    print_warnings(result.warnings, terminal)
    return 0
