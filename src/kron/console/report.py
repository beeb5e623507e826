"""Findings and differences as people read them: position, message, line and fix in colour."""

from __future__ import annotations

from collections.abc import Iterator

from kron.console.terminal import Style
from kron.core.errors import excerpt, visible
from kron.jobs.finding import Finding, Severity

_DIFFERENCE_STYLES = {"+": "green", "-": "red", "@": "cyan"}
_STYLES = {Severity.ERROR: ("bold", "red"), Severity.WARNING: ("bold", "yellow")}


def finding_lines(finding: Finding, style: Style) -> Iterator[str]:
    place = style(f"{visible(finding.place)}:", "bold")
    severity = style(f"{finding.severity}:", *_STYLES[finding.severity])
    yield f"{place} {severity} {visible(finding.message)} {style(f'[{finding.code}]', 'dim')}"
    if finding.line:
        text, carets = excerpt(finding.text, finding.start, finding.end).split("\n")
        yield text
        yield style(carets, *_STYLES[finding.severity])
    if finding.fix:
        yield f"  {style('fix:', 'green')} {finding.fix}"


def finding_document(finding: Finding) -> dict[str, object]:
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


def difference_line(line: str, style: Style) -> str:
    colour = _DIFFERENCE_STYLES.get(line[:1])
    return style(line, colour) if colour else line


def many(count: int, noun: str) -> str:
    """`1 job`, `2 jobs`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
