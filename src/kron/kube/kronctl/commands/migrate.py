"""`kronctl migrate`: CronJobs as KronJobs, and what could not be carried over."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator

from kron.console.parser import Parser, add_at, add_format, path
from kron.console.report import many
from kron.console.terminal import Terminal
from kron.console.usage import UsageError
from kron.core.duration import SECOND_NS, parse_duration
from kron.core.errors import Code, KronError, ParseError, quoted
from kron.core.frozen import Frozen
from kron.core.instant import to_text
from kron.core.limits import DEFAULT_LIMITS
from kron.engine.agenda import open_periods
from kron.kube.kronctl.cluster import DEFAULT_NAMESPACE, check_source, is_unknown, reach
from kron.kube.kronctl.cronjobs import cronjobs_of_cluster, cronjobs_of_files
from kron.kube.kronctl.kronjobs import add_source, placed
from kron.kube.kronctl.migration import Migration, migrate
from kron.kube.kronctl.moment import moment_s
from kron.kube.kronctl.rendering import rendered
from kron.kube.kronctl.spread import AUTO
from kron.kube.resource.kronjob import read_kronjob

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

    from kron.kube.client.client import Client
    from kron.kube.kronctl.migration import Spread

DESCRIPTION = """\
Turn CronJobs into KronJobs: the same times in the same zone, the same concurrency, limits and Job
template. Manifests go to standard output or to --output. What Kron spells otherwise, could not
carry over or does differently is told on standard error, and in a comment above each manifest.

With --apply, each CronJob of the cluster is replaced: the KronJob is made suspended, the CronJob is
suspended, the KronJob is resumed. So never both are active, and a second try goes on where a first
one failed. The CronJob stays, suspended; delete it when you are content."""
EXAMPLES = (
    ("kronctl migrate -f cronjobs.yaml", "those of a file, without a cluster"),
    ("kronctl migrate -A -l team=data --spread auto --output out/", "from the cluster, spread"),
    ("kronctl migrate -n prod backup --apply", "put a KronJob in the place of one CronJob"),
)
_WINDOW_S = DEFAULT_LIMITS.window_days * 86_400


class Migrated(Frozen):
    """A CronJob and what became of it."""

    cronjob: dict[str, Any]
    migration: Migration


def add_arguments(parser: Parser) -> None:
    """The arguments of the command."""
    parser.add_argument(
        "names", metavar="NAME", nargs="*", help="a CronJob's name, or NAMESPACE/NAME; default: all"
    )
    parser.add_argument(
        "-l", "--selector", default="", metavar="LABELS", help="only those with these labels"
    )
    parser.add_argument(
        "--spread",
        type=_spread,
        metavar="WINDOW",
        help="give each a window: a duration such as 15m, or auto, which takes a tenth of the "
        "shortest time between runs, at most 1h, and none below 30s",
    )
    parser.add_argument(
        "--output", type=path, metavar="DIR", help="write a file for each, over none that is there"
    )
    add_at(parser, "the moment from which the coming year's clock changes are looked at")
    add_format(parser)
    group = parser.add_argument_group("in the cluster")
    group.add_argument(
        "--apply", action="store_true", help="make the KronJobs and suspend the CronJobs"
    )
    group.add_argument("--yes", action="store_true", help="do not ask before that")
    group.add_argument("--dry-run", action="store_true", help="only say what --apply would do")
    add_source(parser, all_namespaces=True)


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Run the command."""
    _check(arguments)
    now_s = moment_s(arguments)
    cronjobs = _cronjobs(arguments)
    migrated = [
        Migrated(each, migrate(each, spread=arguments.spread, now_s=now_s)) for each in cronjobs
    ]
    if not migrated:
        where = "in these files" if arguments.file else "there; -A looks in all namespaces"
        terminal.error(f"no CronJobs are {where}")
    failed = int(any(each.migration.manifest is None for each in migrated))
    if arguments.apply:
        _tell(migrated, terminal, now_s, is_applied=True)
        return _apply(migrated, arguments, terminal) or failed
    if arguments.format == "json":
        terminal.print_json(
            {
                "schema": "kronctl.migrate/1",
                "at": to_text(now_s),
                "cronjobs": [_document(each.migration) for each in migrated],
            }
        )
        return failed
    _tell(migrated, terminal, now_s)
    texts = [
        (each.migration, rendered(each.migration.manifest, each.migration.notes))
        for each in migrated
        if each.migration.manifest is not None
    ]
    if arguments.output is None:
        for _, text in texts:
            terminal.output.write(text)
    else:
        files = _files(arguments.output, [migration for migration, _ in texts])
        for file, (_, text) in zip(files, texts, strict=True):
            _write(file, text)
            terminal.print(file)
    return failed


def _cronjobs(arguments: Namespace) -> list[dict[str, Any]]:
    return cronjobs_of_files(arguments) if arguments.file else cronjobs_of_cluster(arguments)


def _check(arguments: Namespace) -> None:
    check_source(arguments)
    if arguments.apply and arguments.file:
        message = "--apply works on the CronJobs of the cluster, not on those of files"
        raise UsageError(Code.FILE_KIND, message, fix="leave -f out")
    if arguments.apply and (arguments.output is not None or arguments.format != "text"):
        message = "--apply prints no manifests"
        raise UsageError(Code.FILE_KIND, message, fix="leave --output and --format out")
    if arguments.output is not None and arguments.format != "text":
        message = "--output writes manifests, which --format json has in its document"
        raise UsageError(Code.FILE_KIND, message, fix="leave one of them out")
    if (arguments.yes or arguments.dry_run) and not arguments.apply:
        raise UsageError(Code.FIELD_MISSING, "--yes and --dry-run are about --apply", fix="add it")


def _spread(text: str) -> Spread:
    if text == AUTO:
        return "auto"
    try:
        window_ns = parse_duration(text)
    except ParseError as error:
        raise argparse.ArgumentTypeError(f"{error.message}; write a duration, or auto") from None
    if not SECOND_NS <= window_ns <= _WINDOW_S * SECOND_NS:
        days = DEFAULT_LIMITS.window_days
        raise argparse.ArgumentTypeError(f"{quoted(text)} is not between 1s and {days} days")
    return window_ns


def _tell(
    migrated: list[Migrated], terminal: Terminal, now_s: int, *, is_applied: bool = False
) -> None:
    """Everything that is to be known, on standard error."""
    without_zone = 0
    for each in migrated:
        migration = each.migration
        for note in migration.notes:
            terminal.error(f"{migration.place}: {terminal.styled_error('note:', 'bold')} {note}")
        if migration.error:
            head = terminal.styled_error("not migrated:", "bold", "red")
            terminal.error(f"{migration.place}: {head} {migration.error}")
        manifest = migration.manifest
        if manifest is not None:
            without_zone += _names_no_zone(each.cronjob)
            for note in _warnings(each.cronjob, manifest, now_s) if is_applied else ():
                terminal.error(f"{migration.place}: {note}")
    if without_zone:
        terminal.error(
            f"note: {many(without_zone, 'CronJob')} without timeZone: Kubernetes goes by the clock "
            "of kube-controller-manager, which is nearly always in UTC; Kron goes by UTC"
        )
    done = sum(each.migration.manifest is not None for each in migrated)
    if migrated:
        terminal.error(f"{done} of {many(len(migrated), 'CronJob')} can be migrated")


def _names_no_zone(cronjob: dict[str, Any]) -> bool:
    spec = cronjob["spec"]
    return not spec.get("timeZone") and "TZ=" not in spec["schedule"]


def _warnings(cronjob: dict[str, Any], manifest: dict[str, Any], now_s: int) -> Iterator[str]:
    """What is to be known of this very moment."""
    status = cronjob.get("status")
    if isinstance(status, dict) and status.get("active"):
        yield (
            "note: a Job of the CronJob is active, which the KronJob does not see: with forbid or "
            "replace, the next run may overlap with it"
        )
    if again := _again(manifest, now_s):
        yield again


def _again(manifest: dict[str, Any], now_s: int) -> str:
    """Whether a period that the CronJob has had would run again, in what is left of its window."""
    job = read_kronjob(placed(manifest, DEFAULT_NAMESPACE)).job
    if job.schedule.policy.suspend:
        return ""
    for decision in open_periods(job, now_s):
        if decision.nominal_s <= now_s and (decision.chosen_s or 0) > now_s:
            return (
                f"note: the window of {decision.period_id} is open, and the CronJob has had that "
                f"period: it would run again at {to_text(decision.chosen_s or 0)}; apply after "
                f"{to_text(decision.window_end_s)} to avoid that"
            )
    return ""


def _files(directory: str, migrations: list[Migration]) -> list[str]:
    """The file for each; `KronError` if two would be one, or one is there already."""
    files: dict[str, Migration] = {}
    for migration in migrations:
        # The name and the namespace are checked: neither holds a slash.
        name = ".".join(filter(None, (migration.namespace, migration.name, "yaml")))
        file = os.path.join(directory, name)  # noqa: PTH118
        first = files.setdefault(file, migration)
        if first is not migration:
            whose = " and ".join(dict.fromkeys((first.place, migration.place)))
            message = f"{file} would be written twice, for CronJobs called {whose}"
            raise KronError(Code.NAME_REPEATED, message, "leave one out; nothing was written")
        if os.path.lexists(file):
            raise _there_already(file)
    return list(files)


def _write(file: str, text: str) -> None:
    try:
        os.makedirs(os.path.dirname(file), exist_ok=True)  # noqa: PTH103, PTH120
        with open(file, "x", encoding="utf-8") as made:  # noqa: PTH123
            made.write(text)
    except FileExistsError:
        raise _there_already(file) from None
    except OSError as error:
        message = f"{file} cannot be written: {error.strerror}"
        raise KronError(Code.FILE_UNWRITABLE, message) from None


def _there_already(file: str) -> KronError:
    message = f"{file} is there already"
    return KronError(Code.FILE_UNWRITABLE, message, fix="name another directory")


def _document(migration: Migration) -> dict[str, Any]:
    return {
        "namespace": migration.namespace or None,
        "name": migration.name,
        "kronjob": migration.manifest,
        "notes": list(migration.notes),
        "error": migration.error,
    }


def _apply(migrated: list[Migrated], arguments: Namespace, terminal: Terminal) -> int:
    ready = [
        (each.cronjob, each.migration.manifest)
        for each in migrated
        if each.migration.manifest is not None
    ]
    if not ready:
        return 0
    if not (arguments.dry_run or arguments.yes or _is_confirmed(len(ready), terminal)):
        terminal.error("nothing was changed")
        return 1

    async def apply_all(client: Client, _: str) -> int:
        from kron.kube.kronctl.application import apply, planned

        failed = 0
        for cronjob, manifest in ready:
            place = f"{cronjob['metadata']['namespace']}/{cronjob['metadata']['name']}"

            def say(done: str, place: str = place) -> None:
                terminal.print(f"{place}: {done}")
                terminal.output.flush()

            try:
                if arguments.dry_run:
                    say((await planned(client, cronjob, manifest)).words)
                else:
                    await apply(client, cronjob, manifest, say)
            except KronError as error:
                if is_unknown(error):
                    raise  # it is so for all of them
                terminal.error(f"{place}: {error}")
                failed = max(failed, 2 if error.code is Code.API else 1)
        return failed

    return reach(arguments, apply_all)


def _is_confirmed(count: int, terminal: Terminal) -> bool:
    if sys.stdin is None or not sys.stdin.isatty():
        message = "--apply asks before it changes anything, and nobody is there to answer"
        raise UsageError(Code.FIELD_MISSING, message, fix="add --yes")
    one = count == 1
    terminal.errors.write(
        f"Put {'a KronJob' if one else f'{count} KronJobs'} in the place of "
        f"{'the CronJob' if one else 'their CronJobs'}? [y/N] "
    )
    terminal.errors.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
