"""`krontab import`: convert crontabs to krontab lines, and report what was not converted."""

from __future__ import annotations

import os
import re
from argparse import ArgumentTypeError, Namespace

from kron.console.parser import Parser, add_format
from kron.console.report import finding_document, finding_lines
from kron.console.terminal import Terminal
from kron.core.duration import parse_duration
from kron.core.errors import ParseError
from kron.jobs.crontab.conversion import AUTO, Conversion, convert
from kron.jobs.crontab.crontab import Crontab
from kron.jobs.crontab.local import system_zone
from kron.jobs.crontab.names import Names
from kron.jobs.fields import LONGEST_NAME
from kron.jobs.finding import Finding
from kron.krontab.crontabs import add_crontab_options, read_named_crontab

DESCRIPTION = """\
Convert crontabs to krontab lines on standard output. The lines do the same as cron: the same times
in the same zone, the same user, shell and environment, runs that may overlap. Anything not
converted is kept as a comment and reported with the reason on standard error.

A crontab in /etc/crontab or /etc/cron.d has a user column, one in /var/spool/cron belongs to the
user it is named after; for any other path use --system or --user NAME."""
EXAMPLES = (
    ("krontab import /etc/crontab > crontab.kron", "a system crontab"),
    ("crontab -l | krontab import - --user $USER", "your own crontab"),
    ("krontab import --spread auto /etc/cron.d/*", "with a window for each job"),
)

_UNNAMED_FILE = "file"
"""What a job's name begins with if nothing of its file's name can be part of a name."""

Imported = tuple[Crontab, Conversion]


def add_arguments(parser: Parser) -> None:
    parser.add_argument(
        "files", metavar="FILE", nargs="+", help="a crontab, or - for standard input"
    )
    add_crontab_options(parser)
    parser.add_argument(
        "--spread",
        type=_spread,
        metavar="WINDOW",
        help="give each job a window: a duration such as 15m, or auto for at most a quarter of "
        "the time between its runs",
    )
    parser.add_argument(
        "--no-environment",
        action="store_true",
        help="leave out the variables and the directory that cron gives to every job",
    )
    add_format(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    zone = arguments.tz or system_zone()
    names = Names()
    imported = [_import(path, zone, arguments, names) for path in arguments.files]
    if arguments.format == "json":
        terminal.print_json(_document(imported, zone))
    else:
        for each in imported:
            _print(each, len(imported) > 1, zone, terminal)
    return int(any(crontab.findings for crontab, _ in imported))


def _spread(text: str) -> int | str:
    if text == AUTO:
        return AUTO
    try:
        return parse_duration(text)
    except ParseError as error:
        message = f"{error.message} ({error.fix}), and is not auto"
        raise ArgumentTypeError(message) from None


def _import(path: str, zone: str, arguments: Namespace, names: Names) -> Imported:
    crontab = read_named_crontab(path, arguments, zone)
    if len(arguments.files) > 1:
        crontab = _prefixed(crontab, names)
    environment = not arguments.no_environment
    return crontab, convert(crontab, spread=arguments.spread, environment=environment)


def _prefixed(crontab: Crontab, names: Names) -> Crontab:
    """The same jobs with the file's name in their names, which are unique among all files."""
    prefix = _plain(os.path.basename(crontab.path)) or names.unique(_UNNAMED_FILE)  # noqa: PTH119
    lines = []
    for line in crontab.lines:
        entry = line.entry and line.entry.replace(name=names.unique(f"{prefix}/{line.entry.name}"))
        lines.append(line.replace(entry=entry))
    return crontab.replace(lines=tuple(lines))


def _plain(name: str) -> str:
    """The part of names that a file gives; '' if nothing is left.

    It has no dots and underscores, because names could not have any at first: another name would
    move the times of jobs that are imported again.
    """
    if re.fullmatch("[a-z0-9/-]+", name):
        return name
    return re.sub("[^a-z0-9/-]+", "-", name[:LONGEST_NAME].lower()).strip("-")


def _print(imported: Imported, is_one_of_many: bool, zone: str, terminal: Terminal) -> None:
    crontab, conversion = imported
    if is_one_of_many:
        terminal.print(f"# from {crontab.path}")
    terminal.output.write(conversion.text)
    terminal.output.flush()
    for finding in _all_findings(*imported):
        terminal.error(*finding_lines(finding, terminal.styled_error))
    jobs, notes = sum(1 for _ in crontab.entries), len(conversion.notes)
    counts = f"{jobs} jobs, {notes} notes, {len(crontab.findings)} errors"
    terminal.error(f"{crontab.path}: {counts}; times without CRON_TZ are in {zone}")


def _all_findings(crontab: Crontab, conversion: Conversion) -> list[Finding]:
    found = [*crontab.findings, *conversion.notes]
    return sorted(found, key=lambda finding: (finding.line, finding.start))


def _document(imported: list[Imported], zone: str) -> dict[str, object]:
    return {
        "schema": "krontab.import/1",
        "timezone": zone,
        "files": [
            {
                "path": each[0].path,
                "kind": "system" if each[0].owner is None else "user",
                "user": each[0].owner or None,
                "jobs": [entry.name for entry in each[0].entries],
                "lines": list(each[1].lines),
                "findings": [finding_document(finding) for finding in _all_findings(*each)],
            }
            for each in imported
        ],
    }
