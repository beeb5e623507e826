"""`krontab diff`: what changes in chosen times between two versions of a configuration."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import takewhile

from kron.console.parser import Parser, add_at, add_format, number_up_to
from kron.console.progress import Progress
from kron.console.terminal import Terminal
from kron.console.times import distance
from kron.core.decision import Decision
from kron.core.errors import Code, KronError
from kron.core.frozen import Frozen
from kron.core.instant import DAY_S, to_seconds, to_text
from kron.engine.agenda import agenda
from kron.engine.job import Job
from kron.engine.survey import due_s
from kron.jobs.configuration import Configuration, load
from kron.jobs.entry import Entry, read_schedule
from kron.jobs.identity import Node
from kron.jobs.source import own_access
from kron.krontab.jobs import moment_of, node_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

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
_SHOWN_RUNS = 5


class JobChange(Frozen):
    """The runs of one job that differ; a run that only one side has lacks the other's decision."""

    key: str
    kind: str
    runs: tuple[tuple[Decision | None, Decision | None], ...]
    same: int


def add_arguments(parser: Parser) -> None:
    """The arguments of the command."""
    parser.add_argument("before", metavar="A", help="the configuration as it is")
    parser.add_argument("after", metavar="B", help="the configuration as it shall be")
    parser.add_argument(
        "--days",
        type=number_up_to(366),
        default=7,
        metavar="N",
        help="how far to look ahead; default: 7",
    )
    parser.add_argument("--exit-code", action="store_true", help="exit 1 if a run differs")
    parser.add_argument(
        "--all", action="store_true", help=f"show every run, not {_SHOWN_RUNS} a job"
    )
    add_at(parser, "the moment to look ahead from")
    add_format(parser)
    parser.add_argument(
        "--allow-insecure-config", action="store_true", help="also read files that krond refuses"
    )
    parser.add_argument("--node-id", metavar="ID", help="the host's part in identities")


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Run the command."""
    at_s = to_seconds(moment_of(arguments))
    until_s = at_s + arguments.days * DAY_S
    node = node_of(arguments)
    root = os.path.abspath(arguments.before)  # noqa: PTH100
    before = _jobs(arguments.before, root, node, arguments)
    after = _jobs(arguments.after, root, node, arguments)
    keys = sorted(before.keys() | after.keys())
    changes = []
    same = 0
    with Progress(terminal, "comparing", len(keys)) as progress:
        for key in keys:
            change = _compare(key, before.get(key), after.get(key), at_s, until_s)
            same += change.same
            if change.kind != "same":
                changes.append(change)
            progress.advance()
    if arguments.format == "json":
        terminal.print_json(_document(changes, same, at_s, until_s))
    else:
        most = None if arguments.all else _SHOWN_RUNS
        for line in _lines(changes, same, arguments.days, most, terminal):
            terminal.print(line)
    return int(bool(changes) and arguments.exit_code)


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


def _compare(key: str, before: Job | None, after: Job | None, at_s: int, until_s: int) -> JobChange:
    if before is not None and before == after:
        return JobChange(key, "same", (), 1)
    old, new = (_runs(job, at_s, until_s) for job in (before, after))
    differing = [
        (old.get(nominal_s), new.get(nominal_s))
        for nominal_s in sorted(old.keys() | new.keys())
        if _chosen(old.get(nominal_s)) != _chosen(new.get(nominal_s))
    ]
    kind = "removed" if after is None else "added" if before is None else "changed"
    if kind == "changed" and not differing:
        kind = "same"
    return JobChange(key, kind, tuple(differing), int(kind == "same"))


def _runs(job: Job | None, at_s: int, until_s: int) -> dict[int, Decision]:
    if job is None or job.schedule.policy.suspend:
        return {}
    coming = takewhile(lambda decision: due_s(decision) < until_s, agenda(job, at_s))
    return {decision.nominal_s: decision for decision in coming}


def _chosen(decision: Decision | None) -> int | None:
    return None if decision is None else decision.chosen_s


def _lines(
    changes: list[JobChange], same: int, days: int, most: int | None, terminal: Terminal
) -> Iterator[str]:
    styles = {"added": "green", "removed": "red", "changed": "yellow"}
    for change in changes:
        count = len(change.runs)
        runs = f"{count:,} run{'s' if count != 1 else ''}"
        yield f"{terminal.styled(f'{change.kind:8}', styles[change.kind])}{change.key}  ({runs})"
        for old, new in change.runs[:most]:
            yield f"  {_run(old, new)}"
        if most is not None and count > most:
            yield f"  ... and {count - most:,} more (--all shows them)"
    span = "day" if days == 1 else f"{days} days"
    jobs = "1 job differs" if len(changes) == 1 else f"{len(changes)} jobs differ"
    yield f"{jobs} in the next {span}, {same} {'does' if same == 1 else 'do'} not"


def _run(old: Decision | None, new: Decision | None) -> str:
    period = (old or new or _nothing()).period_id
    old_s, new_s = _chosen(old), _chosen(new)
    if old_s is not None and new_s is not None:
        sign = "+" if new_s > old_s else ""
        moved = f"{sign}{distance(new_s - old_s)}"
        return f"{period}: {to_text(old_s)} -> {to_text(new_s)} ({moved})"
    if new_s is not None:
        return f"{period}: now at {to_text(new_s)}"
    return f"{period}: no longer at {to_text(old_s or 0)}"


def _nothing() -> Decision:
    raise AssertionError("a run that differs is on one side at least")


def _document(changes: list[JobChange], same: int, at_s: int, until_s: int) -> dict[str, Any]:
    def text(decision: Decision | None) -> str | None:
        chosen_s = _chosen(decision)
        return None if chosen_s is None else to_text(chosen_s)

    return {
        "schema": "krontab.diff/1",
        "at": to_text(at_s),
        "until": to_text(until_s),
        "same": same,
        "jobs": [
            {
                "job": change.key,
                "change": change.kind,
                "runs": [
                    {
                        "period": (old or new or _nothing()).period_id,
                        "before": text(old),
                        "after": text(new),
                    }
                    for old, new in change.runs
                ],
            }
            for change in changes
        ],
    }
