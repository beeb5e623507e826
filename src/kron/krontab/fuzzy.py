"""What the commands for fuzzy schedules share: their output, and the option `--repo`."""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace
from collections.abc import Iterable

from kron.console.terminal import Terminal
from kron.core.errors import Problem, quoted


def repository(text: str) -> str:
    from kron.krontab.workflows.repository import is_slug

    if is_slug(text):
        return text
    raise ArgumentTypeError(f"{quoted(text)} is not OWNER/NAME, such as octo/tools")


def show_result(
    text: str,
    fields: dict[str, object],
    warnings: Iterable[Problem],
    arguments: Namespace,
    terminal: Terminal,
) -> None:
    """Print a result and its warnings, the latter on standard error; or `fields` as JSON."""
    if arguments.format == "json":
        documents = [
            {"code": warning.code, "message": warning.message, "fix": warning.fix}
            for warning in warnings
        ]
        terminal.print_json({**fields, "warnings": documents})
        return
    terminal.print(text)
    for warning in warnings:
        label = terminal.styled_error("warning:", "bold", "yellow")
        fix = f" ({warning.fix})" if warning.fix else ""
        terminal.error(f"{label} {warning.message}{fix} [{warning.code}]")
