"""`krontab diff`: how chosen times change between two versions of a configuration."""

from __future__ import annotations

import os
from argparse import Namespace

from kron.console.parser import Parser, add_at, add_format, add_insecure_config, add_node_id
from kron.console.questions import add_comparison_options, show_comparison
from kron.console.terminal import Terminal
from kron.core.errors import Code, KronError
from kron.engine.job import Job
from kron.jobs.configuration import load
from kron.jobs.identity import find_node, identity_of
from kron.jobs.source import own_access
from kron.krontab.jobs import schedule_as

DESCRIPTION = """\
Show how the chosen times of all jobs would change if configuration B replaced A: which runs are
added, removed or moved in the coming days. A and B are files or directories. Jobs are compared by
file and name, and B is read as if it had the path of A, because a job's identity, and so its times,
depend on its path."""
EXAMPLES = (
    ("krontab diff /etc/krond.d ./krond.d", "what would deploying ./krond.d change?"),
    ("krontab diff old.kron new.kron --days 30 --format json", "a month of changes, for a script"),
    ("krontab diff old.kron new.kron --exit-code", "exit 1 if any run changes, for CI"),
)


def add_arguments(parser: Parser) -> None:
    parser.add_argument("before", metavar="A", help="the old configuration")
    parser.add_argument("after", metavar="B", help="the new configuration")
    add_comparison_options(parser)
    parser.add_argument("--exit-code", action="store_true", help="exit 1 if a run differs")
    add_at(parser, "the moment to look ahead from")
    add_format(parser)
    add_insecure_config(parser)
    add_node_id(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    node = find_node(arguments.node_id)
    root = os.path.abspath(arguments.before)  # noqa: PTH100
    before = _jobs(arguments.before, root, node, arguments)
    after = _jobs(arguments.after, root, node, arguments)
    differs = show_comparison(before, after, arguments, terminal, schema="krontab.diff/1")
    return int(differs and arguments.exit_code)


def _jobs(path: str, root: str, node: str, arguments: Namespace) -> dict[str, Job]:
    """The jobs below `path` by file and name, with the identities they would have below `root`."""
    own = os.path.abspath(path)  # noqa: PTH100
    access = own_access(insecure=arguments.allow_insecure_config)
    configuration = load([own], access).replace(is_whole=False).checked()
    if os.path.isdir(own) != os.path.isdir(root):  # noqa: PTH112
        message = f"{path} and {arguments.before} are not both files or both directories"
        raise KronError(Code.FILE_KIND, message)
    jobs: dict[str, Job] = {}
    for entry in configuration.entries:
        file = "" if entry.path == own else os.path.relpath(entry.path, own)
        place = os.path.join(root, file) if file else root  # noqa: PTH118
        identity = identity_of(place, entry.name, node)
        key = f"{file}:{entry.name}" if file else entry.name
        jobs[key] = Job(identity, schedule_as(identity, entry))
    return jobs
