"""What the fuzzy commands share: their warnings, for people and for scripts."""

from __future__ import annotations

from collections.abc import Iterable

from kron.console.terminal import Terminal
from kron.fuzzy import FuzzyProblem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def print_warnings(warnings: Iterable[FuzzyProblem], terminal: Terminal) -> None:
    """Warnings on standard error."""
    for warning in warnings:
        label = terminal.styled_error("warning:", "bold", "yellow")
        fix = f" ({warning.fix})" if warning.fix else ""
        terminal.error(f"{label} {warning.message}{fix} [{warning.code}]")


def warning_documents(warnings: Iterable[FuzzyProblem]) -> list[dict[str, Any]]:
    """Warnings as JSON."""
    return [
        {"code": warning.code, "message": warning.message, "fix": warning.fix}
        for warning in warnings
    ]
