"""`krontab list`: all jobs with their next run."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from fnmatch import fnmatchcase

from kron.answers.bounds import bounds_of
from kron.answers.listing import IN, NEXT_RUN, next_cells, next_fields, next_first
from kron.answers.subject import defaults_document, hooks_document
from kron.console.parser import Parser, add_at, add_format, moment_s
from kron.console.questions import add_sorting, next_runs
from kron.console.terminal import Terminal
from kron.core.decision import Decision
from kron.core.instant import to_text
from kron.jobs.entry import Entry
from kron.krontab.jobs import add_source, load_configuration

DESCRIPTION = """\
List all jobs with their next run. A suspended job has none, and neither has a job with @reboot, or
one whose constraints reject its next 20,000 periods."""
EXAMPLES = (
    ("krontab list", "all jobs, the next one first"),
    ("krontab list --sort name --name 'backup/*'", "the jobs below backup/, by name"),
    ("krontab list --user www-data --format json", "what runs as www-data, for a script"),
)


Listed = tuple[Entry, Decision | None]
"""A job and its next run, if it has one."""

_ORDERS: dict[str, Callable[[Listed], tuple[object, ...]]] = {
    "next": lambda listed: (next_first(listed[1]), listed[0].name),
    "name": lambda listed: (listed[0].name, listed[0].path),
    "file": lambda listed: (listed[0].path, listed[0].line),
}


def add_arguments(parser: Parser) -> None:
    add_sorting(parser, tuple(_ORDERS))
    parser.add_argument(
        "--name", metavar="PATTERN", help="only jobs whose name matches, with * and ? as in a shell"
    )
    parser.add_argument("--user", metavar="USER", help="only jobs that run as this user")
    add_at(parser, "the moment to look ahead from")
    add_format(parser, names="one name a line")
    add_source(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    configuration = load_configuration(arguments, terminal).checked()
    at_s = moment_s(arguments)
    chosen = [entry for entry in configuration.entries if _is_wanted(entry, arguments)]
    if arguments.format == "names":
        terminal.print(*sorted({entry.name for entry in chosen}))
        return 0
    decisions = next_runs([entry.job for entry in chosen], at_s, terminal)
    listed = list(zip(chosen, decisions, strict=True))
    listed.sort(key=_ORDERS[arguments.sort], reverse=arguments.reverse)
    if arguments.format == "json":
        jobs = [_job(*each) for each in listed]
        terminal.print_json({"schema": "krontab.list/1", "at": to_text(at_s), "jobs": jobs})
        return 0
    if not listed:
        what = "no job matches" if configuration.documents else "no jobs found"
        terminal.error(f"{what}; krontab add creates one, --file names other files")
        return 0
    more = [column for column, shown in _MORE.items() if any(map(shown, chosen))]
    head = ("NAME", NEXT_RUN, IN, "SCHEDULE", "FILE", *more)
    rows = []
    for entry, decision in listed:
        cells = next_cells(entry.job, decision, at_s)
        where = [f"{entry.path}:{entry.line}", *(_MORE[column](entry) for column in more)]
        rows.append((entry.name, *cells, entry.schedule_text, *where))
    styles = {"NAME": "bold", "FILE": "dim", **dict.fromkeys(more, "dim")}
    terminal.print(*terminal.table(head, rows, right=(IN,), styles=styles))
    return 0


def _is_wanted(entry: Entry, arguments: Namespace) -> bool:
    by_name = arguments.name is None or fnmatchcase(entry.name, arguments.name)
    return by_name and (arguments.user is None or entry.task.user == arguments.user)


def _defaults(entry: Entry) -> str:
    """What a job has from the defaults line of its file, and where that is."""
    if entry.defaults is None:
        return ""
    return f"line {entry.defaults.line}: {' '.join(entry.defaults.parts)}".rstrip(": ")


_MORE: dict[str, Callable[[Entry], str]] = {
    "SLOTS": lambda entry: ",".join(entry.task.slots),
    "RETRIES": lambda entry: bounds_of(entry).retries_text,
    "LIMITS": lambda entry: bounds_of(entry).cgroup_text,
    "DEFAULTS": _defaults,
}
"""Columns that a table has if one of its jobs has something to show there."""


def _job(entry: Entry, decision: Decision | None) -> dict[str, object]:
    return {
        "name": entry.name,
        "identity": entry.identity,
        "path": entry.path,
        "line": entry.line,
        "defaults": defaults_document(entry.path, entry.defaults),
        "schedule": entry.schedule_text,
        "timezone": entry.schedule.zone.key,
        "command": entry.task.command,
        "user": entry.task.user or None,
        "description": entry.description,
        "slots": entry.task.slots,
        "hooks": hooks_document(entry.task.hooks),
        **bounds_of(entry).document(),
        "suspended": entry.schedule.policy.suspend,
        "at_boot": entry.schedule.is_at_boot,
        **next_fields(decision),
    }
