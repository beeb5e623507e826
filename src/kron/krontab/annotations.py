"""Findings for other programs: editors, GitHub Actions, and readers of SARIF."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from kron.jobs.finding import Finding, Severity

_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_ESCAPES = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY_ESCAPES = _ESCAPES | str.maketrans({":": "%3A", ",": "%2C"})


def short_lines(findings: Iterable[Finding]) -> Iterator[str]:
    """`file:line:col: code message`, one finding a line; the whole file is line 1."""
    for finding in findings:
        place = f"{finding.path}:{finding.line or 1}:{finding.start + 1}"
        yield f"{place}: {finding.code} {_sentence(finding)}"


def github_lines(findings: Iterable[Finding], program: str) -> Iterator[str]:
    """Workflow commands that GitHub Actions turns into annotations of the changed files."""
    for finding in findings:
        properties = {
            "file": _relative(finding.path),
            "line": str(finding.line or 1),
            "col": str(finding.start + 1),
            "endColumn": str(max(finding.end, finding.start + 1) + 1),
            "title": f"{program}: {finding.code}",
        }
        listed = (f"{key}={text.translate(_PROPERTY_ESCAPES)}" for key, text in properties.items())
        message = _sentence(finding).translate(_ESCAPES)
        yield f"::{finding.severity} {','.join(listed)}::{message}"


def sarif_document(findings: list[Finding]) -> dict[str, object]:
    import kron

    codes = sorted({finding.code for finding in findings})
    return {
        "$schema": _SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "krontab lint",
                        "version": kron.__version__,
                        "rules": [{"id": code} for code in codes],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_sarif_result(finding, codes) for finding in findings],
            }
        ],
    }


def _sarif_result(finding: Finding, codes: list[str]) -> dict[str, object]:
    location: dict[str, object] = {"artifactLocation": {"uri": _uri(finding.path)}}
    if finding.line:
        location["region"] = {
            "startLine": finding.line,
            "startColumn": finding.start + 1,
            "endColumn": max(finding.end, finding.start + 1) + 1,
        }
    return {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": "error" if finding.severity is Severity.ERROR else "warning",
        "message": {"text": _sentence(finding)},
        "locations": [{"physicalLocation": location}],
    }


def _sentence(finding: Finding) -> str:
    return f"{finding.message} ({finding.fix})" if finding.fix else finding.message


def _relative(path: str) -> str:
    """The path relative to the current directory, if it is below: GitHub expects that."""
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative


def _uri(path: str) -> str:
    from urllib.parse import quote

    relative = _relative(path)
    return f"file://{quote(relative)}" if relative.startswith("/") else quote(relative)
