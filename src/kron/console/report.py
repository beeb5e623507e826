"""Findings as people read them: the place, what is wrong, how to mend it, and the line."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kron.console.terminal import Terminal
from kron.core.errors import excerpt, visible
from kron.jobs.configuration import ConfigurationError
from kron.jobs.finding import Finding, Severity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

Style = Callable[..., str]
_STYLES = {Severity.ERROR: ("bold", "red"), Severity.WARNING: ("bold", "yellow")}


def finding_lines(finding: Finding, style: Style) -> Iterator[str]:
    """The lines of a finding; `style` is the terminal's for the stream that they go to."""
    place = style(f"{visible(finding.place)}:", "bold")
    severity = style(f"{finding.severity}:", *_STYLES[finding.severity])
    yield f"{place} {severity} {finding.message} {style(f'[{finding.code}]', 'dim')}"
    if finding.line:
        text, carets = excerpt(finding.text, finding.start, finding.end).split("\n")
        yield text
        yield style(carets, *_STYLES[finding.severity])
    if finding.fix:
        yield f"  {style('fix:', 'green')} {finding.fix}"


def print_findings(error: ConfigurationError, terminal: Terminal) -> None:
    """Every error of a configuration, on standard error."""
    for finding in error.findings:
        for line in finding_lines(finding, terminal.styled_error):
            terminal.error(line)
    if error.unshown:
        terminal.error(f"... and {error.unshown:,} more errors")


def finding_document(finding: Finding) -> dict[str, Any]:
    """A finding as JSON."""
    return {
        "severity": finding.severity,
        "code": finding.code,
        "message": finding.message,
        "fix": finding.fix,
        "path": finding.path,
        "line": finding.line or None,
        "column": finding.start + 1 if finding.line else None,
        "end_column": finding.end + 1 if finding.line else None,
    }


def many(count: int, noun: str) -> str:
    """`1 job`, `2 jobs`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
