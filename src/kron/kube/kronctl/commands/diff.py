"""`kronctl diff`: what an edit changes in chosen times."""

from __future__ import annotations

from kron.console.comparison import (
    add_comparison_options,
    compare,
    comparison_document,
    print_comparison,
)
from kron.console.parser import Parser, add_at, add_format
from kron.console.terminal import Terminal
from kron.console.usage import UsageError
from kron.core.errors import Code, KronError, quoted
from kron.engine.job import Job
from kron.jobs.source import STANDARD_INPUT
from kron.kube.kronctl.cluster import check_source, context_namespace, reach
from kron.kube.kronctl.kronjobs import Found, add_source, read_files
from kron.kube.kronctl.moment import moment_s
from kron.kube.resource.kronjob import read_kronjob
from kron.kube.resource.problem import InvalidSpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

    from kron.kube.client.client import Client

DESCRIPTION = """\
Show what would change in chosen times: which runs come, go or move in the coming days. With -f, the
manifests are compared with the cluster, as if they were applied: what is in the cluster only stays
as it is. With A and B, two files or directories are compared, without a cluster."""
EXAMPLES = (
    ("kronctl diff -f backup.yaml", "what would applying it change?"),
    ("kronctl diff old/ new/ --days 30", "a month of changes between two directories"),
    ("kronctl diff -f manifests/ --exit-code", "exit 1 if any run changes, for CI"),
)


def add_arguments(parser: Parser) -> None:
    """The arguments of the command."""
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="*",
        help="A and B: manifests as they are and will be",
    )
    add_comparison_options(parser)
    add_at(parser, "the moment to look ahead from")
    add_format(parser)
    add_source(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Run the command."""
    before, after = _sides(arguments)
    comparison = compare(before, after, moment_s(arguments), arguments.days, terminal)
    if arguments.format == "json":
        terminal.print_json({"schema": "kronctl.diff/1", **comparison_document(comparison)})
    else:
        print_comparison(comparison, terminal, every_run=arguments.all)
    return int(bool(comparison.changes) and arguments.exit_code)


def _sides(arguments: Namespace) -> tuple[dict[str, Job], dict[str, Job]]:
    paths = arguments.paths
    if arguments.file and not paths:
        namespace = arguments.namespace or context_namespace(arguments)
        found = read_files(arguments.file, namespace)
        after = _jobs(found)
        return _in_cluster(arguments, found), after
    if len(paths) == 2 and not arguments.file:
        check_source(arguments)
        if paths == [STANDARD_INPUT, STANDARD_INPUT]:
            message = "standard input can be read once, and is both A and B"
            raise UsageError(Code.FILE_KIND, message, fix="name a file for one of them")
        old, new = (_jobs(read_files([path], arguments.namespace)) for path in paths)
        return old, new
    message = "what to compare is not clear"
    raise UsageError(Code.FILE_MISSING, message, fix="give -f FILE, or two files A and B")


def _jobs(found: list[Found]) -> dict[str, Job]:
    """The jobs by their names; `KronError` if two have the same."""
    known: dict[str, Found] = {}
    for each in found:
        first = known.setdefault(each.kronjob.identity, each)
        if first is not each:
            places = f"{first.path}:{first.line} and {each.path}:{each.line}"
            message = f"{quoted(each.kronjob.identity)} is there twice, at {places}"
            raise KronError(Code.NAME_REPEATED, message, "leave one out, or compare file by file")
    return {identity: each.kronjob.job for identity, each in known.items()}


def _in_cluster(arguments: Namespace, found: list[Found]) -> dict[str, Job]:
    """The same KronJobs as the cluster has them; none for one that it lacks or that is invalid."""
    from kron.kube.client.resources import KRONJOBS
    from kron.kube.kronctl.cluster import find

    async def ask(client: Client, _: str) -> list[dict[str, Any] | None]:
        return [
            await find(client, KRONJOBS, each.kronjob.namespace, each.kronjob.name)
            for each in found
        ]

    known: dict[str, Job] = {}
    for content in reach(arguments, ask):
        try:
            if content is not None:
                kronjob = read_kronjob(content)
                known[kronjob.identity] = kronjob.job
        except InvalidSpec:
            pass  # it runs nothing now
    return known
