"""`krontab diff`: what changes in chosen times between two versions of a configuration."""

from __future__ import annotations

import os
from collections.abc import Iterator

from kron.console.comparison import (
    add_comparison_options,
    compare,
    comparison_document,
    print_comparison,
)
from kron.console.parser import Parser, add_at, add_format
from kron.console.terminal import Terminal
from kron.core.errors import Code, KronError
from kron.core.instant import to_seconds
from kron.engine.job import Job
from kron.jobs.configuration import Configuration, load
from kron.jobs.entry import Entry, read_schedule
from kron.jobs.identity import Node
from kron.jobs.source import own_access
from kron.krontab.jobs import moment_of, node_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

DESCRIPTION = """\
Show what would change in the chosen times of all jobs if the configuration B took the place of A:
which runs come, go or move in the coming days. A and B are files or directories. Jobs are compared
by file and name, and B is read as if it lay where A lies, because a job's identity, and so its
times, follow from its place."""
EXAMPLES = (
    ("krontab diff /etc/krond.d ./krond.d", "what would deploying ./krond.d change?"),
    ("krontab diff old.kron new.kron --days 30 --format json", "a month of changes, for a script"),
    ("krontab diff old.kron new.kron --exit-code", "exit 1 if any run changes, for CI"),
)


def add_arguments(parser: Parser) -> None:
    """The arguments of the command."""
    parser.add_argument("before", metavar="A", help="the configuration as it is")
    parser.add_argument("after", metavar="B", help="the configuration as it shall be")
    add_comparison_options(parser)
    add_at(parser, "the moment to look ahead from")
    add_format(parser)
    parser.add_argument(
        "--allow-insecure-config", action="store_true", help="also read files that krond refuses"
    )
    parser.add_argument("--node-id", metavar="ID", help="the host's part in identities")


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Run the command."""
    at_s = to_seconds(moment_of(arguments))
    node = node_of(arguments)
    root = os.path.abspath(arguments.before)  # noqa: PTH100
    before = _jobs(arguments.before, root, node, arguments)
    after = _jobs(arguments.after, root, node, arguments)
    comparison = compare(before, after, at_s, arguments.days, terminal)
    if arguments.format == "json":
        terminal.print_json({"schema": "krontab.diff/1", **comparison_document(comparison)})
    else:
        print_comparison(comparison, terminal, every_run=arguments.all)
    return int(bool(comparison.changes) and arguments.exit_code)


def _jobs(path: str, root: str, node: Node, arguments: Namespace) -> dict[str, Job]:
    """The jobs below `path` by file and name, with the identities that they have below `root`."""
    own = os.path.abspath(path)  # noqa: PTH100
    access = own_access(insecure=arguments.allow_insecure_config)
    configuration = load([own], access).checked()
    if os.path.isdir(own) != os.path.isdir(root):  # noqa: PTH112
        message = f"{path} and {arguments.before} are not both files or both directories"
        raise KronError(Code.FILE_KIND, message)
    return dict(_placed(configuration, own, root, node))


def _placed(
    configuration: Configuration, own: str, root: str, node: Node
) -> Iterator[tuple[str, Job]]:
    for entry in configuration.entries:
        file = "" if entry.path == own else os.path.relpath(entry.path, own)
        place = os.path.join(root, file) if file else root  # noqa: PTH118
        yield f"{file}:{entry.name}" if file else entry.name, _job(entry, place, node)


def _job(entry: Entry, place: str, node: Node) -> Job:
    identity = node.identity(place, entry.name)
    if identity == entry.identity:
        return entry.job
    return Job(identity, read_schedule(entry.schedule_text, identity))
