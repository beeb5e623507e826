"""`kronctl list`: KronJobs with their next run."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from fnmatch import fnmatchcase

from kron.answers.listing import IN, NEXT_RUN, next_cells, next_fields, next_first
from kron.console.parser import Parser, add_at, add_format, moment_s
from kron.console.questions import add_sorting, next_runs
from kron.console.terminal import Terminal
from kron.core.decision import Decision
from kron.core.errors import visible
from kron.core.frozen import Frozen
from kron.core.instant import optional_text, to_text
from kron.kube.api_object import Object, integer, member, text
from kron.kube.client.resources import KRONJOBS
from kron.kube.kronctl.cluster import check_source, find_all
from kron.kube.kronctl.kronjobs import add_source, note_namespace, read_files
from kron.kube.resource.kronjob import InvalidSpec, KronJob, read_stored
from kron.kube.resource.results import RunResults, results_from_json

DESCRIPTION = """\
List KronJobs with their next run, how the last period ended, how the last Job that finished did,
and how many of their Jobs are active.
A suspended KronJob has no next run, and neither has one whose constraints reject its next twenty
thousand periods. KronJobs of the cluster with an invalid spec are listed as invalid; manifests with
errors are refused, as by `kronctl validate`."""
EXAMPLES = (
    ("kronctl list -A", "the KronJobs of all namespaces, the next run first"),
    ("kronctl list -n prod -l team=data --sort name", "some KronJobs of one namespace, by name"),
    ("kronctl list -f manifests/", "the KronJobs of manifests, without a cluster"),
)


class ListedKronJob(Frozen):
    """A KronJob, its file if it has one, and its next run if it has one."""

    content: Object
    kronjob: KronJob | None = None
    """None if it is invalid."""
    path: str = ""
    line: int = 0
    decision: Decision | None = None

    @property
    def name(self) -> str:
        return str(self.content["metadata"]["name"])

    @property
    def identity(self) -> str:
        return f"{self.content['metadata']['namespace']}/{self.name}"

    @property
    def status(self) -> Object:
        return member(self.content, "status")

    @property
    def active(self) -> int:
        active = self.status.get("active")
        return integer(self.status, "activeCount", len(active) if isinstance(active, list) else 0)

    @property
    def results(self) -> RunResults:
        return results_from_json(self.status)


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
    if arguments.file:
        known = _of_files(arguments, terminal)
    else:
        known = list(map(_of_cluster, find_all(arguments, KRONJOBS)))
    listed = [each for each in known if fnmatchcase(each.name, arguments.name or "*")]
    if arguments.format == "names":
        terminal.print(*sorted(each.identity for each in listed))
        return 0
    listed = _with_runs(listed, at_s, terminal)
    listed.sort(key=_ORDERS[arguments.sort], reverse=arguments.reverse)
    if arguments.format == "json":
        shown = list(map(_document, listed))
        terminal.print_json({"schema": "kronctl.list/1", "at": to_text(at_s), "kronjobs": shown})
    else:
        _print(listed, at_s, terminal, is_file=bool(arguments.file))
    return 0


def _with_runs(listed: list[ListedKronJob], at_s: int, terminal: Terminal) -> list[ListedKronJob]:
    """The same with their next runs. In files, two may have the same name."""
    valid = [each.kronjob.job for each in listed if each.kronjob is not None]
    runs = iter(list(next_runs(valid, at_s, terminal)))
    return [each if each.kronjob is None else each.replace(decision=next(runs)) for each in listed]


def _of_files(arguments: Namespace, terminal: Terminal) -> list[ListedKronJob]:
    known = read_files(arguments.file, arguments.namespace)
    note_namespace(known, terminal)
    return [ListedKronJob(each.content, each.kronjob, each.path, each.line) for each in known]


def _of_cluster(content: Object) -> ListedKronJob:
    try:
        return ListedKronJob(content, read_stored(content))
    except InvalidSpec:
        return ListedKronJob(content)


def _print(listed: list[ListedKronJob], at_s: int, terminal: Terminal, *, is_file: bool) -> None:
    if not listed:
        terminal.error("no KronJobs were found; -A looks in all namespaces, -f in files")
        return
    others = ("SCHEDULE", "FILE") if is_file else ("LAST", "LAST RESULT", "ACTIVE", "SCHEDULE")
    head = ("NAME", NEXT_RUN, IN, *others)
    rows = [_row(each, at_s, is_file=is_file) for each in listed]
    styles = {"NAME": "bold", "FILE": "dim"}
    terminal.print(*terminal.table(head, rows, right=(IN, "ACTIVE"), styles=styles))
    if any(each.kronjob is None for each in listed):
        terminal.error("note: kubectl describe kronjob NAME shows why one is invalid")


def _row(listed: ListedKronJob, at_s: int, *, is_file: bool) -> tuple[str, ...]:
    if listed.kronjob is None:
        schedule = visible(text(member(listed.content, "spec"), "schedule"))
        cells = ("invalid", "")
    else:
        schedule = listed.kronjob.schedule_text
        cells = next_cells(listed.kronjob.job, listed.decision, at_s)
    if is_file:
        return listed.identity, *cells, schedule, f"{listed.path}:{listed.line}"
    last = visible(text(listed.status, "lastOutcome"))
    result = _last_result(listed.results) or ""
    return listed.identity, *cells, last, result, str(listed.active), schedule


def _last_result(results: RunResults) -> str | None:
    return results.recent[0].word if results.recent else None


def _document(listed: ListedKronJob) -> Object:
    kronjob, results = listed.kronjob, listed.results
    return {
        "namespace": listed.content["metadata"]["namespace"],
        "name": listed.name,
        "identity": listed.identity,
        "path": listed.path or None,
        "line": listed.line or None,
        "valid": kronjob is not None,
        "schedule": kronjob and kronjob.schedule_text,
        "timezone": kronjob and kronjob.schedule.zone.key,
        "suspended": kronjob is not None and kronjob.schedule.policy.suspend,
        "last_period": text(listed.status, "lastPeriodID") or None,
        "last_outcome": text(listed.status, "lastOutcome") or None,
        "last_result": _last_result(results),
        "last_success": optional_text(results.last_success_s),
        "last_failure": optional_text(results.last_failure_s),
        "active": listed.active,
        **next_fields(listed.decision),
    }
