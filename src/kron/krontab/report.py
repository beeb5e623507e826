"""Findings as people read them: the place, what is wrong, how to mend it, and the line."""

from __future__ import annotations

from collections.abc import Iterator

from kron.core.errors import excerpt
from kron.jobs.configuration import ConfigurationError
from kron.jobs.finding import Finding, Severity
from kron.krontab.terminal import Terminal

_STYLES = {Severity.ERROR: ("bold", "red"), Severity.WARNING: ("bold", "yellow")}


def finding_lines(finding: Finding, terminal: Terminal) -> Iterator[str]:
    """The lines of a finding, for standard error."""
    place = terminal.styled_error(f"{finding.place}:", "bold")
    severity = terminal.styled_error(f"{finding.severity}:", *_STYLES[finding.severity])
    code = terminal.styled_error(f"[{finding.code}]", "dim")
    yield f"{place} {severity} {finding.message} {code}"
    if finding.line:
        text, carets = excerpt(finding.text, finding.start, finding.end).split("\n")
        yield text
        yield terminal.styled_error(carets, *_STYLES[finding.severity])
    if finding.fix:
        yield f"  {terminal.styled_error('fix:', 'green')} {finding.fix}"


def print_findings(error: ConfigurationError, terminal: Terminal) -> None:
    """Every error of a configuration, on standard error."""
    for finding in error.findings:
        for line in finding_lines(finding, terminal):
            terminal.error(line)
    if error.unshown:
        terminal.error(f"... and {error.unshown:,} more errors")
