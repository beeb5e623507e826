"""`kronctl diff`: what an edit changes in chosen times."""

from __future__ import annotations

from argparse import Namespace
from contextlib import suppress

from kron.console.parser import Parser, UsageError, add_at, add_format
from kron.console.questions import add_comparison_options, show_comparison
from kron.console.terminal import Terminal
from kron.core.errors import Code, KronError, quoted
from kron.engine.job import Job
from kron.jobs.source import STANDARD_INPUT
from kron.kube.api_object import Object
from kron.kube.client.resources import KRONJOBS
from kron.kube.kronctl.cluster import access_of, check_source, reach
from kron.kube.kronctl.kronjobs import FoundKronJob, add_source, note_files, read_files
from kron.kube.kronctl.lookup import find
from kron.kube.resource.kronjob import InvalidSpec, read_kronjob

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kron.kube.client.client import Client

DESCRIPTION = """\
Show which runs are added, removed or moved in the coming days. With -f, the manifests are compared
with the cluster as if they were applied; KronJobs that are only in the cluster do not change. With
A and B, two files or directories are compared, without a cluster.

Exit codes are those of `kubectl diff`: 0 if no run differs, 1 if any does, 2 for every error."""
EXAMPLES = (
    ("kronctl diff -f backup.yaml", "what would applying it change?"),
    ("kronctl diff old/ new/ --days 30", "a month of changes between two directories"),
    ("kronctl diff -f manifests/ > /dev/null || echo changed", "by its exit code, for CI"),
)
FAILURE = 2


def add_arguments(parser: Parser) -> None:
    parser.intermixed = "paths"
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="*",
        help="A and B: manifests before and after the change",
    )
    add_comparison_options(parser)
    add_at(parser, "the moment to look ahead from")
    add_format(parser)
    add_source(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    before, after = _sides(arguments, terminal)
    return int(show_comparison(before, after, arguments, terminal, schema="kronctl.diff/1"))


def _sides(arguments: Namespace, terminal: Terminal) -> tuple[dict[str, Job], dict[str, Job]]:
    paths = arguments.paths
    if arguments.file and not paths:
        namespace = arguments.namespace or access_of(arguments).namespace
        found = read_files(arguments.file, namespace)
        note_files(found, terminal)
        after = _jobs(found)
        return _in_cluster(arguments, found), after
    if len(paths) == 2 and not arguments.file:
        check_source(arguments)
        if paths == [STANDARD_INPUT, STANDARD_INPUT]:
            message = "A and B are both standard input, which can be read only once"
            raise UsageError(Code.FILE_KIND, message, fix="name a file for one of them")
        old, new = (read_files([path], arguments.namespace) for path in paths)
        note_files(new, terminal)
        return _jobs(old), _jobs(new)
    message = "it is unclear what to compare"
    raise UsageError(Code.FILE_MISSING, message, fix="give -f FILE, or two files A and B")


def _jobs(found: list[FoundKronJob]) -> dict[str, Job]:
    """The jobs by name; `KronError` if two have the same name."""
    known: dict[str, FoundKronJob] = {}
    for each in found:
        first = known.setdefault(each.kronjob.identity, each)
        if first is not each:
            places = f"{first.path}:{first.line} and {each.path}:{each.line}"
            message = f"{quoted(each.kronjob.identity)} is defined twice, at {places}"
            raise KronError(Code.NAME_REPEATED, message, "leave one out, or compare file by file")
    return {identity: each.kronjob.job for identity, each in known.items()}


def _in_cluster(arguments: Namespace, found: list[FoundKronJob]) -> dict[str, Job]:
    """The same KronJobs in the cluster, without those that are missing or invalid there."""

    async def ask(client: Client, _: str) -> list[Object | None]:
        return [
            await find(client, KRONJOBS, each.kronjob.namespace, each.kronjob.name)
            for each in found
        ]

    known: dict[str, Job] = {}
    for content in filter(None, reach(arguments, ask)):
        with suppress(InvalidSpec):  # it starts no runs now
            kronjob = read_kronjob(content)
            known[kronjob.identity] = kronjob.job
    return known
