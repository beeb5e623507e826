"""`krontab lint`: check krontab files and say everything that is wrong or doubtful."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kron.console.parser import Parser, add_at, add_format
from kron.console.progress import Progress
from kron.console.report import finding_document, finding_lines, many
from kron.console.terminal import Terminal
from kron.console.usage import UsageError
from kron.core.errors import Code, did_you_mean, quoted
from kron.core.instant import to_seconds, to_text
from kron.jobs.configuration import SYSTEM_DIRECTORY, USER_DIRECTORY, Configuration
from kron.jobs.finding import Finding, Severity
from kron.krontab.annotations import github_lines, sarif_document, short_lines
from kron.krontab.jobs import add_source, load_configuration, moment_of
from kron.krontab.program import FAILED, SYSTEM_ERRORS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

DESCRIPTION = """\
Check krontab files. Errors are what krond refuses; warnings are what a person should judge: periods
that will often find no time, windows that overlap or smooth nothing, what daylight saving does in
the coming year, steps that restart, programs and users that do not exist on this host.

Exit code 1 means errors, or with --strict also warnings."""
EXAMPLES = (
    ("krontab lint", "check what krond would read"),
    ("krontab lint --file jobs.kron --strict", "warnings count as errors"),
    ("krontab lint --file - --format short < jobs.kron", "for an editor, from standard input"),
    ("krontab lint --file ./krond.d --no-host --format github", "in CI, for another host"),
)


def add_arguments(parser: Parser) -> None:
    """The arguments of the command."""
    parser.add_argument("--strict", action="store_true", help="warnings make the exit code 1 too")
    parser.add_argument(
        "--ignore",
        action="append",
        default=[],
        metavar="CODE",
        help="leave out warnings with this code; repeatable",
    )
    parser.add_argument(
        "--no-host",
        action="store_true",
        help="do not look for programs, users and directories on this host",
    )
    add_at(parser, "the moment from which the coming year is looked at")
    add_format(
        parser,
        short="one finding a line, for editors",
        sarif="for code scanning",
        github="annotations for GitHub Actions",
    )
    add_source(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    """Run the command."""
    ignored = _checked_codes(arguments.ignore)
    configuration = load_configuration(arguments, terminal)
    findings = [*configuration.findings, *_warnings(configuration, arguments, ignored, terminal)]
    findings.sort(key=lambda finding: (finding.path, finding.line, finding.start))
    _FORMATS[arguments.format](findings, configuration, arguments, terminal)
    if any(finding.code in SYSTEM_ERRORS for finding in findings):
        return FAILED
    errors = sum(finding.severity is Severity.ERROR for finding in findings)
    return int(errors > 0 or (arguments.strict and bool(findings)))


def _checked_codes(codes: list[str]) -> set[str]:
    from kron.jobs.advice import Advice

    for code in codes:
        if code not in list(Advice):
            message = f"there is no warning with the code {quoted(code)}"
            fix = did_you_mean(code, Advice) or f"they are {', '.join(Advice)}"
            raise UsageError(Code.VALUE_UNKNOWN, message, fix=fix)
    return set(codes)


def _warnings(
    configuration: Configuration, arguments: Namespace, ignored: set[str], terminal: Terminal
) -> Iterator[Finding]:
    from kron.jobs.advice import LocalHost, advise

    count = sum(len(document.entries) for document in configuration.documents)
    with Progress(terminal, "checking", count) as progress:
        advice = advise(
            configuration.documents,
            now=moment_of(arguments),
            host=None if arguments.no_host else LocalHost(),
            progress=progress.advance,
        )
        yield from (finding for finding in advice if finding.code not in ignored)


def _print_text(
    findings: list[Finding], configuration: Configuration, _: Namespace, terminal: Terminal
) -> None:
    for finding in findings:
        for line in finding_lines(finding, terminal.styled):
            terminal.print(line)
    if configuration.unshown:
        terminal.print(f"... and {configuration.unshown:,} more errors")
    if not configuration.documents and not findings:
        where = f"{SYSTEM_DIRECTORY} or {USER_DIRECTORY}"
        terminal.error(f"note: there is no krontab file in {where}; --file names others")
    errors, warnings = _counts(findings, configuration)
    jobs = sum(1 for _ in configuration.entries)
    files = len(configuration.documents)
    summary = (
        f"{many(errors, 'error')}, {many(warnings, 'warning')} "
        f"in {many(jobs, 'job')} of {many(files, 'file')}"
    )
    style = "red" if errors else "yellow" if warnings else "green"
    terminal.print(terminal.styled(summary, style))


def _print_short(
    findings: list[Finding], _: Configuration, __: Namespace, terminal: Terminal
) -> None:
    for line in short_lines(findings):
        terminal.print(line)


def _print_github(
    findings: list[Finding], _: Configuration, __: Namespace, terminal: Terminal
) -> None:
    for line in github_lines(findings, "krontab lint"):
        terminal.print(line)


def _print_sarif(
    findings: list[Finding], _: Configuration, __: Namespace, terminal: Terminal
) -> None:
    terminal.print_json(sarif_document(findings))


def _print_json(
    findings: list[Finding],
    configuration: Configuration,
    arguments: Namespace,
    terminal: Terminal,
) -> None:
    errors, warnings = _counts(findings, configuration)
    terminal.print_json(
        {
            "schema": "krontab.lint/1",
            "at": to_text(to_seconds(moment_of(arguments))),
            "files": [document.path for document in configuration.documents],
            "jobs": sum(1 for _ in configuration.entries),
            "errors": errors,
            "warnings": warnings,
            "findings": [finding_document(finding) for finding in findings],
        }
    )


_Print = Callable[[list[Finding], Configuration, "Namespace", Terminal], None]
_FORMATS: dict[str, _Print] = {
    "text": _print_text,
    "json": _print_json,
    "short": _print_short,
    "sarif": _print_sarif,
    "github": _print_github,
}


def _counts(findings: list[Finding], configuration: Configuration) -> tuple[int, int]:
    warnings = sum(finding.severity is Severity.WARNING for finding in findings)
    return len(findings) - warnings + configuration.unshown, warnings
