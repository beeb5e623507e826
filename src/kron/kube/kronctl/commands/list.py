"""`kronctl list`: KronJobs with their next run."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from contextlib import suppress
from fnmatch import fnmatchcase

from kron.answers.listing import IN, NEXT_RUN, next_cells, next_fields, next_first
from kron.console.parser import Parser, add_at, add_format, moment_s
from kron.console.questions import add_sorting, next_runs
from kron.console.table import table
from kron.console.terminal import Terminal
from kron.core.decision import Decision
from kron.core.frozen import Frozen
from kron.core.instant import to_text
from kron.kube.api_object import Object, member
from kron.kube.client.resources import KRONJOBS
from kron.kube.kronctl.cluster import check_source, find_all, reach
from kron.kube.kronctl.kronjobs import (
    FoundKronJob,
    add_source,
    note_namespace,
    read_files,
)
from kron.kube.resource.kronjob import read_kronjob
from kron.kube.resource.problem import InvalidSpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kron.kube.client.client import Client

DESCRIPTION = """\
List KronJobs with their next run, how the last period ended and how many of their Jobs are active.
A suspended KronJob has no next run, and neither has one whose constraints reject its next twenty
thousand periods. KronJobs of the cluster with an invalid spec are listed as invalid; manifests with
errors are refused, as by `kronctl validate`."""
EXAMPLES = (
    ("kronctl list -A", "the KronJobs of all namespaces, the next run first"),
    ("kronctl list -n prod -l team=data --sort name", "some KronJobs of one namespace, by name"),
    ("kronctl list -f manifests/", "the KronJobs of manifests, without a cluster"),
)


class ListedKronJob(Frozen):
    """A KronJob, valid or not, and its next run if it has one."""

    content: Object
    found: FoundKronJob | None
    decision: Decision | None = None

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.content["metadata"]["name"])

    @property
    def identity(self) -> str:
        """Its namespace and name."""
        return f"{self.content['metadata']['namespace']}/{self.name}"

    def status(self, key: str) -> Any:
        """A field of its status."""
        return member(self.content, "status").get(key)

    @property
    def active(self) -> int:
        """How many of its Jobs have not finished."""
        active = self.status("active")
        return len(active) if isinstance(active, list) else 0


_ORDERS: dict[str, Callable[[ListedKronJob], tuple[object, ...]]] = {
    "next": lambda listed: (next_first(listed.decision), listed.identity),
    "name": lambda listed: (listed.identity,),
}


def add_arguments(parser: Parser) -> None:
    add_sorting(parser, tuple(_ORDERS))
    parser.add_argument(
        "--name", metavar="PATTERN", help="only names that match, with * and ? as in a shell"
    )
    parser.add_argument(
        "-l", "--selector", default="", metavar="LABELS", help="only KronJobs with these labels"
    )
    add_at(parser, "the moment to look ahead from")
    add_format(parser, names="one NAMESPACE/NAME a line")
    add_source(parser, all_namespaces=True)


def run(arguments: Namespace, terminal: Terminal) -> int:
    check_source(arguments)
    at_s = moment_s(arguments)
    known = _of_files(arguments, terminal) if arguments.file else _of_cluster(arguments)
    wanted = arguments.name or "*"
    listed = [each for each in known if fnmatchcase(each.name, wanted)]
    if arguments.format == "names":
        terminal.print(*sorted(each.identity for each in listed))
        return 0
    listed = _with_runs(listed, at_s, terminal)
    listed.sort(key=_ORDERS[arguments.sort], reverse=arguments.reverse)
    if arguments.format == "json":
        terminal.print_json(
            {
                "schema": "kronctl.list/1",
                "at": to_text(at_s),
                "kronjobs": [_document(each) for each in listed],
            }
        )
        return 0
    _print(listed, at_s, terminal, is_file=bool(arguments.file))
    return 0


def _with_runs(listed: list[ListedKronJob], at_s: int, terminal: Terminal) -> list[ListedKronJob]:
    """The same with their next runs. In files, two may have the same name."""
    valid = [each.found.kronjob.job for each in listed if each.found is not None]
    runs = iter(list(next_runs(valid, at_s, terminal)))
    return [each if each.found is None else each.replace(decision=next(runs)) for each in listed]


def _of_files(arguments: Namespace, terminal: Terminal) -> list[ListedKronJob]:
    known = read_files(arguments.file, arguments.namespace)
    note_namespace(known, terminal)
    return [ListedKronJob(found.content, found) for found in known]


def _of_cluster(arguments: Namespace) -> list[ListedKronJob]:
    async def ask(client: Client, namespace: str) -> list[Object]:
        within = None if arguments.all_namespaces else namespace
        return await find_all(client, KRONJOBS, within, arguments.selector)

    return list(map(_listed, reach(arguments, ask)))


def _listed(content: Object) -> ListedKronJob:
    found = None
    with suppress(InvalidSpec):  # it is listed as invalid
        found = FoundKronJob(read_kronjob(content), content)
    return ListedKronJob(content, found)


def _print(listed: list[ListedKronJob], at_s: int, terminal: Terminal, *, is_file: bool) -> None:
    if not listed:
        terminal.error("no KronJobs were found; -A looks in all namespaces, -f in files")
        return
    others = ("SCHEDULE", "FILE") if is_file else ("LAST", "ACTIVE", "SCHEDULE")
    head = ("NAME", NEXT_RUN, IN, *others)
    rows = [_row(each, at_s, is_file=is_file) for each in listed]
    styles = {"NAME": "bold", "FILE": "dim"}
    terminal.print(*table(terminal, head, rows, right=(IN, "ACTIVE"), styles=styles))
    if any(each.found is None for each in listed):
        terminal.error("note: kubectl describe kronjob NAME shows why one is invalid")


def _row(listed: ListedKronJob, at_s: int, *, is_file: bool) -> tuple[str, ...]:
    found = listed.found
    if found is None:
        text = str(member(listed.content, "spec").get("schedule", ""))
        cells = ("invalid", "")
    else:
        text = found.kronjob.schedule_text
        cells = next_cells(found.kronjob.job, listed.decision, at_s)
    if is_file:
        assert found is not None
        return listed.identity, *cells, text, f"{found.path}:{found.line}"
    return listed.identity, *cells, listed.status("lastOutcome") or "", str(listed.active), text


def _document(listed: ListedKronJob) -> Object:
    found = listed.found
    return {
        "namespace": listed.content["metadata"]["namespace"],
        "name": listed.name,
        "identity": listed.identity,
        "path": (found and found.path) or None,
        "line": (found and found.line) or None,
        "valid": found is not None,
        "schedule": None if found is None else found.kronjob.schedule_text,
        "timezone": None if found is None else found.kronjob.schedule.zone.key,
        "suspended": found is not None and found.kronjob.schedule.policy.suspend,
        "last_period": listed.status("lastPeriodID"),
        "last_outcome": listed.status("lastOutcome"),
        "active": listed.active,
        **next_fields(listed.decision),
    }
