"""`krontab import`: a crontab as krontab lines, and what could not be carried over."""

from __future__ import annotations

import argparse
import os

from kron.console.parser import Parser, add_format
from kron.console.report import finding_document, finding_lines
from kron.console.terminal import Terminal
from kron.core.duration import parse_duration
from kron.core.errors import ParseError
from kron.core.frozen import Frozen
from kron.jobs.crontab.conversion import AUTO, Conversion, convert
from kron.jobs.crontab.crontab import Crontab
from kron.jobs.fields import read_name
from kron.jobs.finding import Finding
from kron.krontab.crontabs import (
    add_crontab_options,
    read_named_crontab,
    wrong_crontab_options,
    zone_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

DESCRIPTION = """\
Turn crontabs into krontab lines on standard output. The lines do what cron did: the same times in
the same zone, the same user, shell and environment, runs that may overlap. What could not be
carried over is a comment in its place, and is told with its reason on standard error.

A crontab in /etc/crontab or /etc/cron.d has a user column, one in /var/spool/cron belongs to the
user whose name it has; for any other place say --system or --user NAME."""
EXAMPLES = (
    ("krontab import /etc/crontab > crontab.kron", "a system crontab"),
    ("crontab -l | krontab import - --user $USER", "your own crontab"),
    ("krontab import --spread auto /etc/cron.d/*", "with a window for each job"),
)


class Imported(Frozen):
    """A crontab and what became of it."""

    crontab: Crontab
    conversion: Conversion


def add_arguments(parser: Parser) -> None:
    """The arguments of the command."""
    parser.add_argument(
        "files", metavar="FILE", nargs="+", help="a crontab, or - for standard input"
    )
    add_crontab_options(parser)
    parser.add_argument(
        "--spread",
        type=_spread,
        metavar="WINDOW",
        help="give each job a window: a duration such as 15m, or auto, which proposes one that "
        "takes at most a quarter of the time between runs",
    )
    parser.add_argument(
        "--no-environment",
        action="store_true",
        help="leave out the variables and the directory that cron gives to every job by itself",
    )
    add_format(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Run the command."""
    if wrong := wrong_crontab_options(arguments):
        terminal.error(f"krontab import: {wrong}")
        return 2
    zone = zone_of(arguments)
    imported = [_import(path, zone, arguments) for path in arguments.files]
    if arguments.format == "json":
        terminal.print_json(_document(imported, zone))
    else:
        for each in imported:
            _print(each, len(imported) > 1, zone, terminal)
    return int(any(each.crontab.findings for each in imported))


def _spread(text: str) -> int | str:
    if text == AUTO:
        return AUTO
    try:
        return parse_duration(text)
    except ParseError as error:
        message = f"{error.message} ({error.fix}), and is not auto"
        raise argparse.ArgumentTypeError(message) from None


def _import(path: str, zone: str, arguments: Namespace) -> Imported:
    crontab = read_named_crontab(path, arguments, zone=zone)
    if len(arguments.files) > 1:
        crontab = _prefixed(crontab)
    spread = arguments.spread
    return Imported(
        crontab, convert(crontab, spread=spread, environment=not arguments.no_environment)
    )


def _prefixed(crontab: Crontab) -> Crontab:
    """The same jobs with the file's name in theirs: the lines of several files go together."""
    try:
        read_name(os.path.basename(crontab.path))  # noqa: PTH119
    except ParseError as error:
        prefix = error.fix.removeprefix("write ")
    else:
        prefix = os.path.basename(crontab.path)  # noqa: PTH119
    lines = [
        line
        if line.entry is None
        else line.replace(entry=line.entry.replace(name=f"{prefix}/{line.entry.name}"))
        for line in crontab.lines
    ]
    return crontab.replace(lines=tuple(lines))


def _print(imported: Imported, is_one_of_many: bool, zone: str, terminal: Terminal) -> None:
    crontab, conversion = imported.crontab, imported.conversion
    if is_one_of_many:
        terminal.print(f"# from {crontab.path}")
    terminal.output.write(conversion.text)
    terminal.output.flush()
    for finding in _all_findings(imported):
        for line in finding_lines(finding, terminal.styled_error):
            terminal.error(line)
    jobs = sum(1 for _ in crontab.entries)
    terminal.error(
        f"{crontab.path}: {jobs} jobs, {len(conversion.notes)} notes, "
        f"{len(crontab.findings)} errors; times without CRON_TZ are in {zone}"
    )


def _all_findings(imported: Imported) -> list[Finding]:
    found = [*imported.crontab.findings, *imported.conversion.notes]
    return sorted(found, key=lambda finding: (finding.line, finding.start))


def _document(imported: list[Imported], zone: str) -> dict[str, Any]:
    return {
        "schema": "krontab.import/1",
        "timezone": zone,
        "files": [
            {
                "path": each.crontab.path,
                "kind": each.crontab.place.kind,
                "user": each.crontab.place.user or None,
                "jobs": [entry.name for entry in each.crontab.entries],
                "lines": list(each.conversion.lines),
                "findings": [finding_document(finding) for finding in _all_findings(each)],
            }
            for each in imported
        ],
    }
