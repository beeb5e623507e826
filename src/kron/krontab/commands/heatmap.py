"""`krontab heatmap`: when all jobs run, as a week by hour."""

from __future__ import annotations

import os
from argparse import ArgumentTypeError, Namespace

from kron.console.parser import Parser, UsageError, add_at, add_format, add_number, moment_s
from kron.console.progress import Progress
from kron.console.report import finding_lines, many
from kron.console.terminal import Terminal
from kron.core.constraint import MINUTES_A_DAY
from kron.core.errors import Code, quoted
from kron.engine.job import Job
from kron.fleet import Busy, Tally, busiest, count_firings
from kron.jobs.configuration import ConfigurationError
from kron.jobs.crontab.crontab import Crontab
from kron.jobs.crontab.local import system_zone
from kron.jobs.entry import Entry
from kron.jobs.identity import find_node
from kron.jobs.source import STANDARD_INPUT
from kron.krontab.crontabs import add_crontab_options, read_named_crontab
from kron.krontab.fuzzy import repository
from kron.krontab.heatmap import (
    DEFAULT_WEEKS,
    USUAL_BUCKETS,
    USUAL_UP_TO,
    document,
    grid_lines,
    hour_lines,
    minute_lines,
    rows,
)
from kron.krontab.jobs import add_source, load_configuration

DESCRIPTION = """\
Show how many jobs run when, as a grid of weekdays and hours in UTC. The runs of the coming weeks
are counted exactly: chosen times, days of the month, months, daylight saving.

The heatmap is for people and goes to standard error; --format json and csv print the counts on
standard output. PATH is the same as --file. Without a file, krond's directories are read."""
EXAMPLES = (
    ("krontab heatmap", "what krond will run"),
    (
        "krontab heatmap jobs.kron --hourly --minute",
        "where the spikes are, and which jobs cause them",
    ),
    ("krontab heatmap --crontab /etc/crontab /etc/cron.d/*", "the midnight storm of a host"),
    (
        "krontab import --spread auto /etc/crontab | krontab heatmap -",
        "the same jobs with windows",
    ),
    ("krontab heatmap --workflows .github/workflows", "the workflows of a repository"),
    ("krontab heatmap --minute --format csv > minutes.csv", "a table for a spreadsheet"),
)
_MOST_WEEKS = 106
"""Two years: every month begins on several weekdays."""


def add_arguments(parser: Parser) -> None:
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="*",
        help="a krontab file, a directory of *.kron files, or - for standard input",
    )
    parser.add_argument("--hourly", action="store_true", help="also show runs by hour of the day")
    parser.add_argument(
        "--minute",
        action="store_true",
        help="also show runs by minute of the hour, and the busiest minutes of the day with "
        "some of their jobs",
    )
    top = "how many of the busiest minutes to show"
    add_number(parser, "--top", top, most=MINUTES_A_DAY, default=10)
    weeks = "how far to look ahead; cells show the mean"
    add_number(parser, "--weeks", weeks, most=_MOST_WEEKS, default=DEFAULT_WEEKS)
    parser.add_argument(
        "--buckets",
        type=_buckets,
        metavar="A,B,C,D",
        help="the least runs for each of the four glyphs, to compare heatmaps; default: "
        f"{','.join(map(str, USUAL_BUCKETS))}, or quarters of the busiest cell if it has more than "
        f"{USUAL_UP_TO}",
    )
    add_at(parser, "the moment to count from")
    add_format(parser, csv="one table: cells, or with --hourly or --minute that view")
    crontabs = parser.add_argument_group("crontabs")
    crontabs.add_argument(
        "--crontab",
        action="extend",
        nargs="+",
        default=[],
        metavar="FILE",
        help="crontabs, or - for standard input",
    )
    add_crontab_options(crontabs)
    workflows = parser.add_argument_group("workflows")
    workflows.add_argument(
        "--workflows",
        action="extend",
        nargs="+",
        default=[],
        metavar="PATH",
        help="GitHub workflows, or directories with them; needs PyYAML",
    )
    workflows.add_argument(
        "--repo",
        type=repository,
        metavar="OWNER/NAME",
        help="their repository, for fuzzy schedules; default: that of the git remote origin",
    )
    add_source(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    if wrong := _wrong_usage(arguments):
        raise UsageError(Code.VALUE_UNKNOWN, wrong)
    named = _jobs(arguments, terminal)
    names = {job.identity: name for name, job in named}
    tally, busy = _count([job for _, job in named], arguments, terminal)
    if arguments.format == "json":
        terminal.print_json(document(tally, busy, names))
    elif arguments.format == "csv":
        table = rows(tally, by_minute=arguments.minute, by_hour=arguments.hourly)
        terminal.print(*(",".join(map(str, row)) for row in table))
    else:
        style = terminal.styled_error
        lines = grid_lines(tally, style, arguments.buckets)
        if not tally.jobs:
            asleep = f"all {tally.suspended:,} jobs are suspended" if tally.suspended else "no jobs"
            if tally.at_boot:
                runs = "runs" if tally.at_boot == 1 else "run"
                asleep = f"{many(tally.at_boot, 'job')} {runs} once a boot"
            hint = "krontab heatmap --help says how to name files"
            lines = [f"nothing is scheduled: {asleep}; {hint}"]
        if arguments.hourly and tally.firings:
            lines += hour_lines(tally, style)
        if arguments.minute and tally.firings:
            lines += minute_lines(tally, busy, names, style)
        # Not Terminal.error, which ignores that standard error is full: it is the output here.
        terminal.errors.writelines(f"{line}\n" for line in lines)
        terminal.errors.flush()
    return 0


def _wrong_usage(arguments: Namespace) -> str:
    for option in ("system", "user", "tz"):
        if getattr(arguments, option) not in (None, False) and not arguments.crontab:
            return f"--{option} is about crontabs: name one with --crontab"
    if arguments.repo is not None and not arguments.workflows:
        return "--repo is about workflows: name them with --workflows"
    if arguments.format == "csv" and arguments.hourly and arguments.minute:
        return "csv is one table: use --hourly or --minute, not both"
    named = [*arguments.paths, *arguments.file, *arguments.crontab]
    if named.count(STANDARD_INPUT) > 1:
        return "standard input can be read only once"
    return ""


def _buckets(text: str) -> tuple[int, ...]:
    bounds = tuple(int(part) for part in text.split(",") if part.isdecimal() and len(part) <= 9)
    rising = all(first < second for first, second in zip((0, *bounds), bounds, strict=False))
    if len(bounds) == 4 and rising and text.count(",") == 3:
        return bounds
    message = f"{quoted(text)} is not four rising numbers from 1 on, such as 1,2,4,7"
    raise ArgumentTypeError(message)


def _jobs(arguments: Namespace, terminal: Terminal) -> list[tuple[str, Job]]:
    """Every job that the command line names, with its name."""
    entries: list[Entry] = []
    arguments.file = [*arguments.paths, *arguments.file]
    if arguments.file or not (arguments.crontab or arguments.workflows):
        entries.extend(load_configuration(arguments, terminal).checked().entries)
    crontabs = _crontabs(arguments)
    findings = [finding for crontab in crontabs for finding in crontab.findings]
    if findings:
        raise ConfigurationError(findings, 0)
    for crontab in crontabs:
        omitted = [line for line in crontab.lines if line.omitted and line.setting is None]
        for note in (note for line in omitted for note in line.notes):
            terminal.error(*finding_lines(note, terminal.styled_error))
        entries.extend(crontab.entries)
    workflows = [(job.identity, job) for job in _workflows(arguments, terminal)]
    return [*((entry.name, entry.job) for entry in entries), *workflows]


def _crontabs(arguments: Namespace) -> list[Crontab]:
    if not arguments.crontab:
        return []
    zone = arguments.tz or system_zone()
    node = find_node(arguments.node_id)
    # A file that is named twice is read once, as with krontab files.
    paths = {os.path.abspath(path): path for path in arguments.crontab}  # noqa: PTH100
    return [read_named_crontab(path, arguments, zone, node) for path in paths.values()]


def _workflows(arguments: Namespace, terminal: Terminal) -> list[Job]:
    if not arguments.workflows:
        return []
    from kron.krontab.workflows.compilation import WorkflowError, compile_workflows

    paths, repo = arguments.workflows, arguments.repo
    with Progress(terminal, "reading workflows") as progress:
        compilation = compile_workflows(paths, repo, trusting=True, progress=progress.advance)
    if compilation.errors:
        raise WorkflowError(compilation.errors, compilation.unshown)
    return compilation.jobs


def _count(jobs: list[Job], arguments: Namespace, terminal: Terminal) -> tuple[Tally, list[Busy]]:
    at_s, by_minute = moment_s(arguments), arguments.minute
    rounds = 2 if by_minute else 1
    with Progress(terminal, "counting runs", rounds * len(jobs)) as progress:
        step = progress.advance
        tally = count_firings(jobs, at_s, arguments.weeks, by_minute=by_minute, progress=step)
        return tally, busiest(jobs, tally, arguments.top, progress=step) if by_minute else []
