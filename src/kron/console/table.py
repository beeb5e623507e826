"""A table: columns as wide as their content, the same in a pipe and on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kron.console.terminal import Terminal
from kron.core.errors import columns

Row = Sequence[str]


def table(
    terminal: Terminal,
    head: Row,
    rows: Sequence[Row],
    *,
    right: tuple[str, ...] = (),
    styles: dict[str, str] | None = None,
) -> Iterator[str]:
    """The lines of a table. `right` and `styles` use the names in `head`."""
    widths = [max(map(columns, column)) for column in zip(head, *rows, strict=True)]

    def line(row: Row, styles: dict[str, str]) -> str:
        cells = []
        for name, text, width in zip(head, row, widths, strict=True):
            styled = terminal.styled(text, styles[name]) if name in styles else text
            padding = " " * (width - columns(text))
            cells.append(padding + styled if name in right else styled + padding)
        return "  ".join(cells).rstrip(" ")

    yield line(head, dict.fromkeys(head, "dim"))
    for row in rows:
        yield line(row, styles or {})
