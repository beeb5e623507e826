"""`krontab list`: all jobs with their next run."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase

from kron.console.listing import (
    IN,
    NEXT_RUN,
    add_sorting,
    next_cells,
    next_fields,
    next_first,
    next_runs,
)
from kron.console.parser import Parser, add_at, add_format
from kron.console.table import table
from kron.console.terminal import Terminal
from kron.core.decision import Decision
from kron.core.frozen import Frozen
from kron.core.instant import to_seconds, to_text
from kron.jobs.entry import Entry
from kron.krontab.jobs import add_source, load_configuration, moment_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

DESCRIPTION = """\
List all jobs with their next run. A job that is suspended has none, and neither has one whose
constraints reject its next twenty thousand periods."""
EXAMPLES = (
    ("krontab list", "all jobs, the next one first"),
    ("krontab list --sort name --name 'backup/*'", "the jobs below backup/, by name"),
    ("krontab list --user www-data --format json", "what runs as www-data, for a script"),
)


class Listed(Frozen):
    """A job and its next run, if it has one."""

    entry: Entry
    decision: Decision | None


_ORDERS: dict[str, Callable[[Listed], tuple[object, ...]]] = {
    "next": lambda listed: (next_first(listed.decision), listed.entry.name),
    "name": lambda listed: (listed.entry.name, listed.entry.path),
    "file": lambda listed: (listed.entry.path, listed.entry.line),
}


def add_arguments(parser: Parser) -> None:
    """The arguments of the command."""
    add_sorting(parser, tuple(_ORDERS))
    parser.add_argument(
        "--name", metavar="PATTERN", help="only jobs whose name matches, with * and ? as in a shell"
    )
    parser.add_argument("--user", metavar="USER", help="only jobs that run as this user")
    add_at(parser, "the moment to look ahead from")
    add_format(parser, names="one name a line")
    add_source(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Run the command."""
    configuration = load_configuration(arguments, terminal).checked()
    at_s = to_seconds(moment_of(arguments))
    chosen = [entry for entry in configuration.entries if _is_wanted(entry, arguments)]
    if arguments.format == "names":
        for name in sorted({entry.name for entry in chosen}):
            terminal.print(name)
        return 0
    decisions = next_runs([entry.job for entry in chosen], at_s, terminal)
    listed = list(map(Listed, chosen, decisions))
    listed.sort(key=_ORDERS[arguments.sort], reverse=arguments.reverse)
    if arguments.format == "json":
        terminal.print_json(_document(listed, at_s))
        return 0
    if not listed:
        where = "match" if configuration.documents else "are there"
        terminal.error(f"no jobs {where}; krontab add makes one, --file names other files")
        return 0
    head = ("NAME", NEXT_RUN, IN, "SCHEDULE", "FILE")
    rows = [_row(each, at_s) for each in listed]
    styles = {"NAME": "bold", "FILE": "dim"}
    for line in table(terminal, head, rows, right=(IN,), styles=styles):
        terminal.print(line)
    return 0


def _is_wanted(entry: Entry, arguments: Namespace) -> bool:
    by_name = arguments.name is None or fnmatchcase(entry.name, arguments.name)
    return by_name and (arguments.user is None or entry.task.user == arguments.user)


def _row(listed: Listed, at_s: int) -> tuple[str, str, str, str, str]:
    entry = listed.entry
    chosen, distance = next_cells(entry.job, listed.decision, at_s)
    return entry.name, chosen, distance, entry.schedule_text, f"{entry.path}:{entry.line}"


def _document(listed: list[Listed], at_s: int) -> dict[str, Any]:
    return {
        "schema": "krontab.list/1",
        "at": to_text(at_s),
        "jobs": [_job(each) for each in listed],
    }


def _job(listed: Listed) -> dict[str, Any]:
    entry = listed.entry
    return {
        "name": entry.name,
        "identity": entry.identity,
        "path": entry.path,
        "line": entry.line,
        "schedule": entry.schedule_text,
        "timezone": entry.schedule.zone.key,
        "command": entry.task.command,
        "user": entry.task.user or None,
        "description": entry.description,
        "suspended": entry.schedule.policy.suspend,
        **next_fields(listed.decision),
    }
