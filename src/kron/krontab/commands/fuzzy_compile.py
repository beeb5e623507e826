"""`krontab fuzzy compile`: resolve the fuzzy schedules of workflow files to cron."""

from __future__ import annotations

from argparse import Namespace

from kron.console.parser import Parser, add_at, add_format, moment_s
from kron.console.progress import Progress
from kron.console.report import difference_line, finding_document, finding_lines, many
from kron.console.terminal import Terminal
from kron.core.errors import Code
from kron.core.words import describe
from kron.jobs.finding import Finding, Severity
from kron.krontab.annotations import github_lines
from kron.krontab.fuzzy import repository
from kron.krontab.program import exit_code_of
from kron.krontab.workflows.compilation import Compilation, compile_workflows
from kron.krontab.workflows.schedule import WorkflowSchedule
from kron.krontab.workflows.workflow import Workflow
from kron.krontab.workflows.writing import replace_files

DESCRIPTION = """\
Find the schedules under `on` in GitHub Actions YAML and in the front matter of Markdown workflows,
and resolve the fuzzy ones to cron. The time of a schedule depends on owner/name/path of its file,
so it stays the same until the file moves.

Without --write, nothing changes and the differences are shown. Only the schedules change. The fuzzy
text stays in a comment after them, so that the next compilation finds it:

    - cron: "13 14 * * *" # fuzzy: daily around 14:00

If any file has an error, none is written. Needs PyYAML: pip install 'krond[yaml]'."""
EXAMPLES = (
    ("krontab fuzzy compile .github/workflows", "show what would change"),
    ("krontab fuzzy compile --write .github/workflows", "change the files"),
    (
        "krontab fuzzy compile --check --format github .",
        "in CI: exit code 1 if a file is out of date",
    ),
    ("krontab fuzzy compile --repo octo/tools report.md", "outside a clone"),
)

_SHOWN_COLLISIONS = 3


def add_arguments(parser: Parser) -> None:
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="+",
        help="a workflow, or a directory with *.md, *.yml and *.yaml files; hidden ones except "
        ".github are skipped",
    )
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--write", action="store_true", help="edit the files in place")
    action.add_argument(
        "--check",
        action="store_true",
        help="write nothing, and exit with 1 if a file is out of date",
    )
    parser.add_argument(
        "--repo",
        type=repository,
        metavar="OWNER/NAME",
        help="the repository; default: that of the git remote origin",
    )
    parser.add_argument("--no-heatmap", action="store_true", help="leave out the heatmap")
    add_at(parser, "the moment from which the heatmap counts")
    add_format(parser, github="annotations for GitHub Actions")


def run(arguments: Namespace, terminal: Terminal) -> int:
    with Progress(terminal, "reading files") as progress:
        compilation = compile_workflows(arguments.paths, arguments.repo, progress=progress.advance)
    findings = list(compilation.findings)
    if arguments.check:
        findings += (each for file in compilation.outdated for each in file.outdated_findings())
        findings.sort(key=lambda finding: (finding.path, finding.line, finding.start))
    is_written = bool(arguments.write and not compilation.errors)
    if is_written:
        replace_files([workflow.replacement() for workflow in compilation.outdated])
    if arguments.format == "json":
        terminal.print_json(_document(compilation, findings, arguments, is_written=is_written))
    elif arguments.format == "github":
        terminal.print(*github_lines(findings, "krontab fuzzy compile"))
    else:
        _print_text(compilation, findings, arguments, terminal)
    return exit_code_of(each.code for each in findings if each.severity is Severity.ERROR)


def _print_text(
    compilation: Compilation, findings: list[Finding], arguments: Namespace, terminal: Terminal
) -> None:
    _print_findings(findings, terminal)
    if compilation.unshown:
        terminal.error(f"... and {many(compilation.unshown, 'more finding')}")
    for path, why in compilation.without:
        terminal.error(f"{path}: nothing to compile: {why}")
    if compilation.errors:
        terminal.error(f"{many(len(compilation.errors), 'error')}: nothing is written")
        return
    if not (arguments.write or arguments.check):
        for workflow in compilation.outdated:
            _print_difference(workflow, terminal)
    _print_table(compilation, terminal, is_written=arguments.write)
    terminal.print(_summary(compilation, arguments))
    if not (arguments.check or arguments.no_heatmap):
        _print_heatmap(compilation, arguments, terminal)


def _print_findings(findings: list[Finding], terminal: Terminal) -> None:
    """All findings but not every collision: a large repository has many by chance."""
    collisions = 0
    for finding in findings:
        collisions += finding.code == Code.COLLISION
        if finding.code != Code.COLLISION or collisions <= _SHOWN_COLLISIONS:
            terminal.error(*finding_lines(finding, terminal.styled_error))
    if collisions > _SHOWN_COLLISIONS:
        more = many(collisions - _SHOWN_COLLISIONS, "more collision")
        terminal.error(f"... and {more}; --format json shows all")


def _print_difference(workflow: Workflow, terminal: Terminal) -> None:
    for line in workflow.difference():
        shown = _harmless(line) if terminal.output.isatty() else line
        terminal.print(difference_line(shown, terminal.styled))
    terminal.print("")


def _harmless(line: str) -> str:
    """A line without control characters: a Markdown file may contain anything."""
    line = line.removesuffix("\r")
    return "".join(each if each.isprintable() or each == "\t" else "\ufffd" for each in line)


def _print_table(compilation: Compilation, terminal: Terminal, *, is_written: bool) -> None:
    rows = []
    for workflow in compilation.workflows:
        lines = workflow.lines(after_edits=is_written)
        for each, number in zip(workflow.schedules, lines, strict=True):
            if each.expression:
                place = f"{workflow.path}:{number}"
                rows.append((each.expression, each.cron, describe(each.schedule), place))
    if rows:
        head = ("SCHEDULE", "CRON", "MEANING", "FILE")
        terminal.print(*terminal.table(head, rows, styles={"CRON": "bold", "FILE": "dim"}), "")


def _summary(compilation: Compilation, arguments: Namespace) -> str:
    schedules = sum(len(workflow.schedules) for workflow in compilation.workflows)
    files = len(compilation.workflows)
    outdated = len(compilation.outdated)
    found = f"{many(schedules, 'schedule')} in {many(files, 'file')}"
    if not files:
        return "no schedules"
    if not outdated:
        return f"{found}: up to date"
    if arguments.write:
        return f"{found}: {many(outdated, 'file')} written"
    hint = "" if arguments.check else "; --write writes them"
    return f"{found}: {many(outdated, 'file')} out of date{hint}"


def _print_heatmap(compilation: Compilation, arguments: Namespace, terminal: Terminal) -> None:
    from kron.fleet import count_firings
    from kron.krontab.heatmap import DEFAULT_WEEKS, grid_lines

    tally = count_firings(compilation.jobs, moment_s(arguments), DEFAULT_WEEKS)
    lines = grid_lines(tally, terminal.styled_error)
    if lines:
        terminal.output.flush()  # so that the two streams stay in order
        terminal.error("", *lines)


def _document(
    compilation: Compilation, findings: list[Finding], arguments: Namespace, *, is_written: bool
) -> dict[str, object]:
    errors = sum(finding.severity is Severity.ERROR for finding in findings)
    return {
        "schema": "krontab.fuzzy.compile/1",
        "action": "write" if arguments.write else "check" if arguments.check else "show",
        "files": [
            {
                "path": workflow.path,
                "identifier": workflow.identifier or None,
                "current": not workflow.edits,
                "written": is_written and bool(workflow.edits),
                "diff": workflow.difference(),
                "schedules": [_schedule_document(each, workflow) for each in workflow.schedules],
            }
            for workflow in compilation.workflows
        ],
        "without_schedule": [path for path, _ in compilation.without],
        "errors": errors,
        "warnings": len(findings) - errors,
        "unshown": compilation.unshown,
        "findings": [finding_document(finding) for finding in findings],
    }


def _schedule_document(schedule: WorkflowSchedule, workflow: Workflow) -> dict[str, object]:
    line, column = workflow.place_of(schedule)
    return {
        "line": line,
        "column": column,
        "expression": schedule.expression or None,
        "identifier": schedule.identifier or None,
        "found": schedule.slot.node.value,
        "cron": schedule.cron,
        "timezone": schedule.schedule.zone.key,
        "meaning": describe(schedule.schedule),
        "current": schedule.is_current,
    }
