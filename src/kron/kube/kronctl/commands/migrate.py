"""`kronctl migrate`: CronJobs as KronJobs, and what could not be converted."""

from __future__ import annotations

import argparse
import os
import sys
from argparse import Namespace
from collections.abc import Iterator

from kron.console.parser import Parser, UsageError, add_at, add_format, moment_s, path
from kron.console.report import many
from kron.console.terminal import Terminal
from kron.core.duration import SECOND_NS, parse_duration
from kron.core.errors import Code, KronError, ParseError, did_you_mean, quoted, visible
from kron.core.instant import DAY_S, to_text
from kron.core.limits import DEFAULT_LIMITS
from kron.engine.agenda import open_periods
from kron.jobs.configuration import ConfigurationError
from kron.kube.api_object import Object
from kron.kube.client.resources import CRONJOBS
from kron.kube.kronctl.cluster import DEFAULT_NAMESPACE, check_source, is_unknown, reach
from kron.kube.kronctl.kronjobs import add_source, placed
from kron.kube.kronctl.lookup import find_all, get_all
from kron.kube.kronctl.manifest import Manifest, read_manifests
from kron.kube.kronctl.migrate.migration import BATCH, CRONJOB, Migration, migrate
from kron.kube.kronctl.name import Name, name_of
from kron.kube.kronctl.output import yaml_of
from kron.kube.resource.kronjob import read_kronjob

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kron.kube.client.client import Client
    from kron.kube.kronctl.migrate.migration import Spread

DESCRIPTION = """\
Turn CronJobs into KronJobs: the same times in the same zone, the same concurrency, limits and Job
template. Manifests go to standard output or to --output. Everything that Kron spells or does
differently, or that cannot be converted, is reported on standard error and in a comment above each
manifest.

With --apply, each CronJob of the cluster is replaced: the KronJob is created suspended, the CronJob
is suspended, the KronJob is resumed. So both are never active at once, and a second try continues
where the first failed. The CronJob stays, suspended; delete it when everything works."""
EXAMPLES = (
    ("kronctl migrate -f cronjobs.yaml", "the CronJobs of a file, without a cluster"),
    ("kronctl migrate -A -l team=data --spread auto --output out/", "from the cluster, spread"),
    ("kronctl migrate -n prod backup --apply", "replace one CronJob by a KronJob"),
)


def add_arguments(parser: Parser) -> None:
    parser.intermixed = "names"
    parser.add_argument(
        "names",
        metavar="CRONJOB",
        nargs="*",
        help="a CronJob's name, NAMESPACE/NAME or cj/NAME; default: all",
    )
    parser.add_argument(
        "-l", "--selector", default="", metavar="LABELS", help="only CronJobs with these labels"
    )
    parser.add_argument(
        "--spread",
        type=_spread,
        metavar="WINDOW",
        help="give each KronJob a window: a duration such as 15m, or auto for a tenth of the "
        "shortest time between runs, at most 1h, and none below 30s",
    )
    parser.add_argument(
        "--output",
        type=path,
        metavar="DIR",
        help="write a file for each; existing files are not overwritten",
    )
    add_at(parser, "the start of the year whose clock changes are checked")
    add_format(parser)
    group = parser.add_argument_group("in the cluster")
    group.add_argument(
        "--apply", action="store_true", help="create the KronJobs and suspend the CronJobs"
    )
    group.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    group.add_argument("--dry-run", action="store_true", help="only show what --apply would do")
    add_source(parser, all_namespaces=True)


def run(arguments: Namespace, terminal: Terminal) -> int:
    _check(arguments)
    now_s = moment_s(arguments)
    find_cronjobs = _cronjobs_of_files if arguments.file else _cronjobs_of_cluster
    migrated = [
        migrate(each, spread=arguments.spread, now_s=now_s) for each in find_cronjobs(arguments)
    ]
    if not migrated:
        where = " in these files" if arguments.file else "; -A looks in all namespaces"
        terminal.error(f"no CronJobs were found{where}")
    failed = int(any(each.manifest is None for each in migrated))
    if arguments.apply:
        _report(migrated, terminal, now_s, is_applied=True)
        return _apply(migrated, arguments, terminal) or failed
    if arguments.format == "json":
        shown = list(map(_document, migrated))
        terminal.print_json(
            {"schema": "kronctl.migrate/1", "at": to_text(now_s), "cronjobs": shown}
        )
        return failed
    _report(migrated, terminal, now_s)
    if arguments.output is None:
        for each in migrated:
            if each.manifest is not None:
                terminal.output.write(rendered(each.manifest, each.notes))
    else:
        for file, each in _files(arguments.output, migrated).items():
            _write(file, rendered(each.manifest or {}, each.notes))
            terminal.print(file)
    return failed


def _cronjobs_of_files(arguments: Namespace) -> list[Object]:
    """The CronJobs of `-f`; a `ConfigurationError` if a file cannot be read."""
    manifests = read_manifests(arguments.file)
    if manifests.findings:
        raise ConfigurationError(manifests.findings, 0)
    found = [each for each in manifests.objects if each.is_meant_as(CRONJOB, BATCH)]
    namespace = arguments.namespace
    wanted = _named(found, [name_of(each, CRONJOBS) for each in arguments.names], namespace or "")
    return [placed(each.content, namespace) if namespace else each.content for each in wanted]


def _named(found: list[Manifest], names: list[Name], namespace: str) -> list[Manifest]:
    """The CronJobs with these names, or all without names; `namespace` is for those without one."""

    def is_meant(manifest: Manifest, name: Name) -> bool:
        spaces = ("", manifest.namespace or namespace)
        return manifest.name == name.name and name.namespace in spaces

    for name in names:
        if not any(is_meant(each, name) for each in found):
            near = did_you_mean(name.name, [each.name for each in found if each.name != name.name])
            message = f"the CronJob {quoted(name.text)} does not exist"
            raise KronError(Code.JOB_UNKNOWN, message, near)
    return [each for each in found if not names or any(is_meant(each, name) for name in names)]


def _cronjobs_of_cluster(arguments: Namespace) -> list[Object]:
    names = [name_of(each, CRONJOBS) for each in arguments.names]
    return get_all(arguments, CRONJOBS, names) if names else find_all(arguments, CRONJOBS)


def _check(arguments: Namespace) -> None:
    check_source(arguments)
    if arguments.apply and arguments.file:
        message = "--apply migrates the CronJobs of the cluster, not those of files"
        raise UsageError(Code.FILE_KIND, message, fix="leave -f out")
    if arguments.apply and (arguments.output is not None or arguments.format != "text"):
        message = "--apply prints no manifests"
        raise UsageError(Code.FILE_KIND, message, fix="leave --output and --format out")
    if arguments.output is not None and arguments.format != "text":
        message = "--output cannot be used with --format json, which prints the manifests"
        raise UsageError(Code.FILE_KIND, message, fix="leave one of them out")
    if (arguments.yes or arguments.dry_run) and not arguments.apply:
        raise UsageError(Code.FIELD_MISSING, "--yes and --dry-run need --apply", fix="add it")


def _spread(text: str) -> Spread:
    if text == "auto":
        return "auto"
    try:
        window_ns = parse_duration(text)
    except ParseError as error:
        raise argparse.ArgumentTypeError(f"{error.message}; write a duration, or auto") from None
    days = DEFAULT_LIMITS.window_days
    if not SECOND_NS <= window_ns <= days * DAY_S * SECOND_NS:
        raise argparse.ArgumentTypeError(f"{quoted(text)} is not between 1s and {days} days")
    return window_ns


def _report(
    migrated: list[Migration], terminal: Terminal, now_s: int, *, is_applied: bool = False
) -> None:
    without_zone = 0
    for migration in migrated:
        for note in migration.notes:
            terminal.error(f"{migration.title}: {terminal.styled_error('note:', 'bold')} {note}")
        if migration.error:
            head = terminal.styled_error("not migrated:", "bold", "red")
            terminal.error(f"{migration.title}: {head} {migration.error}")
        manifest = migration.manifest
        if manifest is not None:
            spec = migration.cronjob["spec"]
            without_zone += not spec.get("timeZone") and "TZ=" not in spec["schedule"]
            for note in _warnings(migration.cronjob, manifest, now_s) if is_applied else ():
                terminal.error(f"{migration.title}: {note}")
    if without_zone:
        terminal.error(
            f"note: {many(without_zone, 'CronJob')} without timeZone: Kubernetes uses the zone of "
            "kube-controller-manager, which is nearly always UTC; Kron uses UTC"
        )
    done = sum(each.manifest is not None for each in migrated)
    if migrated:
        terminal.error(f"{done} of {many(len(migrated), 'CronJob')} can be migrated")


def _warnings(cronjob: Object, manifest: Object, now_s: int) -> Iterator[str]:
    """Notes about the present moment, for --apply."""
    status = cronjob.get("status")
    if isinstance(status, dict) and status.get("active"):
        yield (
            "note: a Job of the CronJob is active, and the KronJob does not know it: even with "
            "forbid or replace, the next run may overlap with it"
        )
    job = read_kronjob(placed(manifest, DEFAULT_NAMESPACE)).job
    for decision in () if job.schedule.policy.suspend else open_periods(job, now_s):
        if decision.nominal_s <= now_s and (decision.chosen_s or 0) > now_s:
            yield (
                f"note: the window of {decision.period_id} is open, and the CronJob has run then: "
                f"the KronJob would run again at {to_text(decision.chosen_s or 0)}; apply after "
                f"{to_text(decision.window_end_s)} to avoid that"
            )
            return


def rendered(manifest: Object, notes: tuple[str, ...] = ()) -> str:
    """A document, with the notes as comments above it."""
    comments = "".join(f"# {visible(note)}\n" for note in notes)
    return f"---\n{comments}{yaml_of(manifest)}"


def _files(directory: str, migrations: list[Migration]) -> dict[str, Migration]:
    """The file for each; `KronError` if two would be the same, or one exists."""
    files: dict[str, Migration] = {}
    for migration in migrations:
        if migration.manifest is None:
            continue
        # The name and the namespace are checked: neither holds a slash.
        name = ".".join(filter(None, (migration.namespace, migration.name, "yaml")))
        file = os.path.join(directory, name)  # noqa: PTH118
        first = files.setdefault(file, migration)
        if first is not migration:
            whose = " and ".join(dict.fromkeys((first.title, migration.title)))
            message = f"{file} would be written twice, for CronJobs called {whose}"
            raise KronError(Code.NAME_REPEATED, message, "leave one out; nothing was written")
        if os.path.lexists(file):
            raise _existing(file)
    return files


def _write(file: str, text: str) -> None:
    try:
        os.makedirs(os.path.dirname(file), exist_ok=True)  # noqa: PTH103, PTH120
        with open(file, "x", encoding="utf-8") as made:  # noqa: PTH123
            made.write(text)
    except FileExistsError as error:
        raise _existing(error.filename) from None  # the file, or one instead of its directory
    except OSError as error:
        message = f"{file} cannot be written: {error.strerror}"
        raise KronError(Code.FILE_UNWRITABLE, message, fix="name another directory") from None


def _existing(file: str) -> KronError:
    message = f"{file} exists already"
    return KronError(Code.FILE_UNWRITABLE, message, fix="name another directory")


def _document(migration: Migration) -> Object:
    return {
        "namespace": migration.namespace or None,
        "name": migration.name,
        "kronjob": migration.manifest,
        "notes": list(migration.notes),
        "error": migration.error,
    }


def _apply(migrated: list[Migration], arguments: Namespace, terminal: Terminal) -> int:
    ready = [(each.cronjob, each.manifest) for each in migrated if each.manifest is not None]
    if not ready:
        return 0
    if not (arguments.dry_run or arguments.yes or _is_confirmed(len(ready), terminal)):
        terminal.error("nothing was changed")
        return 1

    async def apply_all(client: Client, _: str) -> int:
        from kron.kube.kronctl.migrate.apply import apply, planned

        failed = 0
        for cronjob, manifest in ready:
            place = f"{cronjob['metadata']['namespace']}/{cronjob['metadata']['name']}"

            def say(done: str, place: str = place) -> None:
                terminal.print(f"{place}: {done}")
                terminal.output.flush()

            try:
                if arguments.dry_run:
                    say(await planned(client, cronjob, manifest))
                else:
                    await apply(client, cronjob, manifest, say)
            except KronError as error:
                if is_unknown(error):
                    raise  # it affects all of them
                terminal.error(f"{place}: {error}")
                failed = max(failed, 2 if error.code is Code.API else 1)
        return failed

    return reach(arguments, apply_all)


def _is_confirmed(count: int, terminal: Terminal) -> bool:
    if sys.stdin is None or not sys.stdin.isatty():
        message = "--apply asks for confirmation, and standard input is not a terminal"
        raise UsageError(Code.FIELD_MISSING, message, fix="add --yes")
    one = count == 1
    terminal.errors.write(
        f"Replace {'the CronJob' if one else f'{count} CronJobs'} by "
        f"{'a KronJob' if one else 'KronJobs'}? [y/N] "
    )
    terminal.errors.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
