"""`kronctl list`: KronJobs with their next run."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

from kron.answers.listing import IN, next_first, next_of
from kron.console.parser import Parser, UsageError, add_at, add_format, moment_s
from kron.console.questions import add_sorting, next_runs
from kron.console.report import many
from kron.console.terminal import Terminal
from kron.core.errors import Code, columns
from kron.core.instant import to_text
from kron.kube.api_object import Object
from kron.kube.client.resources import KRONJOBS
from kron.kube.kronctl.cluster import check_source, reach
from kron.kube.kronctl.kronjobs import add_source, note_files, pick, read_files
from kron.kube.kronctl.listed import ListedKronJob, document, head, of_cluster, row
from kron.kube.kronctl.lookup import find_all, get_all
from kron.kube.kronctl.name import Name, name_of
from kron.kube.kronctl.output import add_output, check_output, print_object, print_objects
from kron.kube.resource.kronjob import KIND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kron.kube.client.client import Client

DESCRIPTION = """\
List KronJobs with their next run, whether they are ready, how the last period ended, how the last
Job that finished did, and how many of their Jobs are active.
A suspended KronJob has no next run, and neither has one whose constraints reject its next twenty
thousand periods. KronJobs of the cluster with an invalid spec are listed as invalid; manifests with
errors are refused, as by `kronctl validate`.

READY is the operator's condition: Unknown if it has not seen the KronJob or its last edit yet.
With -o, whole objects or their names are printed as kubectl does it. --format json prints what this
table shows, for scripts. With --watch, a line follows for each change, until Ctrl-C."""
EXAMPLES = (
    ("kronctl list -A", "the KronJobs of all namespaces, the next run first"),
    ("kronctl list -n prod -l team=data --sort name", "some KronJobs of one namespace, by name"),
    ("kronctl list backup kj/report -o wide", "two of them, with more columns"),
    ("kronctl list -A --watch", "now, and whenever one changes"),
    ("kronctl list backup -o yaml", "the object itself, as kubectl get prints it"),
    ("kronctl list -f manifests/", "the KronJobs of manifests, without a cluster"),
)
_SHOWN_REASONS = 5

_ORDERS: dict[str, Callable[[ListedKronJob], tuple[object, ...]]] = {
    "next": lambda listed: (next_first(listed.decision), listed.identity),
    "name": lambda listed: (listed.identity,),
}


def add_arguments(parser: Parser) -> None:
    parser.intermixed = "names"
    parser.add_argument(
        "names", metavar="JOB", nargs="*", help="only these: NAME, NAMESPACE/NAME or kj/NAME"
    )
    add_sorting(parser, tuple(_ORDERS))
    parser.add_argument(
        "--name", metavar="PATTERN", help="only names that match, with * and ? as in a shell"
    )
    parser.add_argument(
        "-l", "--selector", default="", metavar="LABELS", help="only KronJobs with these labels"
    )
    parser.add_argument(
        "-w", "--watch", action="store_true", help="also print each change, until Ctrl-C"
    )
    add_at(parser, "the moment to look ahead from")
    add_output(parser, "wide", "name", "yaml", "json")
    add_format(parser, names="one NAMESPACE/NAME a line")
    add_source(parser, all_namespaces=True)


def run(arguments: Namespace, terminal: Terminal) -> int:
    check_source(arguments)
    check_output(arguments)
    names = list(map(name_of, arguments.names))
    if arguments.watch:
        return _watch(arguments, names, terminal)
    at_s = moment_s(arguments)
    if arguments.file:
        known = _of_files(arguments, names, terminal)
    else:
        found = get_all(arguments, KRONJOBS, names) if names else find_all(arguments, KRONJOBS)
        known = list(map(of_cluster, found))
    listed = [each for each in known if fnmatchcase(each.name, arguments.name or "*")]
    if arguments.format == "names":
        terminal.print(*sorted(each.identity for each in listed))
        return 0
    listed = _with_runs(listed, at_s, terminal)
    listed.sort(key=_ORDERS[arguments.sort], reverse=arguments.reverse)
    form = arguments.output
    if arguments.format == "json":
        shown = list(map(document, listed))
        terminal.print_json({"schema": "kronctl.list/1", "at": to_text(at_s), "kronjobs": shown})
    elif form in ("yaml", "json", "name"):
        contents = [each.content for each in listed]
        if len(names) == 1 and len(contents) == 1:
            print_object(contents[0], form, KRONJOBS, KIND, terminal)
        else:
            print_objects(contents, form, KRONJOBS, KIND, terminal)
    elif listed:
        _Table(terminal, is_file=bool(arguments.file), is_wide=form == "wide").print(listed, at_s)
    else:
        terminal.error("no KronJobs were found; -A looks in all namespaces, -f in files")
    return 0


def _with_runs(listed: list[ListedKronJob], at_s: int, terminal: Terminal) -> list[ListedKronJob]:
    """The same with their next runs. In files, two may have the same name."""
    valid = [each.kronjob.job for each in listed if each.kronjob is not None]
    runs = iter(list(next_runs(valid, at_s, terminal)))
    return [each if each.kronjob is None else each.replace(decision=next(runs)) for each in listed]


def _of_files(
    arguments: Namespace, names: Sequence[Name], terminal: Terminal
) -> list[ListedKronJob]:
    known = read_files(arguments.file, arguments.namespace)
    if names:
        known = [pick(known, name) for name in names]
    note_files(known, terminal)
    return [ListedKronJob(each.content, each.kronjob, each.path, each.line) for each in known]


class _Table:
    """The table for people. Lines that follow later are as wide as the first ones."""

    def __init__(self, terminal: Terminal, *, is_file: bool = False, is_wide: bool) -> None:
        self._terminal = terminal
        self._is_file = is_file
        self._is_wide = is_wide
        self._head = head(is_file=is_file, is_wide=is_wide)
        self._widest = self._head
        """The longest text of each column so far."""
        self._is_begun = False

    def print(self, listed: Sequence[ListedKronJob], at_s: int) -> None:
        rows = [row(each, at_s, is_file=self._is_file, is_wide=self._is_wide) for each in listed]
        self.print_rows(rows)
        _print_reasons(listed, self._terminal)

    def print_rows(self, rows: Sequence[tuple[str, ...]]) -> None:
        cells = zip(self._widest, *rows, strict=True)
        self._widest = tuple(max(column, key=columns) for column in cells)
        styles = {"NAME": "bold", "FILE": "dim"}
        first, _, *lines = self._terminal.table(
            self._head, [self._widest, *rows], right=(IN, "ACTIVE"), styles=styles
        )
        self._terminal.print(*(() if self._is_begun else (first,)), *lines)
        self._is_begun = True


def _print_reasons(listed: Sequence[ListedKronJob], terminal: Terminal) -> None:
    """Note why some are not ready, since a cell has no room for that."""
    reasons = [(each.identity, each.why_not_ready) for each in listed if each.why_not_ready]
    for identity, why in reasons[:_SHOWN_REASONS]:
        terminal.error(f"note: {identity} is not ready: {why}")
    if len(reasons) > _SHOWN_REASONS:
        more = many(len(reasons) - _SHOWN_REASONS, "other")
        terminal.error(f"note: {more} not ready; kronctl doctor lists them")


class _Changes:
    """Prints the KronJobs of a watch."""

    def __init__(self, arguments: Namespace, terminal: Terminal) -> None:
        self._arguments = arguments
        self._terminal = terminal
        self._is_wide = arguments.output == "wide"
        self._form = "" if self._is_wide else arguments.output or ""
        self._table = _Table(terminal, is_wide=self._is_wide)

    def begin(self, found: Sequence[Object]) -> None:
        at_s = moment_s(self._arguments)
        listed = _with_runs(list(map(of_cluster, found)), at_s, self._terminal)
        listed.sort(key=_ORDERS[self._arguments.sort], reverse=self._arguments.reverse)
        if self._form:
            for each in listed:
                self._print(each.content)
        elif listed:
            self._table.print(listed, at_s)
        else:
            self._terminal.error("no KronJobs were found yet")
        self._terminal.output.flush()

    def change(self, obj: Object, *, is_deleted: bool) -> None:
        if self._form:
            self._print(obj)
        else:
            at_s = moment_s(self._arguments)
            listed = of_cluster(obj)
            if listed.kronjob is not None and not is_deleted:
                listed = listed.replace(decision=next_of(listed.kronjob.job, at_s))
            name, upcoming, until, *rest = row(listed, at_s, is_file=False, is_wide=self._is_wide)
            if is_deleted:
                upcoming, until = "deleted", ""
            self._table.print_rows([(name, upcoming, until, *rest)])
        self._terminal.output.flush()

    def _print(self, obj: Object) -> None:
        print_object(obj, self._form, KRONJOBS, KIND, self._terminal, many=True)


def _watch(arguments: Namespace, names: Sequence[Name], terminal: Terminal) -> int:
    if arguments.format != "text" or arguments.at is not None:
        message = "--watch prints the present, as a table or with -o, so not --at and --format"
        raise UsageError(Code.VALUE_UNKNOWN, message, fix="leave one of them out")
    wanted = {name.name for name in names}

    def is_wanted(obj: Object) -> bool:
        name = obj["metadata"]["name"]
        is_match = fnmatchcase(name, arguments.name or "*")
        return is_match and (not wanted or name in wanted)

    async def ask(client: Client, default: str) -> int:
        from kron.kube.kronctl.watching import watch

        namespaces = {name.namespace or default for name in names} or {default}
        if len(namespaces) > 1:
            message = "--watch looks at one namespace, or with -A at all"
            raise UsageError(Code.VALUE_UNKNOWN, message, fix="name KronJobs of one namespace")
        within = None if arguments.all_namespaces else namespaces.pop()
        printer = _Changes(arguments, terminal)
        selector = arguments.selector
        await watch(client, within, selector, printer, terminal, is_wanted=is_wanted)
        return 0

    return reach(arguments, ask)
