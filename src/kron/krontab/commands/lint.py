"""`krontab lint`: check krontab files and report all errors and warnings."""

from __future__ import annotations

from argparse import Namespace

from kron.console.parser import Parser, UsageError, add_at, add_format, moment_s
from kron.console.progress import Progress
from kron.console.report import finding_document, finding_lines, many
from kron.console.terminal import Terminal
from kron.core.errors import Code, did_you_mean, quoted
from kron.core.instant import to_datetime, to_text
from kron.jobs.configuration import SYSTEM_DIRECTORY, USER_DIRECTORY, Configuration
from kron.jobs.finding import Finding, Severity
from kron.krontab.annotations import github_lines, sarif_document, short_lines
from kron.krontab.jobs import add_source, load_configuration
from kron.krontab.program import exit_code_of
from kron.lint import Advice, Host, advise

DESCRIPTION = """\
Check krontab files. krond refuses files with errors. Warnings are for you to judge: periods that
often find no time, windows that overlap or smooth nothing, effects of daylight saving in the coming
year, steps that restart, programs and users that do not exist on this host.

Exit code 1 means errors, or with --strict also warnings."""
EXAMPLES = (
    ("krontab lint", "check what krond would read"),
    ("krontab lint --file jobs.kron --strict", "warnings count as errors"),
    ("krontab lint --file - --format short < jobs.kron", "for an editor, from standard input"),
    ("krontab lint --file ./krond.d --no-host --format github", "in CI, for another host"),
)


def add_arguments(parser: Parser) -> None:
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
    add_at(parser, "the start of the year that is checked")
    add_format(
        parser,
        short="one finding a line, for editors",
        sarif="for code scanning",
        github="annotations for GitHub Actions",
    )
    add_source(parser)


def run(arguments: Namespace, terminal: Terminal) -> int:
    ignored = _checked_codes(arguments.ignore)
    configuration = load_configuration(arguments, terminal)
    at_s = moment_s(arguments)
    findings = configuration.findings
    now, host = to_datetime(at_s), None if arguments.no_host else Host()
    with Progress(terminal, "checking", _jobs(configuration)) as progress:
        advice = advise(configuration.documents, now=now, host=host, progress=progress.advance)
        findings += [finding for finding in advice if finding.code not in ignored]
    findings.sort(key=lambda finding: (finding.path, finding.line, finding.start))
    if arguments.format == "json":
        terminal.print_json(_document(findings, configuration, at_s))
    elif arguments.format == "sarif":
        terminal.print_json(sarif_document(findings))
    elif arguments.format == "short":
        terminal.print(*short_lines(findings))
    elif arguments.format == "github":
        terminal.print(*github_lines(findings, "krontab lint"))
    else:
        _print_text(findings, configuration, terminal)
    wrong = (each for each in findings if arguments.strict or each.severity is Severity.ERROR)
    return exit_code_of(each.code for each in wrong)


def _checked_codes(codes: list[str]) -> set[str]:
    for code in codes:
        if code not in list(Advice):
            message = f"no warning has the code {quoted(code)}"
            fix = did_you_mean(code, Advice) or f"they are {', '.join(Advice)}"
            raise UsageError(Code.VALUE_UNKNOWN, message, fix=fix)
    return set(codes)


def _print_text(findings: list[Finding], configuration: Configuration, terminal: Terminal) -> None:
    for finding in findings:
        terminal.print(*finding_lines(finding, terminal.styled))
    if configuration.unshown:
        terminal.print(f"... and {configuration.unshown:,} more errors")
    if not configuration.documents and not findings:
        where = f"{SYSTEM_DIRECTORY} or {USER_DIRECTORY}"
        terminal.error(f"note: no krontab file in {where}; --file names others")
    errors, warnings = _counts(findings, configuration)
    found = f"{many(errors, 'error')}, {many(warnings, 'warning')}"
    files = many(len(configuration.documents), "file")
    style = "red" if errors else "yellow" if warnings else "green"
    summary = f"{found} in {many(_jobs(configuration), 'job')} of {files}"
    terminal.print(terminal.styled(summary, style))


def _document(
    findings: list[Finding], configuration: Configuration, at_s: int
) -> dict[str, object]:
    errors, warnings = _counts(findings, configuration)
    return {
        "schema": "krontab.lint/1",
        "at": to_text(at_s),
        "files": [document.path for document in configuration.documents],
        "jobs": _jobs(configuration),
        "errors": errors,
        "warnings": warnings,
        "findings": [finding_document(finding) for finding in findings],
    }


def _jobs(configuration: Configuration) -> int:
    return sum(len(document.entries) for document in configuration.documents)


def _counts(findings: list[Finding], configuration: Configuration) -> tuple[int, int]:
    warnings = sum(finding.severity is Severity.WARNING for finding in findings)
    return len(findings) - warnings + configuration.unshown, warnings
