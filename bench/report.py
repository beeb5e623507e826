"""The report: results as the rows of a table."""

from __future__ import annotations

from collections.abc import Sequence

from bench.measure import Result


def table(name: str, results: Sequence[Result]) -> str:
    """For people: columns that line up."""
    rows = [(name, "measured", "target", "", ""), *map(cells, results)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def cells(result: Result) -> tuple[str, str, str, str, str]:
    """A row: what, how much, what it should be, whether it is, and more."""
    more = [f"{_number(value)} {what}" for what, value in result.details.items()]
    return (
        result.case,
        "" if result.value is None else f"{_number(result.value)} {result.unit}".rstrip(),
        result.target,
        {True: "met", False: "MISSED", None: ""}[result.met],
        ", ".join([*more, *filter(None, (result.note,))]),
    )


def _number(value: float) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    if value >= 1_000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
